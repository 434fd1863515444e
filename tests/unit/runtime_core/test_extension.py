"""A program's transforms and indexers: their bugs cost one object its trim or its place in an index, never the mirror."""

import logging

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import CacheOptions, InformerCache, InformerOptions
from pykb.runtime.cache._options import guarded_indexer, guarded_transform
from pykb.runtime.fake import fake_client

from .conftest import WIDGET, widget  # noqa: TID252 - shared by this folder only


def _drops_metadata(obj):
    obj.pop("metadata")
    raise RuntimeError("half-way")


@pytest.mark.parametrize(
    "transform",
    [
        lambda obj: obj["absent"],
        lambda obj: obj["metadata"].pop("labels", None),
        lambda _: {},
        lambda _: {"metadata": {}},
        lambda _: "text",
        _drops_metadata,
    ],
)
def test_a_transform_that_fails_leaves_the_object_as_it_came(transform, caplog):
    """Whatever it raises, or gives instead of an object; the log names the object."""
    before = widget("a", metadata={"labels": {"x": "1"}})
    assert guarded_transform(transform, WIDGET)(widget("a", metadata={"labels": {"x": "1"}})) == before
    (record,) = caplog.records
    assert (record.levelno, record.object) == (logging.ERROR, "default/a")


def test_a_transform_that_works_is_believed():
    """Changing in place and returning, or making another."""

    def trim(obj):
        obj["metadata"].pop("uid")
        return obj

    assert "uid" not in guarded_transform(trim, WIDGET)(widget("a"))["metadata"]
    assert guarded_transform(lambda obj: {**obj, "new": 1}, WIDGET)(widget("a"))["new"] == 1


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
    assert guarded_indexer(lambda _: gives, "x", WIDGET)(widget("a")) == values
    assert not caplog.records


@pytest.mark.parametrize("indexer", [lambda obj: obj["absent"], lambda _: 5, lambda _: ["a", 5], lambda _: [None]])
def test_an_indexer_that_fails_finds_nothing(indexer, caplog):
    """What is no string could never be asked for; the log names index and object."""
    assert guarded_indexer(indexer, "spec.x", WIDGET)(widget("a")) == ()
    (record,) = caplog.records
    assert "`spec.x`" in record.getMessage()
    assert record.object == "default/a"


async def test_a_mirror_outlives_the_bugs_of_what_it_was_given(caplog):
    """Of two objects one breaks the transform and both indexers: both are there, the other is trimmed and found."""

    def trim(obj):
        del obj["data"]["big"]
        return obj

    def by_color(obj):
        return obj["data"]["color"]

    options = CacheOptions(default=InformerOptions(transform=trim, indexers={"color": by_color}))
    good = ConfigMap(metadata=ObjectMeta(name="good", namespace="default"), data={"big": "x", "color": "red"})
    bad = ConfigMap(metadata=ObjectMeta(name="bad", namespace="default"), data={"other": "y"})
    async with InformerCache.of(fake_client(good, bad), options) as informers:
        lister = informers.lister(ConfigMap)
        informers.add_index(ConfigMap, "again", by_color)
        await informers.wait_for_sync()
        assert {item.metadata.name: item.data for item in lister.list()} == {
            "good": {"color": "red"},
            "bad": {"other": "y"},
        }
        for index in ("color", "again"):
            assert [item.metadata.name for item in lister.list(fields={index: "red"})] == ["good"]
    assert {record.object for record in caplog.records} == {"default/bad"}
