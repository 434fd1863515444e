"""Where two objects differ, and which of it is to be ignored."""

from __future__ import annotations

from typing import Any

import pytest

from pykb.api import Struct
from pykb.api.apps.v1 import Deployment
from pykb.testing._paths import is_within, parse_path, spell
from pykb.testing.objects.kinds import check_paths
from pykb.testing.round_trips import differences


def deployment(**spec: Any) -> Deployment:
    """A deployment with some of a spec."""
    required = {"selector": {}, "template": {}}
    return Deployment.from_wire({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {**required, **spec}})


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({"replicas": 1}, {"replicas": 1}, []),
        ({"replicas": 1}, {"replicas": 2}, ["spec.replicas: 1 became 2"]),
        ({"replicas": 0}, {}, ["spec.replicas: 0 became absent"]),
        ({"strategy": {"type": "x"}}, {}, ['spec.strategy.type: "x" became absent']),
        ({"strategy": {}}, {}, ["spec.strategy: {} became absent"]),
        ({"selector": {"matchLabels": {"a/b": "1"}}}, {}, ['spec.selector.matchLabels[a/b]: "1" became absent']),
        ({"selector": {"matchLabels": {}}}, {}, ["spec.selector.matchLabels: {} became absent"]),
        ({"extra": [1]}, {"extra": [True]}, ["spec.extra[0]: 1 became true"]),
        ({"extra": [1]}, {"extra": [1, 2]}, ["spec.extra: [1] became [1, 2]"]),
        ({"extra": {"a": None}}, {"extra": {}}, ['spec.extra: {"a": null} became {}']),
        ({"extra": {"a": 1}}, {"extra": "a"}, ['spec.extra: {"a": 1} became "a"']),
    ],
)
def test_the_smallest_parts_are_told(before: Any, after: Any, told: list[str]) -> None:
    """By their path, with both values."""
    found = list(differences(deployment(**before), deployment(**after)))
    assert [str(difference) for difference in found] == told


def test_equal_amounts_are_equal() -> None:
    """Objects are compared as Python sees them."""
    spec = {"template": {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "1000m"}}}]}}}
    other = {"template": {"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": 1}}}]}}}
    assert not list(differences(deployment(**spec), deployment(**other)))


@pytest.mark.parametrize(
    ("path", "ignored", "within"),
    [
        (("spec", "ports", 3, "name"), "spec.ports[].name", True),
        (("spec", "ports", 3, "name"), "spec.ports[3]", True),
        (("spec", "ports", 3, "name"), "spec.ports[2]", False),
        (("spec", "ports", 3, "name"), "spec", True),
        (("spec",), "spec.ports", False),
        (("metadata", "annotations", "a.b/c"), "metadata.annotations[a.b/c]", True),
        (("metadata", "annotations", "a.b/d"), "metadata.annotations[a.b/c]", False),
        (("metadata", "annotations", "a.b/d"), "metadata.annotations.*", True),
    ],
)
def test_paths_are_ignored_with_all_that_is_in_them(path: tuple[str | int, ...], ignored: str, within: bool) -> None:
    """`[]` is any item, `*` any entry."""
    assert is_within(path, [parse_path(ignored)]) is within


def test_a_path_that_is_spelt_is_read_again() -> None:
    """What a message shows can be given to `ignore`."""
    path = ("metadata", "labels", "example.com/a")
    assert parse_path(spell(path)) == path


def test_objects_of_two_classes_differ_as_a_whole() -> None:
    """As the members of a union may."""

    class One(Struct):
        a: int = 1

    class Two(Struct):
        a: int = 1

    assert [str(d) for d in differences(One(a=1), Two(a=1), ("spec",))] == ['spec: {"a": 1} became {"a": 1}']


@pytest.mark.parametrize(
    "path",
    [
        "spec",
        "spec.replicas",
        "spec.template.spec.containers[].ports[0].name",
        "spec.template.spec.containers[].resources.limits.*",
        "metadata.annotations[example.com/a]",
        "metadata.*",
        "spec.template.spec.volumes[].csi.volumeAttributes[x]",
    ],
)
def test_paths_to_fields_are_known(path: str) -> None:
    """Through lists, maps, optional parts and structs."""
    check_paths([path], [Deployment])


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("spec.replica", "DeploymentSpec has no `replica`; did you mean `replicas`?"),
        ("spec.template.spec.containers.name", "a list has no `name`, but `[]`"),
        ("spec.replicas.x", "`integer` has no `x`"),
        ("Spec", "Deployment has no `Spec`; did you mean `spec`?"),
    ],
)
def test_paths_to_nowhere_are_told(path: str, why: str) -> None:
    """A misspelt one would silently do nothing."""
    with pytest.raises(ValueError, match="does not lead to a field") as raised:
        check_paths([path], [Deployment])
    assert str(raised.value) == f"`{path}` does not lead to a field: {why}"
