"""CEL rules: the API server of the explorer refuses what they forbid."""

from __future__ import annotations

import copy

import pytest

from pykb.api.object import Unstructured
from pykb.client.mapper import ResourceMapper
from pykb.explore import Explorer
from pykb.explore._webhooks import Conditions, Rules
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import Client, Invalid, Manager
from pykb.runtime.fake import FakeApiServer
from tests.explorer.keeper import Keeper
from tests.explorer.zoo import kinds

GVK = GroupVersionKind("example.com", "v1", "Thing")
FIXED = {"rule": "self == oldSelf", "message": "it cannot be changed"}
PORT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "port": {"type": "integer"}},
    "x-kubernetes-validations": [{"rule": "self.port >= oldSelf.port"}],
}
SPEC = {
    "type": "object",
    "x-kubernetes-validations": [{"rule": "!has(self.least) || self.least <= self.most"}],
    "properties": {
        "least": {"type": "integer"},
        "most": {"type": "integer"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-validations": [FIXED]},
        "image": {"type": "string", "x-kubernetes-validations": [{"rule": "isURL(self)"}]},
        "ports": {
            "type": "array",
            "items": PORT,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
    },
}
CRD = {
    "spec": {
        "group": GVK.group,
        "names": {"kind": GVK.kind},
        "versions": [
            {"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": SPEC}}}},
            {"name": "v2", "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    }
}

V1 = {**CRD["spec"]["versions"][0], "served": True, "storage": True}
NAMES = {"kind": "Thing", "plural": "things", "singular": "thing"}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "things.example.com"},
    "spec": {"group": GVK.group, "names": NAMES, "scope": "Namespaced", "versions": [V1]},
}


def broken(new: dict, old: dict | None = None, gvk: GroupVersionKind = GVK) -> list[tuple[str, str]]:
    """What the rules say about a spec."""
    return list(Rules([CRD]).broken(gvk, {"spec": new}, None if old is None else {"spec": old}))


def test_a_rule_is_checked_for_new_and_changed_objects():
    """With its message, or with itself."""
    failed = ("spec", '"object": failed rule: !has(self.least) || self.least <= self.most')
    assert broken({"least": 3, "most": 2}) == [failed]
    assert broken({"least": 3, "most": 2}, {"least": 1, "most": 2}) == [failed]
    assert not broken({"least": 1, "most": 2})
    assert not broken({"most": 2})


def test_a_transition_rule_is_checked_for_changes_only():
    """Elements of a list are compared by their keys."""
    assert not broken({"labels": {"a": "1"}})
    assert not broken({"labels": {"a": "1"}, "most": 2}, {"labels": {"a": "1"}})
    assert broken({"labels": {"a": "2"}}, {"labels": {"a": "1"}}) == [("spec.labels", '"object": it cannot be changed')]
    assert broken({"labels": {"a": "1", "b": "1"}}, {"labels": {"a": "1"}})
    before = {"ports": [{"name": "x", "port": 5}, {"name": "y", "port": 7}]}
    assert not broken({"ports": [{"name": "y", "port": 8}, {"name": "x", "port": 5}, {"name": "z", "port": 1}]}, before)
    assert broken({"ports": [{"name": "y", "port": 6}]}, before) == [
        ("spec.ports[0]", '"object": failed rule: self.port >= oldSelf.port')
    ]


def test_what_an_update_leaves_as_it_was_may_break_a_rule():
    """As in a cluster, where the rule may be newer than the object."""
    assert not broken({"least": 3, "most": 2}, {"least": 3, "most": 2})


def test_a_rule_that_cannot_be_evaluated_here_holds():
    """And a kind without rules has none."""
    assert not broken({"image": "no url"})
    assert not broken({"least": 3, "most": 2}, gvk=GroupVersionKind("example.com", "v2", "Thing"))


async def test_the_api_server_in_memory_refuses_what_breaks_a_rule():
    """With the answer of a real one. Its copies do the same."""
    server = FakeApiServer(crds=[DEFINITION])
    server.use_rules(Rules([CRD]).broken)
    for each in (server, await server.copy()):
        client = Client(each, mapper=ResourceMapper(each))
        made = await client.create(thing({"a": "1"}))
        made.data["spec"]["labels"]["a"] = "2"
        with pytest.raises(Invalid) as refused:
            await client.update(made)
        assert refused.value.message == (
            'Thing.example.com "x" is invalid: spec.labels: Invalid value: "object": it cannot be changed'
        )


def thing(labels: dict[str, str]) -> Unstructured:
    """A Thing with these labels in its spec."""
    metadata = {"name": "x", "namespace": "default"}
    return Unstructured(
        {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "spec": {"labels": labels}}
    )


def test_a_condition_about_the_sender_is_met_and_noted():
    """The explorer has no accounts."""
    conditions = Conditions()
    names = {"object": {"spec": {"size": 3}}, "oldObject": None, "request": {"userInfo": {"username": "me"}}}
    assert conditions.check("object.spec.size > 2 && oldObject == null", names)
    assert not conditions.unknown
    sender = "request.userInfo.username != 'system:serviceaccount:zoo:manager'"
    assert conditions.check(sender, names)
    assert not conditions.check(f"object.spec.size > 3 && {sender}", names)
    assert list(conditions.unknown) == [sender]


def test_specs_that_are_refused_without_a_fault_are_counted():
    """There is no history to judge then: a fresh object with such a spec does not exist."""
    crds = copy.deepcopy(kinds.CRDS)
    count = crds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["count"]
    count["x-kubernetes-validations"] = [{"rule": "self <= 2", "message": "two are enough"}]

    def register(manager: Manager) -> None:
        Keeper(manager.client).setup(manager)

    report = Explorer(kinds.subject_of(register, crds=crds), only=["explore-history"]).run()
    why = report.refused["explore-history", "Somebody creates Animal kiki: `spec.count = 3`"]
    assert "two are enough" in why
