"""Findings as SARIF 2.1.0, which code hosts and editors show at the lines that they are about.

Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from pykb.diagnostics.codes import all_codes
from pykb.diagnostics.model import Diagnostic, Edit, Span

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def result(diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding."""
    helps = [f"note: {note}" for note in diagnostic.notes] + [f"help: {text}" for text in diagnostic.help]
    found: dict[str, Any] = {
        "ruleId": diagnostic.code.slug,
        "level": str(diagnostic.severity),
        "message": {"text": "\n".join([diagnostic.message, *helps])},
    }
    if diagnostic.span is not None:
        found["locations"] = [_location(diagnostic.span, diagnostic.label)]
    if diagnostic.labels:
        found["relatedLocations"] = [_location(label.span, label.text) for label in diagnostic.labels]
    if diagnostic.fix:
        found["fixes"] = [{"artifactChanges": [_change(edit) for edit in diagnostic.fix]}]
    return found


def document(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The results of one command."""
    known = all_codes()
    codes = [known[slug] for slug in sorted({each["ruleId"] for each in results}) if slug in known]
    rules = [
        {
            "id": code.slug,
            "shortDescription": {"text": code.title},
            "fullDescription": {"text": code.explanation},
            "defaultConfiguration": {"level": str(code.severity)},
            "help": {"text": f"pykb explain {code.slug}"},
        }
        for code in codes
    ]
    tool = {"driver": {"name": "pykb", "rules": rules}}
    # Columns of pykb count characters.
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": tool, "columnKind": "unicodeCodePoints", "results": list(results)}],
    }


def _location(span: Span, text: str) -> dict[str, Any]:
    place = {"physicalLocation": {"artifactLocation": _artifact(span), "region": _region(span)}}
    return {**place, "message": {"text": text}} if text else place


def _artifact(span: Span) -> dict[str, str]:
    return {"uri": quote(span.path)}


def _region(span: Span) -> dict[str, int]:
    return {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }


def _change(edit: Edit) -> dict[str, Any]:
    replaced = {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.new}}
    return {"artifactLocation": _artifact(edit.span), "replacements": [replaced]}
