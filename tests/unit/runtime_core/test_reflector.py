"""Reflectors and informers: the mirror is what was last listed and watched, whatever broke in between."""

import asyncio
import copy
import itertools
import logging
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykb.client.clock import VirtualClock
from pykb.client.json_text import CUT
from pykb.client.listwatch import LISTED
from pykb.meta.gvk import NamespacedName
from pykb.runtime.cache._options import InformerOptions
from pykb.runtime.cache.event import EventType
from pykb.runtime.cache.informer import CacheSyncTimeout, Informer

from .conftest import (  # noqa: TID252 - shared by this folder only
    WIDGET,
    Script,
    happened,
    listed,
    refused,
    target,
    turn,
    widget,
)


class Heard(list):
    """Records events as (type, name, resource versions before and after, initial)."""

    def __call__(self, event):
        old = event.raw_old["metadata"]["resourceVersion"] if event.type is EventType.UPDATE else None
        self.append((str(event.type), event.name, old, event.raw["metadata"]["resourceVersion"]))


def informer(clock=None, **options):
    """A mirror on a virtual clock."""
    return Informer(
        WIDGET, lambda raw: raw, InformerOptions(**({"resync": None} | options)), clock=clock or VirtualClock()
    )


async def play(running, *streams, mirror=None, clock=None):
    """Run streams one after the other, with a minute between them."""
    clock = clock or VirtualClock()
    mirror = mirror or informer(clock)
    heard = Heard()
    mirror.add_handler(heard)
    running(mirror.run(Script(*streams), [target()]))
    for _ in range(len(streams) + 1):
        await turn()
        clock.advance(timedelta(minutes=1))
    await turn()
    return mirror, heard


def known(mirror):
    """The names in a mirror."""
    return sorted(key.name for key in mirror.store.all_keys())


async def test_the_first_list_is_reported_as_created_and_initial(running):
    """Every object that exists wakes its reconciler once at the start."""
    mirror = informer()
    initial = []
    mirror.add_handler(lambda event: initial.append((event.name, event.initial)))
    running(mirror.run(Script([*listed(widget("a")), happened("ADDED", widget("b", "2")), Script.HANG]), [target()]))
    await turn()
    assert initial == [("a", True), ("b", False)]


async def test_an_update_has_the_object_before_and_after(running):
    """Predicates compare the two."""
    _, heard = await play(running, [*listed(widget("a")), happened("MODIFIED", widget("a", "2")), Script.HANG])
    assert heard[-1] == ("update", "a", "1", "2")


async def test_a_deletion_missed_while_disconnected_is_reported_after_the_next_list(running):
    """The list replaces: what is not in it is gone (kopf alone would keep it for ever)."""
    mirror, heard = await play(
        running, listed(widget("a"), widget("b"), widget("c")), [*listed(widget("a"), widget("c", "5")), Script.HANG]
    )
    assert ("delete", "b", None, "1") in heard
    assert ("update", "c", "1", "5") in heard
    assert known(mirror) == ["a", "c"]


async def test_an_object_replaced_while_disconnected_is_reported_as_deleted_and_created(running):
    """Predicates would find no change in another object of the name: its generation begins at 1 again, too."""
    new = widget("a", "5", metadata={"uid": "another", "generation": 1})
    first = widget("a", metadata={"generation": 1})
    mirror, heard = await play(running, listed(first, widget("b")), [*listed(new, widget("b", "6")), Script.HANG])
    assert heard[2:] == [("delete", "a", None, "1"), ("create", "a", None, "5"), ("update", "b", "1", "6")]
    assert known(mirror) == ["a", "b"]


async def test_an_empty_list_deletes_everything(running):
    """Nothing listed is a list too."""
    mirror, heard = await play(running, listed(widget("a")), [*listed(), Script.HANG])
    assert known(mirror) == []
    assert heard[-1][:2] == ("delete", "a")


async def test_a_list_that_broke_off_deletes_nothing(running):
    """Without its end mark a list says nothing about what it did not name, nor does the next list inherit its part."""
    mirror, heard = await play(
        running,
        listed(widget("a"), widget("b")),
        [happened(None, widget("a"))],
        [happened(None, widget("b")), refused(500)],
        [*listed(widget("a")), Script.HANG],
    )
    assert known(mirror) == ["a"]
    assert [entry[1] for entry in heard if entry[0] == "delete"] == ["b"]


