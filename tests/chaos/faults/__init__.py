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
from tests.chaos.faults.sharded import (
    ClockOfOneJumps,
    GateLost,
    LeasesLate,
    MemberFrozen,
    MemberKilled,
    MembersComeAndGo,
    Sharded,
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

SHARDED: tuple[Fault, ...] = (
    *(Sharded(fault) for fault in ALL if not isinstance(fault, (LeaderKilled, LeaderFrozen, ClockJumps))),
    MemberKilled(),
    MemberFrozen(),
    MembersComeAndGo(),
    LeasesLate(),
    ClockOfOneJumps(),
    GateLost(),
)
QUICK: tuple[Fault, ...] = (MemberFrozen(), MembersComeAndGo())
"""Those of them that each run of all tests plays. The others are slow."""

__all__ = ["ALL", "QUICK", "SHARDED"]
