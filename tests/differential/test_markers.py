"""controller-gen's own parser reads every marker as pykb does, or the table says why not."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from pykb.diagnostics import Diagnostics
from pykb.markers._reader import MarkerReader
from pykb.markers.definition import MarkerTarget
from pykb.markers.model import MarkerComment, Place
from pykb.markers.registry import builtin_registry

pytestmark = pytest.mark.differential

UNIT = Path(__file__).parents[1] / "unit" / "markers"
VECTORS: list[dict[str, Any]] = json.loads((UNIT / "vectors.json").read_text(encoding="utf-8"))
CASES = int(os.environ.get("PYKB_FUZZ_CASES", "500"))
MarkerParser = Callable[[Iterable[tuple[str, str]]], list[dict[str, Any]]]

STRICTER = (
    "single quotes are not quotes",
    "at least 0",
    "takes one value without a name",
    "the list has an empty element",
    "is an empty list",
    "is given twice",
    "appears twice in",
    "names a Go constant",
    "expected a decimal number",
    "expected a string, found",
    "half a surrogate pair",
    "expected a number, found",
    "takes no value, found",
    "does not fit into 64 bits",
    "needs a value (string), found none",
    "applies to a type, but this is",
)
"""Beginnings and parts of messages where pykb refuses what controller-gen takes; each has its reason in the table."""


def ours(target: str, text: str) -> tuple[dict[str, object] | None, list[str]]:
    """Arguments (``None`` when refused) and messages."""
    diagnostics = Diagnostics()
    place = Place((MarkerTarget(target),), "the place")
    marker = MarkerReader(builtin_registry(), diagnostics).read(MarkerComment(text, "x.py", 1, 3), place)
    return (dict(marker.arguments) if marker else None), [d.message for d in diagnostics]


def normal(value: object) -> object:
    """As Go's JSON has it: it does not tell `1` from `1.0`, nor an empty list from none."""
    if value is None:
        return []
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items()}
    return [normal(v) for v in value] if isinstance(value, list) else value


def empty(value: object) -> bool:
    """What Go writes for an argument that was left out."""
    return value is None or value in ("", []) or value is False or (value == 0 and value is not True)


def same(theirs: dict[str, Any], mine: dict[str, object]) -> bool:
    """Whether both read the same arguments."""
    if theirs["name"] == "default":
        theirs = {**theirs, "arguments": {"": theirs["arguments"].get("value")}}
    left = {k: normal(v) for k, v in theirs.get("arguments", {}).items()}
    right = {k: normal(v) for k, v in mine.items()}
    return all(
        json.dumps(left.get(k), sort_keys=True) == json.dumps(right.get(k), sort_keys=True)
        or (k not in right and empty(left[k]))
        or (k not in left and empty(right[k]))
        for k in left.keys() | right.keys()
    )


def test_the_table_of_vectors_holds_for_controller_gen(marker_parser: MarkerParser) -> None:
    """Accepted with the same values, or refused by both, except where `differs` has a reason; no reason is unused."""
    answers = marker_parser((v["target"], v["text"]) for v in VECTORS)
    wrong = []
    for vector, theirs in zip(VECTORS, answers, strict=True):
        refused = "error" in theirs or theirs.get("unknown", False)
        agree = "code" in vector and refused if "code" in vector or refused else same(theirs, vector["arguments"])
        if agree == ("differs" in vector):
            wrong.append((vector, theirs))
    assert not wrong, "\n".join(map(str, wrong))


def test_mutated_markers_are_read_alike(marker_parser: MarkerParser) -> None:
    """Whatever both accept, they read alike; what only pykb refuses has one of the known reasons; never the reverse."""
    chance = random.Random(7)
    pieces = [*"{}[]();,:=+-'\"`\\ #./_!?0123456789abxyzTFué", "true", "null", "0x", "1e5", "\\d", "{}", "{a: 1}"]
    cases = []
    for _ in range(CASES):
        vector = chance.choice(VECTORS)
        chars = list(vector["text"])
        start = vector["text"].find("=") + 1  # names are the unit tests' business: nearly all mutated ones are unknown
        for _ in range(chance.choice((1, 1, 2, 3))):
            at = chance.randrange(start, len(chars) + 1) if start else len(chars)
            match chance.randrange(4):
                case 0 if at < len(chars):
                    del chars[at]
                case 1 if at < len(chars):
                    chars[at] = chance.choice(pieces)
                case 2 if at + 1 < len(chars):
                    chars[at], chars[at + 1] = chars[at + 1], chars[at]
                case _:
                    chars.insert(at, chance.choice(pieces))
        text = "".join(chars).strip()
        if "".join(chars[:1]) == "+" and not text.startswith("+k8s:"):
            cases.append((vector["target"], text))
    wrong = []
    for (target, text), theirs in zip(cases, marker_parser(cases), strict=True):
        mine, messages = ours(target, text)
        refused = "error" in theirs or theirs.get("unknown", False)
        if mine is None and not refused:
            choice = any(" or `" in m and "expected `" in m for m in messages)
            if not choice and not any(reason in m for reason in STRICTER for m in messages):
                wrong.append((text, theirs, messages))
        elif (mine is not None and refused and "items:items:" not in text) or (
            mine is not None and not refused and not same(theirs, mine) and not loses_a_word(text)
        ):
            wrong.append((text, theirs, mine))
    assert not wrong, "\n".join(map(str, wrong))


def loses_a_word(text: str) -> bool:
    """Whether a blank stands before a delimiter: there controller-gen drops the last word of a bare string."""
    return any(c.isspace() and text[i + 1 : i + 2] in {",", ";", "}", ":", ""} for i, c in enumerate(text))
