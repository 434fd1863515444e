"""JSON from outside, where the standard library's reader is used."""

from __future__ import annotations

import json
from typing import Any


def loads(text: str | bytes) -> Any:
    """The value of a text.

    Raises:
        ValueError: It is no JSON; also for nesting that Python does not read.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