async def test_another_namespace_is_not_replaced():
    """Each reflector replaces its own namespace only."""
    mirror = informer()
    for name, namespace in (("a", "one"), ("b", "two")):
        mirror.upsert(NamespacedName(namespace, name), widget(name, namespace=namespace), listed=True)
    assert mirror.known("one") == [NamespacedName("one", "a")]


async def test_the_list_of_all_other_namespaces_replaces_only_those(running):
    """What another reflector of the mirror is about is neither listed nor gone."""
    mirror = informer()
    for name, namespace in (("a", "one"), ("b", "two")):
        mirror.upsert(NamespacedName(namespace, name), widget(name, namespace=namespace), listed=True)
    others = replace(target(), excluded=("one",))
    running(mirror.run(Script([*listed(widget("c", namespace="three")), Script.HANG]), [others]))
    await turn()
    assert known(mirror) == ["a", "c"]


async def test_errors_are_survived_and_named(running, caplog):
    """A refused list is tried again with growing pauses, and told in the log and at a sync timeout."""
    caplog.set_level(logging.WARNING)
    _, heard = await play(running, [refused()], [ValueError("bug")], [*listed(widget("a")), Script.HANG])
    assert heard == [("create", "a", None, "1")]
    assert [record.getMessage() for record in caplog.records] == ["cannot watch", "watch ended unexpectedly"]


async def test_pauses_grow_and_are_reset_by_a_complete_list(running):
    """100 ms doubled up to 30 s, with jitter; a list that worked starts over."""
    clock = VirtualClock()
    script = Script([refused()], [refused()], listed(), [refused()])
    running(informer(clock).run(script, [target()]))
    await turn()
    for number, pause in enumerate((0.1, 0.2, 0.1, 0.2), start=1):
        assert script.started == number
        clock.advance(timedelta(seconds=pause * 0.99))
        await turn()
        assert script.started == number
        clock.advance(timedelta(seconds=pause * 0.52))
        await turn()
    assert script.started == 5


async def test_bookmarks_are_signs_of_life_only(running):
    """They change nothing but the time since the server was last heard."""
    mirror, heard = await play(
        running, [*listed(), happened("BOOKMARK", {"metadata": {"resourceVersion": "9"}}), Script.HANG]
    )
    assert heard == []
    assert known(mirror) == []


async def test_waiting_for_sync_ends_with_the_first_list(running):
    """Controllers start when what exists is known."""
    mirror = informer()
    running(mirror.run(Script([LISTED, Script.HANG]), [target()]))
    await mirror.wait_for_sync(timedelta(seconds=5))
    assert mirror.has_synced


async def test_a_sync_that_never_comes_is_an_error_with_the_reason(running):
    """The message has the last problem of the watch, so that missing RBAC is seen at once."""
    mirror = informer()
    running(mirror.run(Script([refused()]), [target()]))
    with pytest.raises(CacheSyncTimeout, match=r"no list of example.com/v1 Widget.*widgets is forbidden"):
        await mirror.wait_for_sync(timedelta(milliseconds=50))


async def test_a_late_handler_hears_of_what_is_known(running):
    """Informers are shared: whoever comes later starts with the present."""
    mirror, _ = await play(running, [*listed(widget("a"), widget("b")), Script.HANG])
    late = []
    registration = mirror.add_handler(lambda event: late.append((event.type, event.name, event.initial)))
    assert late == [(EventType.CREATE, "a", True), (EventType.CREATE, "b", True)]
    registration.remove()
    mirror.upsert(NamespacedName("default", "c"), widget("c"), listed=False)
    assert len(late) == 2


async def test_one_failing_handler_does_not_silence_the_others(running):
    """A handler's bug is logged and stays its own."""
    mirror = informer()
    heard = Heard()
    mirror.add_handler(lambda event: 1 / 0)
    mirror.add_handler(heard)
    mirror.upsert(NamespacedName("default", "a"), widget("a"), listed=False)
    assert len(heard) == 1


async def test_a_resync_reports_every_object_as_unchanged(running):
    """The period is that of the options; the event is an update whose versions are equal."""
    clock = VirtualClock()
    mirror = informer(clock, resync=timedelta(hours=10))
    unchanged = []
    mirror.add_handler(lambda event: unchanged.append((event.name, event.unchanged)))
    running(mirror.run(Script([*listed(widget("a"), widget("b")), Script.HANG]), [target()]))
    await turn()
    clock.advance(timedelta(hours=10))
    await turn()
    assert unchanged == [("a", False), ("b", False), ("a", True), ("b", True)]


