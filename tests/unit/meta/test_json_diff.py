"""What differs between two values leads from one to the other, whoever looks."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.client.patches import merge_diff
from pykb.fake._merge import merge_patch
from pykb.meta.json_diff import MISSING, Change, changes, sorted_changes

plain = st.none() | st.integers(-2, 2) | st.text("ab", max_size=2)
names = st.text("ab.", max_size=2)


def values_of(leaves):
    """JSON values with these leaves."""
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=10
    )


values = values_of(plain)
objects_without_null = st.dictionaries(names, values_of(st.booleans() | st.integers(-1, 1)), max_size=4)


def applied(value, found):
    """The value after these changes."""
    value = copy.deepcopy(value)
    for path, _, after in found:
        if not path:
            return after
        *above, last = path
        parent = value
        for step in above:
            parent = parent[step]
        if after is MISSING:
            del parent[last]
        else:
            parent[last] = after
    return value


@given(values, values)
def test_the_changes_make_the_one_from_the_other(before, after):
    """And none is there that is not needed."""
    found = changes([before], [after])
    assert applied([before], found) == [after]
    assert all(change.before != change.after for change in found)
    assert len({change.path for change in found}) == len(found)


@given(objects_without_null, objects_without_null)
def test_a_merge_patch_makes_the_one_from_the_other(before, after):
    """Without nulls, which a merge patch cannot set. In JSON, `true` is not 1."""
    patched = merge_patch(before, merge_diff(before, after))
    assert repr_of(patched) == repr_of(after)


def repr_of(value):
    """A text that tells `True` from 1, whatever the order of names. Within arrays, Python's equality counts."""
    if isinstance(value, dict):
        return sorted((name, repr_of(each)) for name, each in value.items())
    return value if isinstance(value, list) else repr(value)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, [(("a",), 1, None), (("b",), 2, 3), (("c",), None, 4)]),
        ({"a": [{"b": 1}, 2]}, {"a": [{"b": 2}, 2]}, [(("a", 0, "b"), 1, 2)]),
        ({"a": [1]}, {"a": [1, 2]}, [(("a",), [1], [1, 2])]),
        ({"a": None}, {}, []),
        ({"a": None}, {"a": {}}, [(("a",), None, {})]),
        (1, {"a": 1}, [((), 1, {"a": 1})]),
    ],
)
def test_sorted_changes_take_a_missing_field_for_a_null(before, after, found):
    """In the order of their paths."""
    assert sorted_changes(before, after) == [Change(*each) for each in found]
