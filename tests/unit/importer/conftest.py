"""A CRD of which a test says no more than it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from pykb.diagnostics import Diagnostics
from pykb.importer.definition import Definition, Document, find_definitions

MakeCrd = Callable[..., dict[str, Any]]


@pytest.fixture
def make_crd() -> MakeCrd:
    """A manifest with one kind and these fields of its spec (YAML text or data)."""

    def make(
        spec: str | dict[str, Any] = "{}", *, group: str = "example.com", kind: str = "Thing", **schema: Any
    ) -> dict[str, Any]:
        properties = yaml.safe_load(spec) if isinstance(spec, str) else spec
        root = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}, **schema}
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{kind.lower()}s.{group}"},
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": f"{kind.lower()}s"},
                "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": root}}],
            },
        }

    return make


@pytest.fixture
def define() -> Callable[..., list[Definition]]:
    """Manifests as definitions, which they must be."""

    def read(*manifests: dict[str, Any]) -> list[Definition]:
        found = Diagnostics()
        made = find_definitions([Document(manifest, "crd.yaml") for manifest in manifests], found)
        assert not list(found)
        return made

    return read
