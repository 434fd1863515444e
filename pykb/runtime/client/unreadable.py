"""Reports objects that do not fit their type, and keeps them from hiding the others."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from pykb.api.unreadable import UnreadableObject
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime.client.codec import Kind, from_wire

logger = logging.getLogger(__name__)

REMEMBERED = 1024
"""How many versions of objects are remembered as logged. Older ones may be logged again."""


class UnreadableObjects:
    """Reports objects that do not fit their type: to the log once per version, to observers each time."""

    def __init__(self) -> None:
        self.observers: list[Callable[[GroupVersionKind], None]] = []
        self._told: OrderedDict[tuple[GroupVersionKind, object, str], None] = OrderedDict()

    def report(self, error: UnreadableObject) -> None:
        """Report an object that does not fit its type."""
        for observe in self.observers:
            observe(error.gvk)
        version = (error.gvk, error.key, error.resource_version)
        if version in self._told:
            self._told.move_to_end(version)
            return
        self._told[version] = None
        if len(self._told) > REMEMBERED:
            self._told.popitem(last=False)
        fields = {"kind": str(error.gvk), "object": str(error.key), "error": str(error), "help": error.remedy}
        if error.partial is None:
            logger.error("object does not fit its type, lists leave it out", extra=fields)
        else:
            logger.warning("object is being deleted and does not fit its type: read without these fields", extra=fields)

    def parser(self, kind: Kind) -> Callable[[dict[str, Any]], Any]:
        """Return a function that reads objects of a kind and reports those that cannot be read.

        The function raises :class:`~pykb.api.unreadable.UnreadableObject`.
        """

        def parse(wire: dict[str, Any]) -> Any:
            try:
                return from_wire(kind, wire)
            except UnreadableObject as error:
                self.report(error)
                raise

        return parse


def readable(
    parse: Callable[[dict[str, Any]], Any], wires: Iterable[dict[str, Any]]
) -> tuple[list[Any], list[UnreadableObject]]:
    """Return the objects that fit, and the errors of the others."""
    items: list[Any] = []
    unreadable: list[UnreadableObject] = []
    for wire in wires:
        try:
            items.append(parse(wire))
        except UnreadableObject as error:
            unreadable.append(error)
    return items, unreadable
