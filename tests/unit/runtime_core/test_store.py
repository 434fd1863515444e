"""The store: reads are copies, indexes follow every change."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pykb.client.connection import OWNER_INDEX
from pykb.client.selectors import LabelSelector
from pykb.meta.gvk import NamespacedName
from pykb.runtime.cache.store import Store, key_of


def obj(name, namespace="default", *, version="1", labels=None, owners=(), colour=None):
    """A raw object."""
    metadata = {"name": name, "namespace": namespace, "resourceVersion": version, "uid": f"uid-{name}"}
    if labels:
        metadata["labels"] = labels
    if owners:
        metadata["ownerReferences"] = [{"uid": uid, "name": uid, "kind": "K", "apiVersion": "v1"} for uid in owners]
    return {"metadata": metadata, "spec": {"colour": colour, "list": [1, 2]}}


def colour_of(raw):
    """An index."""
    return [raw["spec"]["colour"]] if raw["spec"].get("colour") else []


def put(store, raw):
    """Store at its own key."""
    return store.put(key_of(raw), raw)


def names(found):
    """Where objects are."""
    return [f"{o['metadata']['namespace']}/{o['metadata']['name']}" for o in found]


def test_what_is_read_belongs_to_the_reader():
    """Changing a read object, or the object that was put, changes nothing in the store."""
    store = Store()
    given_object = obj("a")
    put(store, given_object)
    given_object["spec"]["list"].append(3)
    read = store.get(NamespacedName("default", "a"))
    read["spec"]["list"].clear()
    assert store.get(NamespacedName("default", "a"))["spec"]["list"] == [1, 2]


def test_put_gives_the_object_before_and_remove_the_last_one():
    """Handlers get old and new from here."""
    store = Store()
    assert put(store, obj("a", version="1")) is None
    assert put(store, obj("a", version="2")).resource_version == "1"
    assert store.remove(NamespacedName("default", "a")).load()["metadata"]["resourceVersion"] == "2"
    assert store.remove(NamespacedName("default", "a")) is None


def test_selecting_combines_namespace_labels_and_indexes():
    """Every condition must hold; the order is that of namespace and name."""
    store = Store({"spec.colour": colour_of})
    for raw in (
        obj("c", "two", labels={"app": "web"}, colour="red"),
        obj("a", "two", labels={"app": "web"}, colour="red"),
        obj("b", "two", labels={"app": "db"}, colour="red"),
        obj("d", "one", labels={"app": "web"}, colour="red"),
        obj("e", "two", labels={"app": "web"}, colour="blue"),
    ):
        put(store, raw)
    web = LabelSelector.parse("app=web")
    assert names(store.select()) == ["one/d", "two/a", "two/b", "two/c", "two/e"]
    assert names(store.select(labels=web, fields={"spec.colour": "red"})) == ["one/d", "two/a", "two/c"]
    assert names(store.select(namespace="two", labels=web, fields={"spec.colour": "red"})) == ["two/a", "two/c"]
    assert names(store.select(fields={"metadata.name": "b"})) == ["two/b"]
    assert names(store.select(fields={"metadata.namespace": "one"})) == ["one/d"]
    assert names(store.select(namespace="two", fields={"metadata.namespace": "one"})) == []


def test_an_unknown_index_is_an_error_that_names_the_known_ones():
    """A typo must not look like an empty result."""
    with pytest.raises(KeyError, match=r"no index `spec.color`.*metadata.name"):
        list(Store({"spec.colour": colour_of}).select(fields={"spec.color": "red"}))


def test_owners_are_indexed():
    """The children of an object are found by its uid."""
    store = Store()
    put(store, obj("a", owners=["x", "y"]))
    put(store, obj("b", owners=["y"]))
    assert names(store.select(fields={OWNER_INDEX: "y"})) == ["default/a", "default/b"]
    put(store, obj("a", owners=["x"]))
    assert names(store.select(fields={OWNER_INDEX: "y"})) == ["default/b"]


def test_an_index_added_later_covers_what_is_there():
    """Indexes need not be known before the first list; their names are unique."""
    store = Store()
    put(store, obj("a", colour="red"))
    store.add_index("spec.colour", colour_of)
    assert names(store.select(fields={"spec.colour": "red"})) == ["default/a"]
    with pytest.raises(ValueError, match="already"):
        store.add_index("spec.colour", colour_of)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(["one", "two"]),
        st.sampled_from([None, "red", "blue", "gone"]),
    ),
    max_size=40,
)


@given(STEPS)
def test_indexes_agree_with_a_scan_after_any_history(steps):
    """Whatever was put and removed, an index answers as a scan of a plain dict would."""
    store, model = Store({"spec.colour": colour_of}), {}
    for name, namespace, colour in steps:
        raw = obj(name, namespace, colour=colour)
        if colour == "gone":
            store.remove(key_of(raw))
            model.pop(key_of(raw), None)
        else:
            put(store, raw)
            model[key_of(raw)] = colour
    for colour in ("red", "blue"):
        expected = sorted(str(key) for key, value in model.items() if value == colour)
        assert sorted(names(store.select(fields={"spec.colour": colour}))) == expected
    for namespace in ("one", "two"):
        assert set(store.all_keys(namespace)) == {key for key in model if key.namespace == namespace}
    assert len(store) == len(model)


@pytest.mark.parametrize("colour", [None, "red"])
def test_an_object_without_a_json_form_changes_nothing(colour):
    """It is put again in another form, of which the indexes may have other values."""
    store = Store({"colour": colour_of})
    if colour:
        put(store, obj("a", colour=colour))
    for unfit in (10**20, {1}):
        with pytest.raises(TypeError):
            put(store, {**obj("a", colour="blue"), "status": unfit})
        assert names(store.select(fields={"colour": "blue"})) == []
        assert names(store.select(fields={"colour": "red"})) == (["default/a"] if colour else [])
        assert store.all_keys("default") == ([NamespacedName("default", "a")] if colour else [])
    put(store, obj("a", colour="green"))
    store.remove(NamespacedName("default", "a"))
    assert [names(store.select(fields={"colour": each})) for each in ("red", "blue", "green")] == [[], [], []]
