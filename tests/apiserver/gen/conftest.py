"""A module of types judged twice: by the checks, and by a real API server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pykb.diagnostics import Diagnostics
from pykb.envtest import ControlPlane
from pykb.envtest.rest import Rest
from pykb.gen.emit.crd import crd_object
from pykb.gen.options import GenerateOptions, SchemaOptions
from pykb.gen.run import find_crds, read_sources
from pykb.markers.registry import builtin_registry

HEADER = """\
from __future__ import annotations
from datetime import *
from typing import *
from pykb.api import *
from pykb.api.core.v1 import *
from pykb.api.meta.v1 import *
GV = GroupVersion("judged.example.com", "v1")
class Inner(Struct):
    b: str | None = None
    c: int = 1
    n: int | None = None
class Keyed(Struct):
    name: str
    value: str | None = None
"""
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"

Judge = Callable[[str], tuple[Diagnostics, Any]]


@pytest.fixture(scope="module")
def rest(control_plane: ControlPlane) -> Rest:
    """One client for all cases."""
    return control_plane.rest()


@pytest.fixture
def judge(tmp_path: Path, rest: Rest) -> Judge:
    """Gives our findings about a module of types with one kind, and the server's answer to its CRD as it came out."""
    package = tmp_path / "shop" / "api" / "v1"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").touch()

    def ask(source: str) -> tuple[Diagnostics, Any]:
        (package / "things.py").write_text(HEADER + source, encoding="utf-8")
        options = GenerateOptions(root=tmp_path, generators=("crd",), schemas=SchemaOptions(allow_dangerous_types=True))
        found = Diagnostics()
        (crd,) = find_crds(read_sources(options, builtin_registry(), found), options, found)
        return found, rest.call("POST", CRDS, crd_object(crd))

    return ask