async def test_a_transform_is_applied_before_anybody_sees_the_object(running):
    """Stored, and told to handlers, is the trimmed form; by default without managedFields."""
    raw = widget("a", metadata={"managedFields": [{"manager": "x"}]}, spec={"secret": 1})
    mirror, _ = await play(running, [*listed(copy.deepcopy(raw)), Script.HANG])
    assert "managedFields" not in mirror.store.get(NamespacedName("default", "a"))["metadata"]

    def drop_spec(obj):
        del obj["spec"]
        return obj

    mirror, _ = await play(running, [*listed(copy.deepcopy(raw)), Script.HANG], mirror=informer(transform=drop_spec))
    assert "spec" not in mirror.store.get(NamespacedName("default", "a"))


async def test_an_object_that_is_nested_too_deeply_is_indexed_by_what_is_left_of_it():
    """The mirror has it without its deepest values. It heals, and goes, and no index finds it then."""
    deep = 1
    for _ in range(300):
        deep = {"a": deep}

    def size_and_depth(raw):
        depth, inner = 0, raw["spec"].get("x")
        while isinstance(inner, dict):
            depth, inner = depth + 1, inner.get("a")
        return [str(raw["spec"]["size"]), f"depth {depth}"]

    mirror = informer(indexers={"depth": size_and_depth})
    heard = Heard()
    mirror.add_handler(heard)
    key = NamespacedName("default", "a")

    def found(value):
        return [raw["metadata"]["name"] for raw in mirror.store.select(fields={"depth": value})]

    mirror.upsert(key, widget("a", "1", spec={"size": 1, "x": deep}), listed=True)
    assert (found("1"), found("depth 300"), CUT in mirror.store.get(key)) == (["a"], [], True)
    mirror.upsert(key, widget("a", "2", spec={"size": 2}), listed=False)
    assert (found("1"), found("2"), found("depth 0"), CUT in mirror.store.get(key)) == ([], ["a"], ["a"], False)
    mirror.upsert(key, widget("a", "3", spec={"size": 1e20, "x": 10**20}), listed=False)
    assert mirror.store.get(key)["spec"]["x"] == 1e20
    mirror.upsert(key, widget("a", "4", spec={"size": 3, "x": deep}), listed=False)
    mirror.remove(key, widget("a", "5", spec={"size": 3, "x": deep}))
    assert [found(value) for value in ("1", "2", "3", "depth 300", "depth 248")] == [[]] * 5
    assert [kind for kind, *_ in heard] == ["create", "update", "update", "update", "delete"]


# Histories: what the server holds changes; the reflector sees lists (complete or broken off) and watch events.
NAMES = st.sampled_from("abcd")
HISTORY = st.lists(
    st.one_of(
        st.tuples(st.just("set"), NAMES),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.just("disconnect"), st.booleans()),
        st.tuples(st.just("broken list"), st.integers(0, 3)),
    ),
    max_size=30,
)


@given(HISTORY)
@settings(deadline=None, max_examples=200)
def test_after_any_history_the_mirror_is_the_server_and_handlers_heard_it_all(history):
    """However lists and watches break, in the end the mirror and a handler that only adds up events hold what exists."""
    mirror = informer()
    seen = {}

    def add_up(event):
        if event.type is EventType.DELETE:
            assert event.name in seen, "a deletion of what was never reported"
            del seen[event.name]
        else:
            assert (event.name in seen) == (event.type is EventType.UPDATE)
            seen[event.name] = event.raw["metadata"]["resourceVersion"]

    mirror.add_handler(add_up)
    server, streams, current, connected = {}, [], [LISTED], True
    for version, (step, value) in enumerate(history):
        if step == "set":
            kind = "MODIFIED" if value in server else "ADDED"
            server[value] = str(version)
            if connected:
                current.append(happened(kind, widget(value, str(version))))
        elif step == "delete" and value in server:
            del server[value]
            if connected:
                current.append(happened("DELETED", widget(value, str(version))))
        elif step == "disconnect":
            streams.append(current)
            connected = value
            current = listed(*(widget(n, v) for n, v in server.items())) if connected else []
        elif step == "broken list":
            streams.append(current)
            streams.append([happened(None, widget(n, v)) for n, v in list(server.items())[:value]])
            connected, current = False, []
    streams.append(current)
    streams.append([*listed(*(widget(n, v) for n, v in server.items())), Script.HANG])

    import asyncio

    async def scenario():
        clock = VirtualClock()
        mirror._clock = clock
        task = asyncio.ensure_future(mirror.run(Script(*streams), [target()]))
        for _ in range(len(streams) + 1):
            await turn(80)
            clock.advance(timedelta(minutes=1))
        await turn(80)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())
    assert seen == server
    assert known(mirror) == sorted(server)


