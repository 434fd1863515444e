"""What shows a fault is made smaller for as long as it does."""

from __future__ import annotations

from typing import Any

from pykb.testing.shrinking import shrunk

GREAT = {
    "metadata": {"name": "a-long-name", "labels": {"a": "b"}},
    "spec": {"ports": [{"name": "x", "port": 8080}, {"name": "y", "port": 443}], "size": -1000, "on": True},
}


def test_only_what_matters_is_left() -> None:
    """Fields, items, and plain values for the rest."""

    def shows(wire: dict[str, Any]) -> bool:
        return any(port.get("port", 0) > 400 and "name" in port for port in wire.get("spec", {}).get("ports", []))

    assert shrunk(GREAT, shows) == {"spec": {"ports": [{"name": "", "port": 443}]}}


def test_what_cannot_be_smaller_stays() -> None:
    """And the object that was given is left as it is."""
    before = repr(GREAT)
    assert shrunk(GREAT, lambda wire: wire == GREAT) == GREAT
    assert repr(GREAT) == before


def test_values_become_plain() -> None:
    """The sign and the length of a value seldom matter."""
    assert shrunk({"a": "long", "b": -7}, lambda wire: wire.keys() == {"a", "b"}) == {"a": "", "b": 0}
