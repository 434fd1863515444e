"""Place: where in the source a type is used, for messages while it is lowered."""

from __future__ import annotations

import types
from dataclasses import dataclass

from pykb.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Place:
    """The use of a type.

    Attributes:
        span: The annotation, or what comes nearest to it.
        what: How messages call it: ``field `cpu```.
        module: Where names in string annotations are looked up.
    """

    span: Span | None
    what: str
    module: types.ModuleType | None = None
