"""A finding as a pytest, which fails until the operator is mended."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any

from pykb.explore._history import Fault, History, Step
from pykb.explore._invariants import ClusterView
from pykb.explore._report import Finding
from pykb.explore._state import Difference
from pykb.meta.gvk import gvk_named
from pykb.meta.json_diff import at
from pykb.python_source import quoting

_MOST_CLAIMS = 5
_LONGEST_NAME = 60
_PART = re.compile(r"\[(\d+)\]|\.?([^.\[\]]+)")


def test_of(finding: Finding, end: ClusterView, *, package: str, seed: int) -> str:
    """The text of a test module; empty if the end of the history does not show what is wrong.

    Args:
        finding: The finding.
        end: The cluster after its history.
        package: The import package of the project.
        seed: Selects the random values of the world.
    """
    claims = [claim for each in finding.differences if (claim := _claim(each, end))][:_MOST_CLAIMS]
    if not claims:
        return ""
    history = finding.history
    names = ["History", "Step", "Verb", *(("Fault", "FaultKind") if history.faults else ())]
    lines = [
        quoting.docstring(f"{finding.code.slug}: {_line(finding.message)}", 0),
        "",
        f"from pykb.explore import {', '.join(sorted(names))}",
        "from pykb.meta.gvk import GroupVersionKind",
        "from pykb.testing import ProjectExplorer",
        "",
        f"from {package}.__main__ import register",
        "",
        *(quoting.comment(f"{number}. {_line(text)}") for number, text in enumerate(finding.steps, start=1)),
        f"HISTORY = {_written(history, '')}",
        "",
        "",
        f"def test_{_name(finding.message)}(explorer: ProjectExplorer) -> None:",
        f"    cluster = explorer.play(register, HISTORY{f', seed={seed}' if seed else ''})",
        *(f"    {line}" for claim in claims for line in claim),
    ]
    return "\n".join(lines) + "\n"


def name_of(finding: Finding) -> str:
    """The name of the file for a test of a finding."""
    return f"test_{_name(f'{finding.code.slug} {finding.message}')}.py"


def _name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")[:_LONGEST_NAME].strip("_")


def _line(text: str) -> str:
    return " ".join(text.split())


def _claim(difference: Difference, end: ClusterView) -> list[str]:
    """Assertions that do not hold in the end, but without the difference; empty if there are none."""
    identity = difference.identity
    gvk = gvk_named(identity.api_version, identity.kind)
    present = end.find(gvk, identity.name, namespace=identity.namespace)
    key = f"{identity.namespace}/{identity.name}".lstrip("/")
    kind = _call("GroupVersionKind", [quoting.string(each) for each in (gvk.group, gvk.version, gvk.kind)])
    find = f"cluster.find({kind}, {quoting.string(key)})"
    if not difference.path:
        if (present is None) != (difference.found is None):
            return []
        return [f"assert {find} is {'not ' if difference.found is None else ''}None"]
    path = [int(number) if number else name for number, name in _PART.findall(difference.path)]
    if present is None or difference.identity.is_secret or not _is_plain(difference.expected, difference.found):
        return []
    parent = at(present.data, tuple(path[:-1]))
    last = path[-1]
    if not isinstance(parent, dict) or not isinstance(last, str) or parent.get(last) != difference.found:
        return []
    where = "found.data" + "".join(f"[{_literal(part)}]" for part in path[:-1])
    value = f"{where}.get({quoting.string(last)})"
    check = f"{value} == {_literal(difference.expected)}" if difference.expected is not None else f"{value} is None"
    return [f"found = {find}", "assert found is not None", f"assert {check}"]


def _is_plain(*values: Any) -> bool:
    """Whether values stand for themselves, and not for a time or a uid."""
    return all(
        value is None or isinstance(value, bool | int) or (type(value) is str and "<" not in value) for value in values
    )


def _call(name: str, arguments: list[str]) -> str:
    return f"{name}({', '.join(arguments)})"


def _literal(value: Any) -> str:
    return quoting.string(value) if isinstance(value, str) else repr(value)


def _written(value: Any, indent: str) -> str:
    """A value as Python, with one line for each part, as formatters leave it."""
    inner = f"{indent}    "
    match value:
        case Enum():
            return f"{type(value).__name__}.{value.name}"
        case History() | Step() | Fault():
            parts = [f"{name}={_written(each, inner)}" for name, each in _set(value)]
            return _spread(f"{type(value).__name__}(", parts, ")", indent)
        case Mapping():
            return _spread(
                "{", [f"{_literal(name)}: {_written(each, inner)}" for name, each in value.items()], "}", indent
            )
        case tuple():
            return _spread("(", [_written(each, inner) for each in value], ")", indent)
        case list():
            return _spread("[", [_written(each, inner) for each in value], "]", indent)
    return _literal(value)


def _spread(begin: str, parts: list[str], end: str, indent: str) -> str:
    lines = [f"{indent}    {part}," for part in parts]
    return "\n".join([begin, *lines, f"{indent}{end}"]) if parts else f"{begin}{end}"


def _set(value: History | Step | Fault) -> Iterator[tuple[str, Any]]:
    """The fields of a value that are not as usual."""
    for each in fields(value):
        given = getattr(value, each.name)
        if given != each.default:
            yield each.name, given
