"""What an API server does with two versions that nothing converts, as the finding `versions-differ` says."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.envtest import ControlPlane
from pykb.envtest.rest import Rest
from pykb.gen.options import GenerateOptions
from pykb.gen.run import generate

pytestmark = pytest.mark.apiserver

TYPES = """\
from pykb.api import CustomResource, GroupVersion, Struct


class OldSpec(Struct):
    size: int = 1
    old: str | None = None


class Spec(Struct):
    size: str = ""
    new: str | None = None


class OldThing(CustomResource, group_version=GroupVersion("versions.example.com", "v1beta1"), kind="Thing"):
    spec: OldSpec


# +kubebuilder:storageversion
class Thing(CustomResource, group_version=GroupVersion("versions.example.com", "v1")):
    spec: Spec
"""


def test_fields_of_one_version_are_dropped(control_plane: ControlPlane, rest: Rest, tmp_path: Path) -> None:
    """What only the old version has is not stored; what only the new one has is erased by a client of the old one."""
    package = tmp_path / "shop/api/v1"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").touch()
    (package / "things.py").write_text(TYPES, encoding="utf-8")
    found = generate(GenerateOptions(root=tmp_path, generators=("crd",)))
    assert [each.code.slug for each in found.diagnostics] == ["versions-differ"]
    crds = tmp_path / "crds.yaml"
    crds.write_text(found.artifacts["crd"][0].render(), encoding="utf-8")
    control_plane.install_crds(crds)

    def call(method: str, version: str, name: str, spec: object = None) -> dict[str, object]:
        api = f"versions.example.com/{version}"
        path = f"/apis/{api}/namespaces/default/things" + ("" if method == "POST" else f"/{name}")
        body = {"apiVersion": api, "kind": "Thing", "metadata": {"name": name}, "spec": spec}
        if method == "PUT":
            body["metadata"] = rest.call("GET", path).body["metadata"]
        answer = rest.call(method, path, body if spec else None)
        assert answer.ok, answer.message
        return dict(answer.body["spec"])

    call("POST", "v1beta1", "a", {"size": 1, "old": "x"})
    assert call("GET", "v1", "a") == {"size": 1}
    assert "old" not in call("GET", "v1beta1", "a")
    call("POST", "v1", "b", {"size": "1", "new": "x"})
    read = call("GET", "v1beta1", "b")
    assert read == {"size": "1"}
    call("PUT", "v1beta1", "b", {"size": 2})
    assert call("GET", "v1", "b") == {"size": 2}
