"""Suggests similar names ("did you mean")."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile


def edit_distance(left: str, right: str, *, limit: int) -> int:
    """Return the optimal string alignment distance, or ``limit + 1`` if it is larger.

    Insertions, deletions, replacements and swaps of neighbours count one each.
    """
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before_last: list[int] = []
    last = list(range(len(right) + 1))
    for row, left_char in enumerate(left, start=1):
        current = [row]
        for column, right_char in enumerate(right, start=1):
            cost = 0 if left_char == right_char else 1
            best = min(last[column] + 1, current[column - 1] + 1, last[column - 1] + cost)
            swapped = row > 1 and column > 1 and left_char == right[column - 2] and left[row - 2] == right_char
            if swapped:
                best = min(best, before_last[column - 2] + 1)
            current.append(best)
        if min(current) > limit:
            return limit + 1
        before_last, last = last, current
    return last[-1]


def only_meaning(name: str, candidates: Iterable[str]) -> str | None:
    """Return the one candidate that ``name`` can be a slip of, or ``None`` if there are more, or none.

    A slip is the wrong case, or one wrong letter (two in longer names). This is stricter than :func:`closest`: its
    result may be written without asking.
    """
    known = set(candidates)
    folded = name.casefold()
    same = [candidate for candidate in known if candidate.casefold() == folded]
    if same or len(name) < _SHORTEST:
        return same[0] if len(same) == 1 else None
    limit = 1 if len(name) < _LONG else 2
    near = [candidate for candidate in known if edit_distance(folded, candidate.casefold(), limit=limit) <= limit]
    return near[0] if len(near) == 1 else None


_SHORTEST, _LONG = 3, 6
_words = re.compile(r"[^-:.]*[-:.]?").findall


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the most similar candidate, or ``None`` if none is similar.

    Similar names differ in at most a third of the characters, ignoring case and the first words
    that they share: ``explore-nothing`` is not similar to ``explore-theft``. Of equally similar
    candidates, the first in alphabetical order is returned.
    """
    folded = name.casefold()
    own = _words(folded)
    best: tuple[int, str] | None = None
    for candidate in sorted(candidates):
        words = zip(own, _words(candidate.casefold()), strict=False)
        shared = sum(len(word) for word, _ in takewhile(lambda pair: pair[0] == pair[1], words))
        limit = max(1, (len(name) - shared) // 3)
        distance = edit_distance(folded, candidate.casefold(), limit=limit)
        if distance <= limit and (best is None or distance < best[0]):
            best = (distance, candidate)
    return best[1] if best else None


def did_you_mean(name: str, candidates: Iterable[str], before: str = "") -> tuple[str, ...]:
    """Return the help of a finding about an unknown name: the most similar candidate, or nothing.

    ``before`` stands before the candidate.
    """
    near = closest(name, candidates)
    return (f"did you mean `{before}{near}`?",) if near else ()