async def test_a_forbidden_list_is_an_error_in_the_log_at_once_and_not_over_and_over(running, caplog):
    """The first pauses are short: the same refusal is told again after half a minute, or after a success."""
    caplog.set_level(logging.WARNING)
    clock = VirtualClock()
    running(informer(clock).run(Script(*[[refused()]] * 12, listed(), [refused()]), [target()]))
    told = []
    for _ in range(60):
        await turn()
        told += [(clock.now(), record.levelname) for record in caplog.records if record.getMessage() == "cannot watch"]
        caplog.clear()
        clock.advance(timedelta(seconds=10))
    times = [when for when, _ in told]
    *pauses, after_success = (later - earlier for earlier, later in itertools.pairwise(times))
    assert times[0] == 0
    assert 3 < len(pauses) < 11
    assert min(pauses) >= 30
    assert after_success <= 60
    assert {level for _, level in told} == {"ERROR"}


async def test_a_watch_that_is_not_heard_is_reported_once(running, caplog):
    """A bookmark comes every minute; three minutes without are a stall, and its end is told too."""
    caplog.set_level(logging.INFO, logger="pykb.runtime.cache.reflector")
    clock, heard = VirtualClock(), asyncio.Event()

    class Silent:
        async def stream(self, watched):
            yield LISTED
            await heard.wait()
            yield {"type": "BOOKMARK", "object": widget("", "9")}
            await asyncio.get_running_loop().create_future()

    mirror = informer(clock)
    running(mirror.run(Silent(), [target()]))

    async def after(minutes):
        for _ in range(int(minutes * 2)):
            await turn()
            clock.advance(timedelta(seconds=30))
        await turn()
        return [record.getMessage() for record in caplog.records]

    assert await after(2.5) == []
    assert await after(10) == ["watch is silent"]
    assert mirror.silent_for == timedelta(minutes=12.5)
    heard.set()
    assert await after(1) == ["watch is silent", "watch is no longer silent"]


async def test_failures_of_lists_and_watches_are_counted(running):
    """For a metric."""
    mirror, _ = await play(running, [refused()], [ValueError("bug")], listed(), [*listed(), Script.HANG])
    assert mirror.failures == 2


async def test_a_list_does_not_hold_up_the_loop(running):
    """A page is there at once, and its handlers take their time: others run in between."""
    mirror = informer()
    running(mirror.run(Script([*listed(*(widget(f"w{number}") for number in range(1000))), Script.HANG]), [target()]))
    turns = 0
    while not mirror.has_synced:
        turns += 1
        await asyncio.sleep(0)
    assert turns > 50


async def test_objects_that_are_known_do_not_hold_up_the_loop(running):
    """A controller that starts late hears of each, once; others run in between, and changes come through."""
    mirror = informer()
    for number in range(1000):
        mirror.upsert(NamespacedName("default", f"w{number}"), widget(f"w{number}"), listed=True)
    heard = Heard()
    listening = running(mirror.listen(heard))
    turns = 0
    while not listening.done():
        turns += 1
        if turns == 10:
            mirror.upsert(NamespacedName("default", "w999"), widget("w999", "2"), listed=False)
        await asyncio.sleep(0)
    assert turns > 50
    assert sorted({name for _, name, *_ in heard}) == sorted(f"w{number}" for number in range(1000))
    assert ("update", "w999", "1", "2") in heard
    listening.result().remove()
    assert not mirror.registrations


async def test_who_gives_up_listening_hears_no_more(running):
    """Also while the known objects are still being told."""
    mirror = informer()
    for number in range(100):
        mirror.upsert(NamespacedName("default", f"w{number}"), widget(f"w{number}"), listed=True)
    listening = running(mirror.listen(Heard()))
    await asyncio.sleep(0)
    assert mirror.registrations
    listening.cancel()
    await asyncio.wait([listening])
    assert not mirror.registrations
