"""The faults, in the order of the table."""

from tests.chaos.faults.access import Conflicts, TokenRotated
from tests.chaos.faults.process import (
    ClockJumps,
    LeaderFrozen,
    LeaderKilled,
    ReconcileFails,
    ReconcileHangs,
    Terminated,
)
from tests.chaos.faults.server import (
    ApiserverKilled,
    Compacted,
    DefinitionDeleted,
    NamespaceDeleted,
    Overloaded,
    WatchStalled,
)
from tests.chaos.play import Fault

ALL: tuple[Fault, ...] = (
    ApiserverKilled(),
    Compacted(),
    WatchStalled(),
    LeaderKilled(),
    LeaderFrozen(),
    TokenRotated(plugin=False),
    TokenRotated(plugin=True),
    Conflicts(),
    Overloaded(),
    ReconcileHangs(),
    ReconcileFails(),
    Terminated(),
    DefinitionDeleted(),
    NamespaceDeleted(),
    ClockJumps(),
)

__all__ = ["ALL"]
