"""Markers that tell server-side apply how lists, maps and structs are merged."""

from __future__ import annotations

from pykb.markers.definition import STRING, ArgumentDefinition, MarkerDefinition, MarkerTarget
from pykb.markers.effect import Sets

_CATEGORY = "Topology"
_BOTH = frozenset({MarkerTarget.TYPE, MarkerTarget.FIELD})
LISTS = ("map", "set", "atomic")
_MAPS = ("granular", "atomic")
LIST_TYPE = "x-kubernetes-list-type"
LIST_MAP_KEYS = "x-kubernetes-list-map-keys"
_MAP_TYPE = "x-kubernetes-map-type"


def _choice(name: str, keyword: str, summary: str, choices: tuple[str, ...]) -> MarkerDefinition:
    return MarkerDefinition(
        name,
        _BOTH,
        (ArgumentDefinition("", STRING, "How it is merged.", choices=choices),),
        summary=summary,
        example=f"+{name}={choices[0]}",
        category=_CATEGORY,
        priority=9 if keyword == LIST_TYPE else 10,
        effect=Sets(keyword),
    )


DEFINITIONS = (
    _choice("listType", LIST_TYPE, "A list is a map by keys, a set of scalars, or one atomic value.", LISTS),
    MarkerDefinition(
        "listMapKey",
        _BOTH,
        (ArgumentDefinition("", STRING, "The JSON name of a scalar field of the elements."),),
        summary="A key field of a list with `+listType=map`.",
        example="+listMapKey=type",
        category=_CATEGORY,
        repeatable=True,
        effect=Sets(LIST_MAP_KEYS, adds=True),
    ),
    _choice("mapType", _MAP_TYPE, "Whether keys of a map are merged one by one or the map is one value.", _MAPS),
    _choice(
        "structType", _MAP_TYPE, "Whether fields of a struct are merged one by one or the struct is one value.", _MAPS
    ),
)
