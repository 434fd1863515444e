"""How the replicas of a project share the objects: the flags of its manager say it, PROJECT, or its code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from pykb._regular_file import read_bytes
from pykb.client.ranges import MOST, Ranges, ShardBy
from pykb.project.file import Project
from pykb.project.settings import config_path
from pykb.reading import read_python, yaml_text

_MANAGER = "manager/manager.yaml"
_SHARDS, _SHARD_BY = "shards", "shard_by"
_SOME = 8
"""Ranges if only the running program knows their number."""


def ranges_of(root: Path, project: Project) -> Ranges | None:
    """The ranges into which the replicas divide the objects; ``None`` if only one of them works.

    A flag counts more than PROJECT, and that more than the code.

    Args:
        root: The folder of the project.
        project: Its PROJECT.
    """
    given = dict(_keywords(root / project.package / "__main__.py"))
    if project.shards:
        given[_SHARDS] = str(project.shards)
    given |= dict(_flags(config_path(root, _MANAGER)))
    text = given.get(_SHARDS, "0")
    count = min(int(text), MOST) if text.isascii() and text.isdigit() else _SOME
    is_by_namespace = ShardBy.NAMESPACE in given.get(_SHARD_BY, "").lower()
    return Ranges(count, ShardBy.NAMESPACE if is_by_namespace else ShardBy.UID) if count else None


def _keywords(main: Path) -> Iterator[tuple[str, str]]:
    """What the program gives its manager's options: ``ManagerOptions(shards=16)``."""
    try:
        tree = read_python(read_bytes(main).decode("utf-8", "replace"))
    except (OSError, SyntaxError):
        return  # it is imported later, which says what is wrong
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from ((each.arg, ast.unparse(each.value)) for each in node.keywords if each.arg in _OPTIONS)


_OPTIONS = (_SHARDS, _SHARD_BY)


def _flags(manager: Path) -> Iterator[tuple[str, str]]:
    """The flags of containers: ``--shards=16``, in one argument or two."""
    try:
        every = [document.content for document in yaml_text.documents(read_bytes(manager))]
    except (OSError, yaml.MarkedYAMLError):
        return  # the explorer needs nothing else of it
    for arguments in map(_arguments, every):
        for argument, following in pairwise([*arguments, ""]):
            name, equals, value = argument.removeprefix("--").partition("=")
            if argument.startswith("--") and name.replace("-", "_") in _OPTIONS:
                yield name.replace("-", "_"), value if equals else following


def _arguments(document: Any) -> list[str]:
    try:
        containers = document["spec"]["template"]["spec"]["containers"]
        return [str(each) for container in containers for each in container.get("args") or ()]
    except (KeyError, TypeError, AttributeError):
        return []
