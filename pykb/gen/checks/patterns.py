"""Regular expressions in the apiserver's syntax, RE2."""

from __future__ import annotations

import re
import warnings
from functools import cache
from typing import Any

# Python's compiler is enough where its syntax agrees with RE2's. A pattern with one of these goes to RE2.
_DIFFERENT = re.compile(r"\(\?|\\[^dDsSwWbBAnrtfv.\-\[\](){}*+?^$|/\\]|\{\d{4,}|\{.*\{|[*+?}]\+|\[\[|[^\x00-\x7f]")

# RE2 in C++ accepts it, Go's regexp does not.
_ANY_BYTE = re.compile(r"(?<!\\)(?:\\\\)*\\C")


@cache
def pattern_problem(pattern: str) -> str | None:
    """Why RE2 would not compile a pattern; ``None`` when it would."""
    if _ANY_BYTE.search(pattern):
        return "invalid escape sequence: `\\C`"
    if not _DIFFERENT.search(pattern):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about syntax that Python may change; RE2 does not
                re.compile(pattern)
        except (re.error, OverflowError) as error:
            return str(error)
        except RecursionError:  # RE2 has its own limit
            return _compiled(pattern)[1]
        return None
    return _compiled(pattern)[1]


def is_match(pattern: str, text: str) -> bool:
    """Whether a pattern matches somewhere in a text. A pattern that does not compile matches every text."""
    program = _compiled(pattern)[0]
    return program is None or program.search(text) is not None


@cache
def _compiled(pattern: str) -> tuple[Any, str | None]:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options=options), None
    except UnicodeEncodeError:
        return None, "half a surrogate pair is not a character"
    except re2.error as error:
        reason = error.args[0] if error.args else error
        return None, reason.decode() if isinstance(reason, bytes) else str(reason)
