"""Additions to kustomizations: by the structure of the file, nothing twice, nothing lost."""

from __future__ import annotations

import pytest
import yaml

from pykb.scaffold.insert import Member, extend

WEBHOOK = Member("resources", "../webhook", ("The webhooks.",))
PATCH = Member("patches", "path: p.yaml\ntarget:\n  kind: Deployment\n")


def crd(name: str) -> Member:
    """A replacement that fills in one CRD."""
    return Member(
        "replacements",
        "source:\n  kind: Certificate\n  fieldPath: .metadata.name\ntargets:\n- select:\n    kind: CustomResourceDefinition\n"
        f"    name: {name}\n  fieldPaths:\n  - .metadata.annotations.[inject]\n  options:\n    delimiter: /\n    index: 1\n"
        "    create: true\n",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("resources:\n- a\n# later\n#- b\n", "resources:\n- a\n# The webhooks.\n- ../webhook\n# later\n#- b\n"),
        ("resources:\n  - a # why\n", "resources:\n  - a # why\n  # The webhooks.\n  - ../webhook\n"),
        ("resources:\n- a", "resources:\n- a\n# The webhooks.\n- ../webhook\n"),
        ("resources:\r\n- a\r\n", "resources:\r\n- a\r\n# The webhooks.\r\n- ../webhook\r\n"),
        ("a: b\r\nnamePrefix: x-", "a: b\r\nnamePrefix: x-\r\n\r\nresources:\r\n# The webhooks.\r\n- ../webhook\r\n"),
        ("resources:\nnamePrefix: x-\n", "resources:\n# The webhooks.\n- ../webhook\nnamePrefix: x-\n"),
        ("namePrefix: x-\n", "namePrefix: x-\n\nresources:\n# The webhooks.\n- ../webhook\n"),
        ("", "resources:\n# The webhooks.\n- ../webhook\n"),
        ("resources:\n- |-\n  a\n\nx: 1\n", "resources:\n- |-\n  a\n# The webhooks.\n- ../webhook\n\nx: 1\n"),
    ],
    ids=[
        "comments below",
        "indented",
        "no newline",
        "CRLF",
        "CRLF, no list",
        "empty list",
        "no list",
        "nothing at all",
        "block text",
    ],
)
def test_a_member_goes_below_the_last(text: str, expected: str) -> None:
    """With the indentation of its neighbours; a list that is not there is made at the end."""
    assert extend(text, [WEBHOOK], path="k.yaml") == (expected, None)
    assert extend(expected, [WEBHOOK], path="k.yaml") == (expected, None)


@pytest.mark.parametrize(
    "text",
    [
        "resources: [../webhook]\n",
        "resources:\n- ../webhook/\n",
        "resources:\n- '../webhook'\n- a\n",
    ],
)
def test_what_is_there_in_another_style_is_found(text: str) -> None:
    """Brackets, quotes, a slash at the end."""
    result, problem = extend(text, [WEBHOOK], path="k.yaml")
    assert (result, problem) == (text, None)


def test_a_patch_is_known_by_its_file() -> None:
    """Whatever target its user gave it."""
    text = "patches:\n- path: p.yaml\n  target:\n    name: mine\n"
    assert extend(text, [PATCH], path="k.yaml") == (text, None)


def test_targets_join_the_replacement_of_their_source() -> None:
    """The second CRD is filled in as the first one is; both once."""
    text, problem = extend("", [crd("a"), crd("b")], path="k.yaml")
    assert problem is None
    (only,) = yaml.safe_load(text)["replacements"]
    assert [target["select"]["name"] for target in only["targets"]] == ["a", "b"]
    assert only["targets"][0]["options"] == only["targets"][1]["options"]
    assert extend(text, [crd("a"), crd("b")], path="k.yaml") == (text, None)


def test_a_target_with_more_fields_than_ours_is_enough() -> None:
    """A user's own replacement that does the same is not doubled."""
    text, _ = extend("", [crd("a")], path="k.yaml")
    text = text.replace(
        "    - .metadata.annotations.[inject]\n", "    - .spec.x\n    - .metadata.annotations.[inject]\n"
    )
    assert extend(text, [crd("a")], path="k.yaml") == (text, None)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("resources: [a]\n", "kustomization-form"),
        ("resources: a\n", "kustomization-form"),
        ("- a\n", "kustomization-form"),
        ("resources:\n- |+\n  a\n\n\nx: 1\n", "kustomization-form"),
        ("x: 1\n...\n", "kustomization-form"),
        ("resources: [\n", "file-broken"),
    ],
)
def test_a_file_of_another_form_is_left_alone(text: str, code: str) -> None:
    """The finding has the lines to paste."""
    result, problem = extend(text, [WEBHOOK], path="k.yaml")
    assert result == text
    assert problem is not None
    assert problem.code.slug == code
    if code == "kustomization-form":
        assert "resources:\n# The webhooks.\n- ../webhook" in problem.help[0]
