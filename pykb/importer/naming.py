"""Chooses Python names: attributes from wire names, classes from paths of fields, folders from API groups."""

from __future__ import annotations

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

from pykb.meta.names import to_camel, to_snake, words
from pykb.meta.plural import pluralize

# Names that annotations in the same class body may use.
_IN_ANNOTATIONS = frozenset({"bool", "bytes", "date", "datetime", "dict", "float", "int", "list", "str"})
_UNCHANGED = frozenset({"data", "https", "kubernetes", "media", "news", "series", "species"})
_IRREGULAR = {"caches": "cache", "children": "child", "indices": "index", "people": "person", "vertices": "vertex"}


def attribute_name(wire_name: str, taken: Iterable[str] = ()) -> str:
    """The attribute for a wire name. Avoids the names that every ``Struct`` has.

    >>> attribute_name("hostIP"), attribute_name("from"), attribute_name("copy"), attribute_name("$ref")
    ('host_ip', 'from_', 'copy_', 'ref')
    """
    name = to_snake(wire_name) or "field"
    if name[0].isdigit():
        name = f"field_{name}"
    if keyword.iskeyword(name) or name in _reserved() or name.startswith("model_"):
        name += "_"
    if not name.isidentifier():
        name = "field"
    seen = set(taken)
    found, count = name, 2
    while found in seen:
        found, count = f"{name.rstrip('_')}_{count}", count + 1
    return found


def needs_wire(attribute: str, wire_name: str) -> bool:
    """Whether the attribute needs an explicit wire name."""
    return to_camel(attribute) != wire_name


@cache
def _reserved() -> frozenset[str]:
    from pykb.api.object import CustomResource

    return frozenset(dir(CustomResource)) | _IN_ANNOTATIONS


def singular(word: str) -> str:
    """The singular of a plural. Other words are unchanged.

    >>> [singular(w) for w in ("containers", "policies", "addresses", "databases", "status", "IPs", "matches")]
    ['container', 'policy', 'address', 'database', 'status', 'IP', 'match']
    """
    low = word.lower()
    if low in _IRREGULAR:
        return word[:1] + _IRREGULAR[low][1:]
    if len(word) < 3 or not low.endswith("s") or low in _UNCHANGED or low.endswith(("ss", "us", "is")):
        return word
    stems = [low[:-3] + "y"] if low.endswith("ies") else []
    stems += [low[:-2]] if low.endswith("es") else []
    stems.append(low[:-1])
    stem = next((stem for stem in stems if pluralize(stem) == low), low[:-1])
    return stem if word.islower() else word[:1] + (word[1:-1] if stem == low[:-1] else stem[1:])


def class_word(segment: str, *, one_of_many: bool) -> str:
    """A part of a path as a part of a class's name.

    >>> class_word("initContainers", one_of_many=True), class_word("hostIP", one_of_many=False)
    ('InitContainer', 'HostIP')
    """
    parts = words(segment)
    if parts and one_of_many:
        parts[-1] = singular(parts[-1])
    return "".join(part[:1].upper() + part[1:] for part in parts)


def group_folder(group: str) -> str:
    """The folder of an API group.

    >>> group_folder("cert-manager.io"), group_folder("3scale.net")
    ('cert_manager_io', '_3scale_net')
    """
    name = re.sub(r"[^a-z0-9]+", "_", group.lower()).strip("_") or "core"
    return f"_{name}" if name[0].isdigit() or keyword.iskeyword(name) else name


def version_module(version: str) -> str:
    """The name of the module of an API version."""
    return re.sub(r"[^a-z0-9]", "_", version)


def choose_names(paths: Sequence[Sequence[str]], reserved: Iterable[str]) -> list[str]:
    """Choose a name for each class: the shortest unique end of its path.

    Args:
        paths: For each class, the words from the kind's name down to the field.
        reserved: Names that are taken.
    """
    taken = {*reserved, *dir(builtins)}
    names: list[str] = []
    for base in _shortest_ends(paths, taken):
        start = base if base.isidentifier() else f"T{base}"
        found, count = start, 2
        while found in taken:
            found, count = f"{start}{count}", count + 1
        taken.add(found)
        names.append(found)
    return names


def _shortest_ends(paths: Sequence[Sequence[str]], taken: Iterable[str]) -> list[str]:
    """The shortest end of each path that no other path has, or the whole path."""
    lengths = [2 if len(path) == 2 else 1 for path in paths]  # `Kind.spec` becomes KindSpec and not Spec
    while True:
        ends = ["".join(path[-length:]) for path, length in zip(paths, lengths, strict=True)]
        count = Counter(ends)
        clashing = [
            index
            for index, end in enumerate(ends)
            if lengths[index] < len(paths[index]) and (count[end] > 1 or end in taken or not end.isidentifier())
        ]
        if not clashing:
            return ends
        for index in clashing:
            lengths[index] += 1
