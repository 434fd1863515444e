"""A PROJECT that is made to take long is refused before anything takes long."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pykb._regular_file import UnsuitableFileError
from pykb.project.file import check, load, read

BASE = 'domain: example.com\nlayout: [python.pykb.dev/v1]\nprojectName: p\nrepo: p\nversion: "3"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x: " + "a" * 10_000, "a value is longer than 4,096 characters"),
        ("x: '" + "a" * 10_000 + "'", "a value is longer than 4,096 characters"),
        ("x: " + "1" * 10_000, "a value is longer than 4,096 characters"),
        ("x: " + ":".join(["59"] * 5_000), "a value is longer than 4,096 characters"),
        ("x: !" + "a" * 10_000 + " b", "a value is longer than 4,096 characters"),
        ("x: &" + "a" * 10_000 + " b", "a value is longer than 4,096 characters"),
        ("x: [" + ",".join(f"&a{n} b" for n in range(11_000)) + "]", "it has more than 10,000 values"),
        ("x: [&a b" + ", *a" * 11_000 + "]", "it has more than 10,000 values"),
        ("resources:\n" + "- {}\n" * 11_000, "it has more than 10,000 values"),
        ("".join(f"k{n}: a\n" for n in range(6_000)), "it has more than 10,000 values"),
        ("x: " + "[" * 2_000 + "]" * 2_000, "it is nested more than 100 levels deep"),
    ],
    ids=lambda text: text[:12] if len(text) > 100 else "",
)
def test_what_takes_long_to_read_is_refused(text: str, expected: str) -> None:
    """One finding with its place, before the slow readers see the text."""
    project, found = load(BASE + text)
    assert project.node is None
    (problem,) = found
    assert problem.code.slug == "project-syntax"
    assert expected in problem.message
    assert problem.span is not None
    assert problem.span.line >= 6


def test_a_project_of_two_hundred_kinds_is_read() -> None:
    """The limits are far above what people have."""
    entry = (
        "- api: {crdVersion: v1, namespaced: true}\n  controller: true\n  domain: example.com\n  group: infra\n"
        "  kind: Kind%d\n  path: p.api.v1\n  version: v1\n"
        "  webhooks: {defaulting: true, validation: true, conversion: true, spoke: [v1, v2], webhookVersion: v1}\n"
    )
    project, found = load(BASE + "resources:\n" + "".join(entry % number for number in range(200)))
    assert not list(found)
    assert len(project.resources) == 200


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    """Comments are bounded by the size of the file."""
    (tmp_path / "PROJECT").write_text(BASE + "#\n" * 200_000)
    with pytest.raises(UnsuitableFileError, match="larger than 256 KiB"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["a\nimport os", "../../x", 'a"', "{{ x }}", "a b"])
def test_a_name_of_a_controller_follows_the_rule_of_the_command_line(name: str) -> None:
    """It becomes a path, a class and a string, when `edit`, `delete` or `update` makes the files again."""
    entry = f"resources:\n- kind: A\n  version: v1\n  controllers:\n  - name: {json.dumps(name)}\n"
    (problem,) = check(load(BASE + entry)[0])
    assert problem.message.startswith("`name` must be a DNS label")
    assert problem.span is not None
    assert problem.span.line == 10
