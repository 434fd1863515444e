"""Definitions are installed and usable at once, or it is said why not."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import ControlPlane, crds

pytestmark = pytest.mark.apiserver

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: {plural}.{group}
spec:
  group: {group}
  names: {{kind: {kind}, plural: {plural}, listKind: {kind}List, singular: {singular}}}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {{type: integer{extra}}}
"""


def crd(kind: str, group: str, extra: str = "") -> str:
    """A small definition."""
    return CRD.format(kind=kind, group=group, plural=f"{kind.lower()}s", singular=kind.lower(), extra=extra)


def test_a_folder_is_installed_and_usable_at_once(control_plane: ControlPlane, tmp_path: Path, namespace: str) -> None:
    """The first request after it is answered; other files and kinds do not disturb."""
    (tmp_path / "a.yaml").write_text(crd("Box", "one.envtest.test") + "---\n" + crd("Bag", "one.envtest.test"))
    (tmp_path / "b.yml").write_text(crd("Jar", "two.envtest.test"))
    (tmp_path / "kustomization.yaml").write_text("resources: [a.yaml]\n")
    (tmp_path / "README.md").write_text("no YAML: [")
    names = control_plane.install_crds(tmp_path)
    assert names == ["boxs.one.envtest.test", "bags.one.envtest.test", "jars.two.envtest.test"]
    box = {"apiVersion": "one.envtest.test/v1", "kind": "Box", "metadata": {"name": "b"}, "spec": {"size": 1}}
    answer = control_plane.rest().call("POST", f"/apis/one.envtest.test/v1/namespaces/{namespace}/boxs", box)
    assert answer.status == 201


def test_a_description_may_have_any_character(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Also those that JSON and YAML escape in different ways."""
    text = "ship \U0001f6a2, next line \x85, delete \x7f"
    definition = yaml.safe_load(crd("Ship", "chars.envtest.test"))
    definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = text
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(definition))
    control_plane.install_crds(tmp_path)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ships.chars.envtest.test"
    try:
        [version] = control_plane.rest().call("GET", path).body["spec"]["versions"]
        assert version["schema"]["openAPIV3Schema"]["description"] == text
    finally:  # kubectl cannot validate other objects while it is there
        control_plane.rest().call("DELETE", path)


def test_installing_again_changes_the_definition(control_plane: ControlPlane, tmp_path: Path, namespace: str) -> None:
    """Types grow: the new schema counts."""
    file = tmp_path / "crd.yaml"
    file.write_text(crd("Cup", "three.envtest.test"))
    control_plane.install_crds(file)
    file.write_text(crd("Cup", "three.envtest.test", extra=", maximum: 3"))
    assert control_plane.install_crds(str(file)) == ["cups.three.envtest.test"]
    name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cups.three.envtest.test"
    schema = control_plane.rest().call("GET", name).body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert schema["properties"]["spec"]["properties"]["size"]["maximum"] == 3


def test_a_refused_definition_has_the_servers_reason(control_plane: ControlPlane, tmp_path: Path) -> None:
    """The file and the reason are in the message."""
    (tmp_path / "bad.yaml").write_text(crd("Bad", "four.envtest.test", extra=", pattern: '['"))
    with pytest.raises(EnvironmentProblem, match=r"refused `bads\.four\.envtest\.test` of .*bad\.yaml") as caught:
        control_plane.install_crds(tmp_path)
    assert "regular expression" in caught.value.diagnostic.notes[0]


def test_names_that_clash_are_not_served(control_plane: ControlPlane, tmp_path: Path) -> None:
    """The API server takes the definition and never establishes it: its condition says why."""
    (tmp_path / "first.yaml").write_text(crd("Pot", "five.envtest.test"))
    control_plane.install_crds(tmp_path / "first.yaml")
    (tmp_path / "second.yaml").write_text(crd("Pot", "five.envtest.test").replace("pots", "kettles"))
    with pytest.raises(
        EnvironmentProblem, match=r"kettles\.five\.envtest\.test` was accepted but is not served"
    ) as caught:
        control_plane.install_crds(tmp_path / "second.yaml", timeout=timedelta(seconds=1))
    assert any("already in use" in note for note in caught.value.diagnostic.notes)


DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"


def test_a_definition_that_is_being_deleted_is_made_again(
    control_plane: ControlPlane, tmp_path: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To change the old one would be in vain: it goes with the last of its objects."""
    file = tmp_path / "crd.yaml"
    file.write_text(crd("Jug", "six.envtest.test"))
    (name,) = control_plane.install_crds(file)
    rest = control_plane.rest()
    jug = {"apiVersion": "six.envtest.test/v1", "kind": "Jug", "metadata": {"name": "j", "finalizers": ["a.test/b"]}}
    objects = f"/apis/six.envtest.test/v1/namespaces/{namespace}/jugs"
    assert rest.call("POST", objects, jug).status == 201
    assert rest.call("DELETE", f"{DEFINITIONS}/{name}").ok
    monkeypatch.setattr(crds, "NUDGE_AFTER", 0.1)
    with pytest.raises(EnvironmentProblem, match=rf"`{name}` is still being deleted") as caught:
        control_plane.install_crds(file, timeout=timedelta(seconds=0.5))
    assert caught.value.diagnostic.code.slug == "delete-stuck"
    metadata = rest.call("GET", f"{DEFINITIONS}/{name}").body["metadata"]
    assert crds.DELETION_NUDGED in metadata["annotations"]  # an API server that has given up tries again
    released = {"metadata": {"finalizers": None}}
    later = threading.Timer(0.5, rest.call, ("PATCH", f"{objects}/j", released), {"content_type": MERGE})
    later.start()
    control_plane.install_crds(file, timeout=timedelta(minutes=1))
    later.join()
    assert rest.call("GET", objects).body["items"] == []


def test_a_file_that_is_no_yaml_is_pointed_at(control_plane: ControlPlane, tmp_path: Path) -> None:
    """With line and column."""
    (tmp_path / "broken.yaml").write_text("kind: X\n  bad: [\n")
    with pytest.raises(EnvironmentProblem, match="is not YAML") as caught:
        control_plane.install_crds(tmp_path)
    span = caught.value.diagnostic.span
    assert span is not None
    assert (Path(span.path).name, span.line) == ("broken.yaml", 2)
