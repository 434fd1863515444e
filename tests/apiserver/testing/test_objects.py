"""An API server takes every object that is made: from kinds in Python, and from CRDs of any origin."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from pykb.api import CustomResource
from pykb.envtest import ControlPlane
from pykb.envtest.rest import Rest
from pykb.gen.manifest import ManifestLoader
from pykb.testing import objects_of
from pykb.testing.objects.kinds import manifests_of

pytestmark = pytest.mark.apiserver

TESTDATA = Path(__file__).parents[3] / "testdata"
PACKAGES = {
    "app": "app_operator",
    "foo": "sample_controller",
    "multigroup": "fleet",
    "unit": "unit_operator",
    "virtulmachine": "sealvm",
}
CRDS = sorted(
    [
        *TESTDATA.glob("*/config/crd/bases/*.yaml"),
        *TESTDATA.glob("crd/[!d]*/expected.yaml"),  # `declarative` has rules about formats that only a server judges
        # A server does not take the other two: `alerts` has half a character, `backups` a key that no schema has.
        *TESTDATA.glob("import/crds/[c-z]*.yaml"),
        TESTDATA / "import/crds/autoscalers.scale.example.com.yaml",
    ]
)
OBJECTS = max(5, int(os.environ.get("PYKB_FUZZ_CASES", "0")) // 1000)


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """A control plane of their own: what they install stays, and other tests have CRDs of the same names."""
    with ControlPlane() as running:
        yield running


def installed(plane: ControlPlane, file: Path, folder: Path) -> Iterator[tuple[dict[str, Any], str, str]]:
    """The definitions of a file, each with its served versions and the path of their objects."""
    documents = list(yaml.load_all(file.read_text(encoding="utf-8"), ManifestLoader))
    for crd in documents:
        crd["spec"].pop("conversion", None)  # nobody converts here, and nothing is stored
    (folder / file.name).write_text("\n---\n".join(json.dumps(crd, ensure_ascii=False) for crd in documents))
    plane.install_crds(folder / file.name)
    for crd in documents:
        spec = crd["spec"]
        space = "" if spec["scope"] == "Cluster" else "namespaces/default/"
        for version in spec["versions"]:
            if version["served"]:
                yield crd, version["name"], f"/apis/{spec['group']}/{version['name']}/{space}{spec['names']['plural']}"


def assert_taken(rest: Rest, path: str, objects: SearchStrategy[Any]) -> None:
    """With unknown fields refused; what is an object in Python is read again as it was."""

    @settings(
        max_examples=OBJECTS,
        derandomize=True,
        database=None,
        phases=[Phase.generate],  # a server answers too slowly to make an object smaller
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(objects)
    def is_taken(obj: Any) -> None:
        manifest = obj if isinstance(obj, dict) else obj.to_wire()
        if manifest is not obj:
            assert type(obj).from_wire(manifest) == obj
        answer = rest.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", manifest)
        assert answer.ok, answer.message

    is_taken()


@pytest.mark.parametrize("file", CRDS, ids=lambda file: str(file.relative_to(TESTDATA)))
def test_an_api_server_takes_objects_of_a_definition(file: Path, plane: ControlPlane, tmp_path: Path) -> None:
    """With unknown fields refused. What is made goes by the schema alone: bounds, patterns, formats, keys, rules."""
    for crd, version, path in installed(plane, file, tmp_path):
        assert_taken(plane.rest(), path, manifests_of(crd, version))


@pytest.fixture(params=sorted(PACKAGES))
def sample(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a sample whose package can be imported; another test may have one of this name elsewhere."""
    name: str = request.param
    sys.path.insert(0, str(TESTDATA / name))
    yield name
    sys.path.remove(str(TESTDATA / name))
    for module in [module for module in sys.modules if module.partition(".")[0] == PACKAGES[name]]:
        del sys.modules[module]
    importlib.invalidate_caches()


def kinds(package: str) -> Iterator[type[CustomResource]]:
    """The kinds of a project, of all versions."""
    api = importlib.import_module(f"{package}.api")
    for found in pkgutil.walk_packages(api.__path__, f"{api.__name__}."):
        for value in vars(importlib.import_module(found.name)).values():
            if isinstance(value, type) and issubclass(value, CustomResource) and value.__module__ == found.name:
                yield value


def test_an_api_server_takes_objects_of_the_samples(sample: str, plane: ControlPlane, tmp_path: Path) -> None:
    """Their types know all that their schemas demand."""
    files = (TESTDATA / sample / "config" / "crd" / "bases").iterdir()
    paths = {
        (f"{crd['spec']['group']}/{version}", crd["spec"]["names"]["kind"]): path
        for file in files
        for crd, version, path in installed(plane, file, tmp_path)
    }
    found = {(kind.gvk.api_version, kind.gvk.kind): kind for kind in kinds(PACKAGES[sample])}
    assert found.keys() == paths.keys()
    for name, kind in found.items():
        assert_taken(plane.rest(), paths[name], objects_of(kind))
