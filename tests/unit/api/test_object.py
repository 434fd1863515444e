"""Top-level objects: identity, constants, keys."""

from __future__ import annotations

import pytest
from pydantic import Field, ValidationError

from pykb.api import (
    CustomResource,
    GroupVersion,
    GroupVersionKind,
    NamespacedName,
    ObjectList,
    Struct,
    Unstructured,
    object_key,
)
from pykb.api.meta.v1 import ObjectMeta

GROUP_VERSION = GroupVersion("infra.sealyun.com", "v1")


class VirtulMachineStatus(Struct):
    phase: str | None = None


class VirtulMachine(CustomResource, group_version=GROUP_VERSION):
    status: VirtulMachineStatus = Field(default_factory=VirtulMachineStatus)


class Tagged(VirtulMachine):
    tag: str | None = None


class VirtulMachineV2(VirtulMachine, group_version=GroupVersion("infra.sealyun.com", "v2"), kind="VirtulMachine"):
    pass


def test_a_kind_fills_in_its_api_version_and_kind() -> None:
    """Both always go out, though nobody wrote them."""
    machine = VirtulMachine(metadata=ObjectMeta(name="x"))
    assert machine.to_wire() == {
        "apiVersion": "infra.sealyun.com/v1",
        "kind": "VirtulMachine",
        "metadata": {"name": "x"},
    }
    assert VirtulMachine.gvk == GroupVersionKind("infra.sealyun.com", "v1", "VirtulMachine")


def test_items_of_a_list_need_no_kind() -> None:
    """The server leaves apiVersion and kind out of list items."""
    assert VirtulMachine.from_wire({"metadata": {"name": "x"}}).kind == "VirtulMachine"


def test_an_object_of_another_kind_is_refused() -> None:
    """Reading a version or kind with the wrong class is a mistake, not a conversion."""
    with pytest.raises(ValidationError, match=r"infra\.sealyun\.com/v1"):
        VirtulMachine.from_wire({"apiVersion": "infra.sealyun.com/v2", "kind": "VirtulMachine"})


def test_a_subclass_stays_the_kind_it_extends_unless_it_has_a_version_of_its_own() -> None:
    """Adding behaviour does not make a new kind; a new version does."""
    assert Tagged(tag="a").to_wire()["kind"] == "VirtulMachine"
    assert VirtulMachineV2.gvk == GroupVersionKind("infra.sealyun.com", "v2", "VirtulMachine")
    assert VirtulMachine().api_version == "infra.sealyun.com/v1"
    assert VirtulMachineV2().api_version == "infra.sealyun.com/v2"


def test_a_status_can_be_filled_in_without_making_it_first() -> None:
    """`vm.status.phase = ...` works on a new object, and goes out."""
    machine = VirtulMachine(metadata=ObjectMeta(name="x", namespace="ns"))
    machine.status.phase = "Running"
    assert machine.to_wire()["status"] == {"phase": "Running"}
    assert object_key(machine) == NamespacedName("ns", "x")


def test_lists_are_sequences() -> None:
    """Iterating, indexing and counting give the objects."""
    one, two = VirtulMachine(), Tagged()
    listed = ObjectList(items=[one, two], resource_version="7")
    assert list(listed) == [one, two]
    assert listed[1] is two
    assert listed[:1] == [one]
    assert len(listed) == 2
    assert not ObjectList[VirtulMachine]()


def test_unstructured_objects_share_what_all_objects_have() -> None:
    """Any kind has a GVK, a key and metadata, over the plain dict."""
    thing = Unstructured.of(GroupVersionKind("g", "v1", "Thing"), "n", "ns")
    thing.data["spec"] = {"a": 1}
    assert thing.gvk == GroupVersionKind("g", "v1", "Thing")
    assert thing.key == NamespacedName("ns", "n")
    assert Unstructured.from_wire(thing.to_wire()) == thing
    with pytest.raises(ValueError, match="kind"):
        Unstructured({"apiVersion": "v1"})
