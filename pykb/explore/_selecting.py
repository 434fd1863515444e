"""Which pods a child selects. Those of another object must not be among them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pykb.client.selectors import LabelSelector
from pykb.explore._history import Identity, Manifest
from pykb.explore._state import State
from pykb.explore._variants import leaves
from pykb.meta.gvk import WORKLOADS


def mixed_up(
    children: Sequence[Identity], alone: State, both: State, sample: Manifest
) -> Iterator[tuple[Identity, str]]:
    """Yield each child that selects pods of another object as well, with its selector.

    Not if a value of the selector is from the spec: then it is the user's choice, and both objects have the same one.
    Nor if the child selects all pods of its namespace.

    Args:
        children: Those of one object.
        alone: The state with this object alone.
        both: The state with the other object.
        sample: The object.
    """
    given = {value for _, value in leaves({"spec": sample.get("spec")})}
    theirs = [(each.namespace, _labels(each, obj)) for each, obj in both.items() if each not in alone]
    for child in sorted(children, key=lambda each: each.kind in WORKLOADS):  # it matters less to a workload
        selector = _selector(child, both.get(child, {}).get("spec") or {})
        values = {value for requirement in selector.requirements for value in requirement.values}
        labels = [each for namespace, each in theirs if each and namespace == child.namespace]
        if selector.requirements and given.isdisjoint(values) and any(map(selector.matches, labels)):
            yield child, str(selector)


def _selector(identity: Identity, spec: Mapping[str, Any]) -> LabelSelector:
    """The pods that an object selects. Without a requirement if it selects none, or all."""
    if identity.kind == "Service":
        return LabelSelector.from_labels(spec.get("selector") or {})
    field = "podSelector" if identity.kind == "NetworkPolicy" else "selector" if identity.kind in _SELECTING else ""
    try:
        return LabelSelector.from_wire(spec.get(field) or {})
    except ValueError:  # an unknown operator: a custom kind of this name may have any
        return LabelSelector(())


_SELECTING = (*WORKLOADS, "PodDisruptionBudget")


def _labels(identity: Identity, obj: Mapping[str, Any]) -> Mapping[str, str]:
    """The labels of a pod, or of the pods of a workload."""
    pod = obj.get("spec", {}).get("template") if identity.kind in WORKLOADS else obj if identity.kind == "Pod" else {}
    labels: Mapping[str, str] = ((pod or {}).get("metadata") or {}).get("labels") or {}
    return labels
