"""Random metadata that every API server takes."""

from __future__ import annotations

from random import Random
from typing import Any

from pykb.testing.objects.texts import dns_label, label_value, qualified_name

_TEXTS = ("", "x", '{"a": 1}', "two\nlines", "日本")


def random_metadata(random: Random, *, named: bool) -> dict[str, Any]:
    """Name, labels, annotations and finalizers; what a server fills in is left to it.

    Args:
        random: The source.
        named: Whether it has a name: objects have one, templates need none.
    """
    found: dict[str, Any] = {"name": dns_label(random)} if named else {}
    if random.random() < 0.4:
        found["labels"] = {qualified_name(random): label_value(random) for _ in range(random.randint(0, 3))}
    if random.random() < 0.4:
        found["annotations"] = {qualified_name(random): random.choice(_TEXTS) for _ in range(random.randint(0, 3))}
    if named and random.random() < 0.1:
        found["finalizers"] = [f"example.com/{dns_label(random)}"]
    return found
