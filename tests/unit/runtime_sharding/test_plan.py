"""Who takes and gives up which ranges."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.shards import settle
from pykb.runtime.sharding._board import FREE, plan, shares

NAMES = st.sampled_from([f"member-{number}" for number in range(12)])
MEMBERS = st.sets(NAMES, min_size=1)
HOLDERS = st.lists(NAMES | st.just(FREE), min_size=1, max_size=40)


@given(MEMBERS, HOLDERS)
def test_members_with_the_same_view_never_want_the_same_range(members: set[str], holders: list[str]):
    """A range is taken by one member, and only if no living member holds it. Members give up only what they hold."""
    plans = {me: plan(me, members, holders) for me in members}
    taken = [number for each in plans.values() for number in each.take]
    assert len(taken) == len(set(taken))
    assert all(holders[number] not in members for number in taken)
    assert all(holders[number] == me for me, each in plans.items() for number in each.give)


@given(MEMBERS, HOLDERS)
def test_it_settles_with_fair_shares(members: set[str], holders: list[str]):
    """Whatever the beginning, all ranges are held in the end, and the shares differ by one at most."""
    after, *_ = settle(sorted(members), holders)
    held = [after.count(member) for member in members]
    assert sum(held) == len(holders)
    assert max(held) - min(held) <= 1


@given(MEMBERS, HOLDERS)
def test_only_what_is_free_or_too_much_moves(members: set[str], holders: list[str]):
    """No member gives up a range and gets another one for it."""
    wanted = shares(members, holders)
    held = Counter(holders)
    free = sum(holder not in members for holder in holders)
    surplus = sum(max(0, held[member] - wanted[member]) for member in members)
    after, moves, _ = settle(sorted(members), holders)
    assert moves == free + surplus
    changed = sum(1 for old, new in zip(holders, after, strict=True) if old != new)
    assert changed == moves


@given(st.integers(1, 40), st.integers(1, 12))
@settings(max_examples=30)
def test_a_member_that_joins_moves_no_more_than_its_share(count: int, members: int):
    """And one that leaves moves no more than it had."""
    names = {f"member-{number}" for number in range(members)}
    before, *_ = settle(sorted(names), [FREE] * count)
    joined, moves, _ = settle(sorted(names | {"new"}), before)
    assert moves == joined.count("new") <= -(-count // (members + 1))
    left, moves, _ = settle(sorted(names), joined)
    assert moves == joined.count("new")
    assert "new" not in left


@given(st.data())
@settings(max_examples=30)
def test_old_views_delay_but_do_not_break_it(data: st.DataObject):
    """Members act on what they saw some steps ago. Compare-and-swap keeps them from each other, and it settles."""
    members = [f"member-{number}" for number in range(data.draw(st.integers(1, 8)))]
    holders = [FREE] * data.draw(st.integers(1, 20))
    views = [list(holders)]
    for _ in range(60):
        me = data.draw(st.sampled_from(members))
        alive = set(data.draw(st.sets(st.sampled_from(members)))) | {me}
        seen = views[-data.draw(st.integers(1, min(5, len(views))))]
        # A member knows for itself what it holds.
        seen = [me if now == me else (FREE if then == me else then) for then, now in zip(seen, holders, strict=True)]
        mine = plan(me, alive, seen)
        for number in mine.give:
            holders[number] = FREE
        for number in mine.take:
            if holders[number] == seen[number]:
                holders[number] = me
        views.append(list(holders))
    after, *_ = settle(sorted(set(members)), holders)
    assert FREE not in after


@pytest.mark.parametrize(("count", "members"), [(2, 5), (1, 50), (64, 16), (64, 50)])
def test_more_members_than_ranges_are_no_problem(count: int, members: int):
    """Those without a range wait for one."""
    after, moves, _ = settle(sorted({f"member-{number}" for number in range(members)}), [FREE] * count)
    assert moves == count
    assert max(Counter(after).values()) == -(-count // members)
