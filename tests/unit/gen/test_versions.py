"""Two served versions with other fields and without a converter: what the API server would drop."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pykb.gen.run import GenerateResult

KINDS = """\
class Old(Struct):
    {old}

class New(Struct):
    {new}

{marker}
class OldThing(CustomResource, group_version=GroupVersion("example.com", "v1beta1"), kind="Thing"):
    spec: Old

# +kubebuilder:storageversion
class Thing(CustomResource, group_version=GV):
    spec: New
"""
CASES = {
    "the same": ("size: int = 1", "size: int = 1", []),
    "another default": ("size: int = 1", "size: int = 2", []),
    "a wider type": ("size: int = 1", "size: int | str = 1", []),
    "another type": (
        "size: int = 1",
        "size: str = ''",
        ["values of one version are not valid in the other: `spec.size`"],
    ),
    "only in the old": ("size: int = 1\n    a: int = 1", "size: int = 1", ["only in v1beta1: `spec.a`"]),
    "only in the new": ("size: int = 1", "size: int = 1\n    a: int = 1", ["erases what is only in v1: `spec.a`"]),
    "a map has all fields": ("a: dict[str, str] = {}", "a: Annotated[dict[str, Any], PreserveUnknown()] = {}", []),
    "an open struct": ("a: int = 1", "model_config = {}\n    b: Any = None", ["`spec.a`", "`spec.b`"]),
}


@pytest.mark.parametrize("case", CASES)
def test_what_would_be_dropped_is_said(generate_types: Callable[..., GenerateResult], case: str) -> None:
    """A warning, so that strict runs fail."""
    old, new, expected = CASES[case]
    found = list(generate_types(KINDS.format(old=old, new=new, marker="")).diagnostics)
    assert [each.code.slug for each in found] == ["versions-differ"] * bool(expected), found
    notes = "\n".join(note for each in found for note in each.notes)
    assert all(text in notes for text in expected), notes


def test_a_version_that_is_not_served_may_differ(generate_types: Callable[..., GenerateResult]) -> None:
    """Nobody reads or writes it."""
    source = KINDS.format(old="a: int = 1", new="b: int = 1", marker="# +kubebuilder:unservedversion")
    assert not list(generate_types(source).diagnostics)


def test_a_converter_may_do_as_it_likes(generate_types: Callable[..., GenerateResult], tmp_path) -> None:
    """PROJECT says that there is one."""
    entry = "- {domain: example.com, kind: Thing, version: v1, webhooks: {conversion: true, webhookVersion: v1}}"
    text = f'domain: example.com\nlayout: [python.pykb.io/v1]\nprojectName: a\nresources:\n{entry}\nversion: "3"\n'
    (tmp_path / "PROJECT").write_text(text, encoding="utf-8")
    found = generate_types(KINDS.format(old="a: int = 1", new="b: int = 1", marker=""))
    assert not list(found.diagnostics)
    assert found.crds[0].conversion is not None
