"""Objects that are being deleted and do not fit their class, without a server: what fits, and whose code may fail on it."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic import model_validator

from pykb.api import CustomResource, GroupVersion, Struct
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.unreadable import UnreadableObject
from pykb.client.codec import alone, from_wire, replace_content

V1 = GroupVersion("example.com", "v1")


class BoxSpec(Struct):
    """A box."""

    size: int
    name: str = "box"


class Box(CustomResource, group_version=V1):
    """A kind."""

    spec: BoxSpec


class Looked(CustomResource, group_version=V1):
    """A kind whose author looks at whole objects."""

    spec: BoxSpec

    def model_post_init(self, _: Any) -> None:
        """Fails where the name is not there."""
        assert self.spec.name[0]


class Checked(CustomResource, group_version=V1):
    """A kind whose author refuses what is not whole."""

    spec: BoxSpec

    @model_validator(mode="before")
    @classmethod
    def check(cls, value: Any) -> Any:
        """Refuse."""
        if not isinstance(value["spec"].get("size"), int):
            raise ValueError("a size is needed")  # noqa: TRY004 - as Pydantic has it
        return value


def wire(kind: str, *, deleted: bool, **spec: Any) -> dict[str, Any]:
    """An object of the server."""
    metadata: dict[str, Any] = {"name": "b", "finalizers": ["a/b"]}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": metadata, "spec": spec}


def read(kind: Any, **rest: Any) -> Any:
    """As `get` reads it."""
    return alone(lambda found: from_wire(kind, found), wire(kind.__name__, **rest))


def test_what_fits_is_read_of_what_is_being_deleted() -> None:
    """And of nothing that lives; the error says what to do."""
    found = read(Box, deleted=True, size="many", name="n")
    assert (found.spec.size, found.spec.name, found.metadata.finalizers) == (0, "n", ["a/b"])
    with pytest.raises(UnreadableObject) as caught:
        read(Box, deleted=False, size="many")
    assert "int | str" in caught.value.remedy
    with pytest.raises(UnreadableObject) as caught:
        read(Box, deleted=False)
    assert "optional" in caught.value.remedy
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.partial) == (str(caught.value), None)


def test_the_answer_to_a_write_is_held_as_far_as_it_fits() -> None:
    """One finalizer of two is gone, and the object is still there."""
    held = Box(metadata=ObjectMeta(name="b"), spec=BoxSpec(size=1))
    replace_content(held, wire("Box", deleted=True, name="later"))
    assert (held.spec.size, held.spec.name) == (0, "later")


@pytest.mark.parametrize(("kind", "spec"), [(Looked, {"size": "x", "name": ""}), (Checked, {"size": "x"})])
def test_code_that_expects_whole_objects_hides_no_others(kind: Any, spec: dict[str, Any]) -> None:
    """It is one object that cannot be read, and no error that a list does not know."""
    with pytest.raises(UnreadableObject) as caught:
        read(kind, deleted=True, **spec)
    assert caught.value.partial is None
