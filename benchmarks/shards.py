"""Sharding without a cluster: how evenly objects are distributed, what moves, and what the Leases cost.

    python -m benchmarks.shards [--objects 1000000] [--ranges 64] [--members 16]

Hashes random uids, and lets the members act by turns as the manager does, without processes.
"""

from __future__ import annotations

import argparse
import random
import sys
import uuid
from collections import Counter
from collections.abc import Collection, Sequence

from pykb.client.ranges import Ranges
from pykb.runtime.sharding._board import FREE, plan

PERIOD = 2.0
"""Seconds between two renewals, and between two lists of the Leases."""
LEASE_BYTES = 620
"""The size of one Lease in a list."""
_MOST_ROUNDS = 10


def settle(members: Collection[str], holders: Sequence[str]) -> tuple[list[str], int, int]:
    """Let members act one after another until nothing is due. Return the holders, the moves and the rounds.

    Raises:
        RuntimeError: Something is due again and again.
    """
    now, moves = list(holders), 0
    for rounds in range(_MOST_ROUNDS):
        before = list(now)
        for me in members:
            due = plan(me, members, now)
            for number in due.give:
                now[number] = FREE
            for number in due.take:
                now[number] = me
                moves += 1
        if now == before:
            return now, moves, rounds
    raise RuntimeError("it does not settle")


def spread(counts: Collection[int]) -> str:
    """The smallest and the largest of some numbers, and how far the largest is above the mean."""
    mean = sum(counts) / len(counts)
    return f"{min(counts):,} to {max(counts):,} (mean {mean:,.0f}, largest {max(counts) / mean - 1:+.1%})"


def main(arguments: list[str] | None = None) -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=int, default=1_000_000)
    parser.add_argument("--ranges", type=int, default=64)
    parser.add_argument("--members", type=int, default=16)
    options = parser.parse_args(arguments if arguments is not None else [])
    ranges, source = Ranges(options.ranges), random.Random(1)
    uids = (str(uuid.UUID(int=source.getrandbits(128), version=4)) for _ in range(options.objects))
    objects = Counter(ranges.of(uid) for uid in uids)
    members = [f"member-{number}" for number in range(options.members)]
    holders, _, _ = settle(members, [FREE] * options.ranges)
    loads: Counter[str] = Counter()
    for number, holder in enumerate(holders):
        loads[holder] += objects[number]
    print(f"objects of a range:   {spread([objects[number] for number in range(options.ranges)])}")
    print(f"objects of a member:  {spread([loads[member] for member in members])}")
    print(f"ranges of a member:   {spread([holders.count(member) for member in members])}")
    joined, moves, rounds = settle([*members, "new"], holders)
    print(f"one member joins:     {moves} of {options.ranges} ranges move, in {rounds} round(s)")
    _, moves, rounds = settle(members, joined)
    print(f"it leaves again:      {moves} of {options.ranges} ranges move, in {rounds} round(s)")
    halved, moves, rounds = settle(members[: options.members // 2], holders)
    print(f"half of them leave:   {moves} of {options.ranges} ranges move, in {rounds} round(s)")
    rate = options.members / PERIOD
    listed = (options.members + options.ranges) * LEASE_BYTES
    print(f"requests for Leases:  {rate:g} writes and {rate:g} lists per second, {listed / 1024:.0f} KiB a list")
    print(f"one Lease a range would take {options.ranges / PERIOD:g} writes per second")
    assert len(halved) == options.ranges


if __name__ == "__main__":
    main(sys.argv[1:])
