"""Hypothesis strategies for objects of a kind: valid by its schema, simple ones first, with many edge cases."""

from __future__ import annotations

import sys

try:
    import hypothesis as _  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"pykb.testing makes objects with hypothesis, which is not installed in {sys.prefix}\n"
        "install it: pip install 'pykubebuilder[test]'",
        name=error.name,
    ) from error

from pykb.testing.objects.kinds import Override, UnsatisfiableFieldError, objects_of

__all__ = ["Override", "UnsatisfiableFieldError", "objects_of"]
