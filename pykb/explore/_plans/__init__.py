"""The histories to run for each code, and what must hold in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pykb.diagnostics.codes import explore as codes
from pykb.explore._context import Context
from pykb.explore._plans.changes import bug, history
from pykb.explore._plans.drift import drift
from pykb.explore._plans.faults import crash, error, leader, two_faults
from pykb.explore._plans.leak import leak
from pykb.explore._plans.loop import loop
from pykb.explore._plans.shards import shards
from pykb.explore._plans.theft import theft
from pykb.explore._plans.upgrade import upgrade
from pykb.explore._plans.views import stale, unseen
from pykb.explore._verdicts import Case

PLANS: dict[str, Callable[[Context], Iterator[Case]]] = {
    codes.LOOP.slug: loop,
    codes.CRASH.slug: crash,
    codes.ERROR.slug: error,
    codes.HISTORY.slug: history,
    codes.UPGRADE.slug: upgrade,
    codes.LEAK.slug: leak,
    codes.THEFT.slug: theft,
    codes.DRIFT.slug: drift,
    codes.STALE.slug: stale,
    codes.LEADER.slug: leader,
    codes.UNSEEN.slug: unseen,
    codes.SHARDS.slug: shards,
    codes.BUG.slug: bug,
    codes.TWO_FAULTS.slug: two_faults,
}
"""The plan of each code, the most telling first."""

LAST = (codes.TWO_FAULTS.slug,)
"""Codes that are looked for after all others: their histories are worth it only if the simpler ones are right."""

CODES = (*PLANS, codes.RBAC.slug, codes.INVARIANT.slug)
"""All codes. Access control and invariants are checked in the histories of all plans."""
