"""Merges the change of a scaffold into a file with edits: text in, text out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class Merged:
    """A file with changes of its scaffold.

    Attributes:
        content: The file.
        left_out: The changes that were left out, since the lines were edited: the number of the line before the merge,
            and what the scaffold has there.
    """

    content: bytes
    left_out: tuple[tuple[int, str], ...] = ()


def merge(content: bytes, before: bytes, after: bytes) -> Merged:
    """Make the change of a scaffold in a file. Lines that were edited stay as they are."""
    lines, old, new = (text.splitlines(keepends=True) for text in (content, before, after))
    places: dict[int, int] = {}
    for block in SequenceMatcher(None, old, lines, autojunk=False).get_matching_blocks():
        places |= {block.a + offset: block.b + offset for offset in range(block.size)}
    places |= {-1: -1, len(old): len(lines)}
    left_out: list[tuple[int, str]] = []
    result = list(lines)
    for start, end, new_start, new_end in reversed([*_changes(old, new)]):
        around = [places.get(at) for at in range(start - 1, end + 1)]
        first = around[0]
        inner = [places.get(at) for at in range(start, end)]
        if _is_there(lines, around, new[new_start:new_end]):
            continue
        if first is not None and around == list(range(first, first + len(around))):
            result[first + 1 : first + 1 + len(inner)] = new[new_start:new_end]
        elif inner and inner[0] is not None and inner == list(range(inner[0], inner[0] + len(inner))):
            result[inner[0] : inner[0] + len(inner)] = new[new_start:new_end]
        else:
            above = max(there for at, there in places.items() if at < start)
            wanted = b"".join(new[new_start:new_end]).decode("utf-8", "replace").strip()
            left_out.append((min(above + 2, max(len(lines), 1)), wanted))
    return Merged(b"".join(result), tuple(sorted(left_out)))


def _is_there(lines: list[bytes], around: list[int | None], wanted: list[bytes]) -> bool:
    """Whether a file has the new lines already, between the lines around them, of which one may have been edited."""
    above, *inner, below = around
    if above is not None and below is not None:
        return bool(wanted) and lines[above + 1 : below] == wanted
    if not wanted or not inner or any(place is not None for place in inner):
        return False
    after = above is not None and lines[above + 1 : above + 1 + len(wanted)] == wanted
    return after or (below is not None and lines[max(below - len(wanted), 0) : below] == wanted)


def _changes(old: list[bytes], new: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """The ranges of lines that differ. Of as many new lines as old ones, each is a change of its own."""
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "replace" and end - start == new_end - new_start:
            yield from ((start + at, start + at + 1, new_start + at, new_start + at + 1) for at in range(end - start))
        elif tag != "equal":
            yield start, end, new_start, new_end
