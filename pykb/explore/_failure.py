"""Errors of reconcilers, webhooks and converters."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pykb.api.safe_text import safe_text
from pykb.explore._gate import Place, place_in
from pykb.runtime.controller.controller import BUGS

_LONGEST_MESSAGE = 120
_BAD_VALUES = (ValueError, ValidationError)
"""Errors for values that a schema should have refused. Their subclasses may be a user's own."""


@dataclass(frozen=True, slots=True)
class Failure:
    """The error of a reconcile, of a webhook or of a converter.

    Attributes:
        kind: The class of the error.
        message: The beginning of its text.
        place: The last line of the user's code in its traceback.
        at: The virtual time.
        is_bug: Whether it is an error of programming.
    """

    kind: str
    message: str
    place: Place | None
    at: float
    is_bug: bool


def failure_of(error: BaseException, root: Path | None, at: float) -> Failure:
    """Note an error.

    Args:
        error: The error.
        root: The folder of the user's code.
        at: The virtual time.
    """
    text = safe_text(error).partition("\n")[0]
    text = text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 3]}..."
    is_bug = isinstance(error, BUGS) or type(error) in _BAD_VALUES
    return Failure(type(error).__name__, text, place_of_error(error, root), at, is_bug)


def place_of_error(error: BaseException, root: Path | None) -> Place | None:
    """The last line of the user's code in a traceback."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    return place_in(root, reversed(frames))
