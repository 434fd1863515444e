"""Converts selectors from the forms that callers write to the form of the query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pykb.api.struct import Struct
from pykb.runtime.client.label_selector import LabelSelector

Labels = str | Mapping[str, str] | Struct | LabelSelector
"""``"app=web,tier!=db"``, ``{"app": "web"}``, a ``metav1.LabelSelector``, or a parsed selector."""

Fields = str | Mapping[str, str]
"""``"status.phase=Running"`` or ``{"status.phase": "Running"}``."""


def label_query(labels: Labels | None) -> str | None:
    """Return the text of a label selector. ``None`` selects everything.

    Raises:
        ValueError: A ``metav1.LabelSelector`` with an operator that does not exist.
    """
    match labels:
        case None | str():
            return labels or None
        case LabelSelector():
            return str(labels) or None
        case Struct():
            return str(LabelSelector.from_wire(labels.to_wire())) or None
        case _:
            return str(LabelSelector.from_labels(labels)) or None


def field_query(fields: Fields | None) -> str | None:
    """Return the text of a field selector. ``None`` selects everything."""
    if fields is None or isinstance(fields, str):
        return fields or None
    return ",".join(f"{path}={_escape(value)}" for path, value in sorted(fields.items())) or None


def query_pairs(labels: Labels | None, fields: Fields | None, **others: Any) -> tuple[tuple[str, str], ...]:
    """Return the query of a list, a watch or a deletion of a collection. ``None`` and empty values are left out."""
    pairs = {"labelSelector": label_query(labels), "fieldSelector": field_query(fields), **others}
    return tuple((name, str(value)) for name, value in pairs.items() if value not in (None, ""))


def _escape(value: str) -> str:
    # https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/ ; apimachinery's EscapeValue.
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
