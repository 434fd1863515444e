"""Mutated markers: each is accepted, or reported with a place, or prose by rule; none ends in a traceback.

500 by default; ``PYKB_FUZZ_CASES`` sets another number.
"""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics, Severity
from pykb.diagnostics.render import Format, render
from pykb.markers.collect import collect
from pykb.markers.definition import MarkerTarget
from pykb.markers.model import Marker
from pykb.markers.registry import builtin_registry

CASES = int(os.environ.get("PYKB_FUZZ_CASES", "500"))
BATCHES = 20
SEEDS = [
    *(v["text"] for v in json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))),
    *(d.example for d in builtin_registry()),
]
PIECES = [
    *"{}[]();,:=+-'\"`\\ \t#./_*!?0123456789abcxyzTFué\u2028\ufeff\U0001f600",
    *(
        "true",
        "false",
        "null",
        "0x",
        "1e5",
        "\\u00e9",
        "\\ud800",
        "\\d",
        "{}",
        "{a: 1}",
        "items:",
        "+k8s:",
        " # c",
        "ref(",
    ),
]
PROSE = re.compile(r"\+(?:$|\s|[-+=|*]|\d(?![^\s:=]*[:=]))")
"""What documentation calls prose: written here a second time, so that the rule cannot grow unseen."""
DECLARATIONS = {
    MarkerTarget.FIELD: "class Größe:\n    # {}\n    name: str\n",
    MarkerTarget.TYPE: "# {}\nclass Größe: ...\n",
    MarkerTarget.PACKAGE: "# {}\n\nimport os\n",
}


def mutate(text: str, chance: random.Random) -> str:
    """Some characters deleted, inserted, replaced, swapped or repeated."""
    chars = list(text)
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5))):
        at = chance.randrange(1, len(chars) + 1)
        match chance.randrange(5):
            case 0 if at < len(chars):
                del chars[at]
            case 1:
                chars.insert(at, chance.choice(PIECES))
            case 2 if at < len(chars):
                chars[at] = chance.choice(PIECES)
            case 3 if at + 1 < len(chars):
                chars[at], chars[at + 1] = chars[at + 1], chars[at]
            case _:
                piece = chars[at : at + chance.randrange(1, 8)]
                chars[at:at] = piece
    return "".join(chars)


def written_out(value: object) -> object:
    """A value as JSON can hold it; nested markers by their text."""
    if isinstance(value, Marker):
        return {value.text: written_out(dict(value.arguments))}
    if isinstance(value, dict):
        return {key: written_out(inner) for key, inner in value.items()}
    return [written_out(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("batch", range(BATCHES))
def test_a_mutated_marker_is_accepted_or_reported_with_its_place(batch: int) -> None:
    """No exception, no silence; values are JSON of finite numbers and whole characters; findings can be rendered."""
    chance = random.Random(batch)
    registry = builtin_registry()
    for _ in range(max(1, CASES // BATCHES)):
        text = mutate(chance.choice(SEEDS), chance)
        target = chance.choice(list(MarkerTarget))
        source = DECLARATIONS[target].replace("{}", text)
        diagnostics = Diagnostics()
        declared = collect(source, "a.py", registry=registry, diagnostics=diagnostics)
        markers = [
            *declared.package_markers,
            *(m for t in declared.types.values() for m in t.markers),
            *(m for t in declared.types.values() for f in t.fields.values() for m in f.markers),
        ]
        for marker in markers:
            json.dumps(written_out(dict(marker.arguments)), allow_nan=False, ensure_ascii=False).encode()
        line = 2 if target is MarkerTarget.FIELD else 1
        for found in diagnostics:
            assert found.span is not None
            assert found.span.line == line or found.code.slug == "source-syntax", (text, found)
            assert 1 <= found.span.column < found.span.end_column, (text, found)
        render(diagnostics, style=Format.JSON).encode()
        told = markers or len(diagnostics)
        silent_by_rule = PROSE.match(text.strip()) or text.startswith(("+kubebuilder:scaffold:", "+pykb:scaffold:"))
        assert told or silent_by_rule, (target, text)
        assert not (markers and any(d.severity is Severity.ERROR for d in diagnostics)), (text, list(diagnostics))
