"""Reads manifests as an API server does. go-yaml v2 and PyYAML resolve plain scalars differently."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import yaml

from pykb.gen.emit.yaml import plain_value
from pykb.reading import yaml_text

_PLAIN = "!plain"
_STRING = "tag:yaml.org,2002:str"
_MERGE = "tag:yaml.org,2002:merge"


class ManifestLoader(yaml_text.Loader):
    """A loader with go-yaml's rules: `1e3` is a number; `=`, `12:30:45` and dates are texts; `y` is a boolean."""

    def resolve(self, kind: type[yaml.Node], value: Any, implicit: Any) -> str:
        """The tag of a node without an explicit one."""
        if kind is not yaml.ScalarNode:
            return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]
        if not implicit[0]:
            return _STRING
        return _MERGE if value == "<<" else _PLAIN

    def construct_document(self, node: yaml.Node) -> object:
        """The value of a document, built completely."""
        self.deep_construct = True
        value: object = super().construct_document(node)
        return value

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """A mapping with texts as keys, as in JSON."""
        found = super().construct_mapping(node, deep)
        return {str(key).lower() if isinstance(key, bool) else str(key): value for key, value in found.items()}

    def construct_plain(self, node: yaml.ScalarNode) -> object:
        """A plain scalar."""
        return plain_value(node.value)

    def construct_merge(self, node: yaml.ScalarNode) -> str:
        """A `<<` that is not a key."""
        return str(node.value)


ManifestLoader.add_constructor(_PLAIN, ManifestLoader.construct_plain)
ManifestLoader.add_constructor(_MERGE, ManifestLoader.construct_merge)


def load_manifest(text: str) -> object:
    """The one document of a text, as plain data.

    Raises:
        yaml.YAMLError: The text is not YAML, or has more than one document.
    """
    value: object = yaml_text.load(text, ManifestLoader)
    return value
