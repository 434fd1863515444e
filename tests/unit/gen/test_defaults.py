"""What PROJECT says to the generators."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.gen.defaults import converted_kinds, project_groups, project_kinds
from pykb.meta.gvk import GroupKind

WITH_WEBHOOK = "resources:\n- {group: infra, domain: example.com, kind: A, webhooks: {conversion: true}}\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (WITH_WEBHOOK, {GroupKind("infra.example.com", "A")}),
        ("resources: [{group: 5, kind: A, webhooks: {conversion: true}}]", {GroupKind("5", "A")}),
        ("resources: [conversion, {kind: A, webhooks: {conversion: true}}]", {GroupKind("", "A")}),
        ("resources: 5 # conversion", set()),
        ("resources: conversion", set()),
        ("[conversion]", set()),
    ],
)
def test_kinds_are_read_from_whatever_project_holds(text: str, found: set[GroupKind], tmp_path: Path) -> None:
    """Other commands say what is wrong with PROJECT; the generators go by what can be read."""
    (tmp_path / "PROJECT").write_text(text)
    assert converted_kinds(tmp_path, Diagnostics()) == found
    assert project_kinds(tmp_path) == found
    assert project_groups(tmp_path) == {kind.group for kind in found}
