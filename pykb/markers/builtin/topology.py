"""Markers that tell server-side apply how lists, maps and structs are merged."""

from __future__ import annotations

from pykb.markers.definition import STRING, ArgumentDefinition, MarkerDefinition, MarkerTarget

_CATEGORY = "Topology"
_BOTH = frozenset({MarkerTarget.TYPE, MarkerTarget.FIELD})


def _choice(name: str, summary: str, choices: tuple[str, ...], *, alias_of: str = "") -> MarkerDefinition:
    return MarkerDefinition(
        name,
        _BOTH,
        (ArgumentDefinition("", STRING, summary="How it is merged.", choices=choices),),
        summary=summary,
        example=f"+{name}={choices[0]}",
        category=_CATEGORY,
        priority=9 if name.endswith("listType") else 10,
        alias_of=alias_of,
    )


_LISTS = ("map", "set", "atomic")
_MAPS = ("granular", "atomic")
_LIST_SUMMARY = "A list is a map by keys, a set of scalars, or one atomic value."

DEFINITIONS = (
    _choice("listType", _LIST_SUMMARY, _LISTS),
    MarkerDefinition(
        "listMapKey",
        _BOTH,
        (ArgumentDefinition("", STRING, summary="The JSON name of a scalar field of the elements."),),
        summary="A key field of a list with `+listType=map`.",
        example="+listMapKey=type",
        category=_CATEGORY,
        repeatable=True,
    ),
    _choice("mapType", "Whether keys of a map are merged one by one or the map is one value.", _MAPS),
    _choice("structType", "Whether fields of a struct are merged one by one or the struct is one value.", _MAPS),
)
