"""kopf's handlers in the explorer: they do not run, and it says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pykb.diagnostics import Diagnostic
from pykb.diagnostics.codes.explore import KOPF_HANDLERS
from pykb.explore._webhooks import place_of
from pykb.runtime import Manager

if TYPE_CHECKING:
    from pykb.runtime._kopf import OperatorRegistry

_REMEDY = "test them with `call_handler` of `pykb.testing`, or on a local control plane"


class ExploredManager(Manager):
    """A manager that accepts kopf's handlers, and does not run them."""

    def add_kopf_handlers(self, registry: OperatorRegistry | None = None) -> None:
        """Note the registry."""
        self._kopf_registries.append(registry)

    def unexplored(self, root: Path | None) -> Iterator[Diagnostic]:
        """A note for each resource with handlers in a folder."""
        if "kopf" not in sys.modules:
            return
        from pykb.runtime._kopf import handled

        for resource, handlers in handled(self._kopf_registries).items():
            places = [(decorator, place_of(function, root)) for decorator, function in handlers]
            own = [(decorator, place) for decorator, place in places if place is not None]
            if own:
                names = ", ".join(dict.fromkeys(decorator for decorator, _ in own))
                message = f"kopf's handlers of {resource} are not explored: {names}"
                yield KOPF_HANDLERS.at(own[0][1].span, message, help=(_REMEDY,))
