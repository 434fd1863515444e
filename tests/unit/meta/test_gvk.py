"""Identities."""

import pickle

from hypothesis import given
from hypothesis import strategies as st

from pykb.api import object_key
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.meta.gvk import NamespacedName
from pykb.runtime import Request

NAMES = st.builds(NamespacedName, st.sampled_from(["", "a", "b"]), st.sampled_from(["x", "y"]))


def test_a_request_is_the_key_of_its_object():
    """In comparisons, sets and dicts, in both directions."""
    key = object_key(ConfigMap(metadata=ObjectMeta(name="n", namespace="ns")))
    request = Request("ns", "n")
    assert (key == request, request == key, key != request) == (True, True, False)
    assert {key, request} == {request}
    assert repr(request) == "Request(namespace='ns', name='n')"
    assert pickle.loads(pickle.dumps(request)) == request
    assert request != "ns/n"


@given(st.lists(NAMES))
def test_names_are_sorted_by_namespace_and_name(names):
    """Requests among them."""
    mixed = [Request(each.namespace, each.name) if n % 2 else each for n, each in enumerate(names)]
    assert sorted(mixed) == sorted(mixed, key=lambda each: (each.namespace, each.name))
