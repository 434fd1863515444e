"""The descriptions of built-in types, read from a cluster's OpenAPI document.

pykb does not ship the descriptions of Kubernetes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pykb._regular_file import read_text
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.generate import OPENAPI_FILE
from pykb.gen.ir import SchemaNode
from pykb.reading import read_json

_API = "pykb.api."


@dataclass(frozen=True, slots=True)
class BuiltinTexts:
    """OpenAPI definitions, keyed by the last parts of their names, such as ``core.v1.PodSpec``."""

    definitions: Mapping[str, Mapping[str, Any]]

    def describe(self, python: type, node: SchemaNode) -> SchemaNode:
        """The schema of a built-in type with the descriptions of the type and of its fields."""
        definition = self.definitions.get(f"{python.__module__.removeprefix(_API)}.{python.__name__}")
        if definition is None:
            return node
        text = definition.get("description")
        if isinstance(text, str) and text:
            node = node.put("description", text)
        fields = definition.get("properties") or {}
        properties = dict(node.properties or {})
        for name, prop in properties.items():
            text = fields.get(name, {}).get("description")
            if isinstance(text, str) and text:
                properties[name] = replace(prop, schema=prop.schema.put("description", text))
        return replace(node, properties=properties) if properties else node


def read_builtin_texts(root: Path, name: str, diagnostics: Diagnostics) -> BuiltinTexts | None:
    """Read an OpenAPI document, version 2 or 3. Returns ``None`` and reports it when the file is not one.

    Args:
        root: The project.
        name: The file, relative to it.
        diagnostics: Gets what is wrong with the file.
    """
    reason = ""
    try:
        document = read_json(read_text(root / name))
    except OSError as error:
        reason = f"it cannot be read: {error.strerror}"
    except ValueError:
        reason = "it is not JSON"
    else:
        found = _definitions(document)
        if found:
            return BuiltinTexts({".".join(key.split(".")[-3:]): value for key, value in found.items()})
        reason = "it has neither `definitions` nor `components.schemas`"
    diagnostics.report(
        OPENAPI_FILE,
        None,
        f"expected OpenAPI in `{name}`: {reason}",
        "--builtin-descriptions cluster",
        "or: kubectl get --raw /openapi/v2 > openapi.json",
    )
    return None


def _definitions(document: object) -> Mapping[str, Mapping[str, Any]]:
    if not isinstance(document, dict):
        return {}
    found = document.get("definitions") or (document.get("components") or {}).get("schemas") or {}
    return {key: value for key, value in found.items() if isinstance(value, dict)} if isinstance(found, dict) else {}
