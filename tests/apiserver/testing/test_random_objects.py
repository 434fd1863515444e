"""Random objects of the samples' kinds: an API server takes every one, and they come back as they were."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from pykb.api import CustomResource
from pykb.envtest import ControlPlane
from pykb.testing import random_object

pytestmark = pytest.mark.apiserver

SAMPLES = Path(__file__).parents[3] / "testdata"
PACKAGES = {
    "app": "app_operator",
    "foo": "sample_controller",
    "multigroup": "fleet",
    "unit": "unit_operator",
    "virtulmachine": "sealvm",
}
SEEDS = range(20)


@pytest.fixture(params=sorted(PACKAGES))
def sample(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a sample whose package can be imported; another test may have one of this name elsewhere."""
    name: str = request.param
    sys.path.insert(0, str(SAMPLES / name))
    yield name
    sys.path.remove(str(SAMPLES / name))
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


def test_an_api_server_takes_them_and_they_are_read_again(
    sample: str, control_plane: ControlPlane, tmp_path: Path
) -> None:
    """With unknown fields refused: the types say all that their schemas demand."""
    paths: dict[tuple[str, str], str] = {}
    for file in (SAMPLES / sample / "config" / "crd" / "bases").iterdir():
        definition = yaml.safe_load(file.read_text())
        spec = definition["spec"]
        spec.pop("conversion", None)  # nobody converts here, and nothing is stored
        (tmp_path / file.name).write_text(json.dumps(definition))
        space = "" if spec["scope"] == "Cluster" else "namespaces/default/"
        for version in spec["versions"]:
            paths[f"{spec['group']}/{version['name']}", spec["names"]["kind"]] = f"{space}{spec['names']['plural']}"
    control_plane.install_crds(tmp_path)
    rest = control_plane.rest()
    found = list(kinds(PACKAGES[sample]))
    assert {(kind.gvk.api_version, kind.gvk.kind) for kind in found} == set(paths)
    for kind in found:
        path = f"/apis/{kind.gvk.api_version}/{paths[kind.gvk.api_version, kind.gvk.kind]}"
        for seed in SEEDS:
            obj = random_object(kind, seed)
            assert kind.from_wire(obj.to_wire()) == obj
            answer = rest.call("POST", f"{path}?dryRun=All&fieldValidation=Strict", obj.to_wire())
            assert answer.ok, f"{kind.__name__} of seed {seed}: {answer.message}"
