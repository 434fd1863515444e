"""A program's transforms and indexers: their bugs cost one object its trim or its place in an index, never the mirror."""

import logging
from datetime import timedelta

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.client.clock import VirtualClock
from pykb.runtime import CacheOptions, InformerCache, InformerOptions
from pykb.runtime._lasting import SILENCE
from pykb.runtime.cache._options import guarded_indexer, guarded_transform
from pykb.runtime.fake import fake_client

from .conftest import WIDGET, widget  # noqa: TID252 - shared by this folder only


def _drops_metadata(obj):
    obj.pop("metadata")
    raise RuntimeError("half-way")


def _drops_labels(obj):
    del obj["metadata"]["labels"]["x"]
    raise RuntimeError("half-way")


def _with(name, value):
    """A transform that sets a field of the metadata."""

    def transform(obj):
        obj["metadata"][name] = value
        return obj

    return transform


def _contains_itself(obj):
    obj["metadata"]["labels"]["self"] = obj
    return obj


@pytest.mark.parametrize(
    "transform",
    [
        lambda obj: obj["absent"],
        lambda obj: obj["metadata"].pop("labels", None),
        lambda _: {},
        lambda _: {"metadata": {}},
        lambda _: "text",
        _drops_metadata,
        _drops_labels,
        _contains_itself,
        _with("labels", {"a", "b"}),
        _with("annotations", {1: "one"}),
        _with("ownerReferences", 7),
        _with("ownerReferences", [{}]),
        _with("name", "other"),
    ],
)
def test_a_transform_that_fails_leaves_the_object_as_it_came(transform, caplog):
    """Whatever it raises, or gives instead of an object; the log names the object."""
    before = widget("a", metadata={"labels": {"x": "1"}})
    guard = guarded_transform(transform, WIDGET, VirtualClock())
    assert guard(widget("a", metadata={"labels": {"x": "1"}})) == before
    (record,) = caplog.records
    assert (record.levelno, record.object, record.kind) == (logging.ERROR, "default/a", str(WIDGET))
    assert record.function == f"{transform.__module__}.{transform.__qualname__}"


def test_what_is_not_json_is_named(caplog):
    """With its field."""
    guarded_transform(_with("labels", {"a"}), WIDGET, VirtualClock())(widget("a"))
    (record,) = caplog.records
    problem = "a transform must return JSON: `metadata.labels` has a `set`, which is not JSON"
    assert str(record.exc_info[1]) == problem


def test_an_object_that_the_writer_cannot_write_is_transformed(caplog):
    """The cache marks it afterwards."""
    deep = {"a": 1}
    for _ in range(300):
        deep = {"a": deep}
    guard = guarded_transform(_with("labels", None), WIDGET, VirtualClock())
    assert guard({**widget("a"), "spec": deep})["metadata"]["labels"] is None
    assert guard({**widget("a"), "spec": 2**70})["metadata"]["labels"] is None
    assert not caplog.records
    guard = guarded_transform(_with("labels", {"a"}), WIDGET, VirtualClock())
    assert "labels" not in guard({**widget("a"), "spec": deep})["metadata"]
    assert len(caplog.records) == 1


def test_a_cause_is_logged_once_per_hour(caplog):
    """Not for each object or event. Another cause is."""
    clock = VirtualClock()

    def trim(obj):
        if "spec" in obj:
            raise RuntimeError("another cause")
        raise LookupError(obj["metadata"]["name"])

    def logged():
        names = [record.object for record in caplog.records]
        caplog.clear()
        return names

    transform = guarded_transform(trim, WIDGET, clock)
    index = guarded_indexer(trim, "x", WIDGET, clock)
    for guard in (transform, index):
        for name in "abc":
            guard(widget(name))
        assert logged() == ["default/a"]
        guard(widget("d", spec={}))
        assert logged() == ["default/d"]
        clock.advance(SILENCE - timedelta(seconds=1))
        guard(widget("e"))
        assert logged() == []
        clock.advance(timedelta(seconds=1))
        guard(widget("f"))
        guard(widget("g"))
        assert logged() == ["default/f"]


def test_a_transform_that_works_is_believed():
    """Changing in place and returning, or making another."""

    def trim(obj):
        obj["metadata"].pop("uid")
        return obj

    assert "uid" not in guarded_transform(trim, WIDGET, VirtualClock())(widget("a"))["metadata"]
    assert guarded_transform(lambda obj: {**obj, "new": 1}, WIDGET, VirtualClock())(widget("a"))["new"] == 1


@pytest.mark.parametrize(
    ("gives", "values"),
    [
        (["a", "b"], ("a", "b")),
        ((), ()),
        (None, ()),
        ("web", ("web",)),
        ({"one": 1}, ("one",)),
        ((letter for letter in "ab"), ("a", "b")),
    ],
)
def test_an_indexer_gives_strings_or_one_or_none(gives, values, caplog):
    """A single string is one value and not its letters."""
    assert guarded_indexer(lambda _: gives, "x", WIDGET, VirtualClock())(widget("a")) == values
    assert not caplog.records


@pytest.mark.parametrize("indexer", [lambda obj: obj["absent"], lambda _: 5, lambda _: ["a", 5], lambda _: [None]])
def test_an_indexer_that_fails_finds_nothing(indexer, caplog):
    """What is no string could never be asked for; the log names index and object."""
    assert guarded_indexer(indexer, "spec.x", WIDGET, VirtualClock())(widget("a")) == ()
    (record,) = caplog.records
    assert "`spec.x`" in record.getMessage()
    assert record.object == "default/a"


async def test_a_mirror_outlives_the_bugs_of_what_it_was_given(caplog):
    """Two of three objects break the transform, one of them the indexers, too: all are there, the third is trimmed."""

    def trim(obj):
        del obj["data"]["big"]
        if "odd" in obj["data"]:
            obj["data"]["odd"] = {1, 2}
        return obj

    def by_color(obj):
        return obj["data"]["color"]

    options = CacheOptions(default=InformerOptions(transform=trim, indexers={"color": by_color}))
    good = ConfigMap(metadata=ObjectMeta(name="good", namespace="default"), data={"big": "x", "color": "red"})
    bad = ConfigMap(metadata=ObjectMeta(name="bad", namespace="default"), data={"other": "y"})
    odd = ConfigMap(
        metadata=ObjectMeta(name="odd", namespace="default"), data={"big": "x", "odd": "y", "color": "blue"}
    )
    async with InformerCache.of(fake_client(good, bad, odd), options) as informers:
        lister = informers.lister(ConfigMap)
        informers.add_index(ConfigMap, "again", by_color)
        await informers.wait_for_sync()
        assert {item.metadata.name: item.data for item in lister.list()} == {
            "good": {"color": "red"},
            "bad": {"other": "y"},
            "odd": {"big": "x", "odd": "y", "color": "blue"},
        }
        for index in ("color", "again"):
            assert [item.metadata.name for item in lister.list(fields={index: "red"})] == ["good"]
    assert {record.object for record in caplog.records} == {"default/bad", "default/odd"}
