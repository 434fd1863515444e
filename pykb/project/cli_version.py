"""The order of versions of pykb, such as `cliVersion` in PROJECT."""

from __future__ import annotations

import re


def numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, for comparisons. Empty if the text is not a version.

    >>> numbers("0.2.0"), numbers("0.2.0rc1"), numbers("../0.2.0")
    ((0, 2, 0), (0, 2, 0), ())
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9}){0,3})[0-9A-Za-z.+]{0,20}", version)
    return tuple(map(int, found[1].split("."))) if found else ()
