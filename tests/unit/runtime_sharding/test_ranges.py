"""Ranges of hashes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.client.ranges import Ranges, ShardBy, hash_of


@pytest.mark.parametrize(
    ("text", "expected"), [("", 0xCBF29CE484222325), ("a", 0xAF63DC4C8601EC8C), ("foobar", 0x85944171F73967E8)]
)
def test_the_hash_is_fnv_1a(text: str, expected: int):
    """Its authors publish these values: http://www.isthe.com/chongo/tech/comp/fnv/."""
    assert hash_of(text) == expected


@given(st.integers(1, 300), st.text())
def test_each_text_is_in_one_range_and_its_bounds_agree(count: int, text: str):
    """The range by number is the only one whose bounds hold the hash."""
    ranges = Ranges(count)
    found = [number for number in range(count) if ranges.bounds(number)[0] <= hash_of(text) < ranges.bounds(number)[1]]
    assert found == [ranges.of(text)]


@pytest.mark.parametrize("count", [1, 3, 64])
def test_ranges_leave_no_hash_out(count: int):
    """Each begins where the one before ends."""
    ends = [Ranges(count).bounds(number) for number in range(count)]
    assert [start for start, _ in ends] == [0, *(end for _, end in ends[:-1])]
    assert ends[-1][1] == 1 << 64


def test_the_selector_has_the_form_that_the_api_server_reads():
    """16 digits at least: it refuses fewer."""
    assert Ranges(2).selector(0) == "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
    last = Ranges(2, ShardBy.NAMESPACE).selector(1)
    assert last == "shardRange(object.metadata.namespace, '0x8000000000000000', '0x10000000000000000')"


def test_an_object_is_found_by_its_uid_or_namespace():
    """A cluster-scoped object has the empty namespace."""
    metadata = {"uid": "a", "namespace": "b"}
    assert Ranges(1000).of_object(metadata) == Ranges(1000).of("a")
    assert Ranges(1000, ShardBy.NAMESPACE).of_object(metadata) == Ranges(1000).of("b")
    assert Ranges(1000, ShardBy.NAMESPACE).of_object({"uid": "a"}) == Ranges(1000).of("")


@pytest.mark.parametrize("count", [0, -1, 5000])
def test_a_senseless_number_is_refused(count: int):
    """Each range costs a Lease and watches."""
    with pytest.raises(ValueError, match="between 1 and 4096"):
        Ranges(count)
