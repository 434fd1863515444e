"""Random objects of a kind, made from its Python types: the same for the same seed, and fond of the edges."""

from __future__ import annotations

from pykb.testing.objects.generator import Override, UnsatisfiableFieldError, random_object

__all__ = ["Override", "UnsatisfiableFieldError", "random_object"]
