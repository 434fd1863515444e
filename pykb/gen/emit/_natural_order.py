"""The order in which go-yaml v2 writes the keys of a map: "natural", which compares numbers inside keys as numbers.

Rules observed on controller-gen v0.23.0 output; a test holds the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cmp_to_key

# Over letters and `-` alone the natural order is the order of code points: `-` sorts before every letter.
_SIMPLE = re.compile(r"[A-Za-z-]*\Z").match


def sorted_keys(keys: Iterable[str]) -> list[str]:
    """The keys in natural order."""
    found = list(keys)
    if all(map(_SIMPLE, found)):
        found.sort()
        return found
    # The comparison is not transitive for keys like 0, 01, 0a. A fixed start order makes the result deterministic.
    return sorted(sorted(found), key=cmp_to_key(_compare))


def _compare(left: str, right: str) -> int:
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a == b:
            continue
        a_letter, b_letter = a.isalpha(), b.isalpha()
        if a_letter and b_letter:
            return -1 if a < b else 1
        if a_letter or b_letter:
            return 1 if a_letter else -1
        return _compare_numbers(left, right, index)
    return len(left) - len(right)


def _compare_numbers(left: str, right: str, index: int) -> int:
    # A zero is a leading zero only where no other digit stands before it in the (common) text.
    prefix = ""
    if "0" in (left[index], right[index]):
        back = index - 1
        while back >= 0 and left[back].isdecimal():
            if left[back] != "0":
                prefix = "1"
                break
            back -= 1
    a_run, b_run = _digits(left, index), _digits(right, index)
    a_number, b_number = _value(prefix + a_run), _value(prefix + b_run)
    if a_number != b_number:
        return -1 if a_number < b_number else 1
    if len(a_run) != len(b_run):
        return len(a_run) - len(b_run)
    return -1 if left[index] < right[index] else 1


def _digits(text: str, start: int) -> str:
    end = start
    while end < len(text) and text[end].isdecimal():
        end += 1
    return text[start:end]


def _value(digits: str) -> int:
    value = 0
    for digit in digits:
        value = value * 10 + ord(digit) - ord("0")  # like Go, also for digits of other scripts
    return value
