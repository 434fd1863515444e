"""Objects that a cluster has recorded are explored: today's operator takes them over."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.render import render
from pykb.explore import Explorer, Recorded, Report, Subject, recorded_in_file, with_record
from pykb.runtime import Manager, Reconciler
from tests.explorer.keeper import Guard, Keeper, record
from tests.explorer.zoo import kinds, specs, upgrades

PASSWORD = "hunter2"
OWNER = {"apiVersion": "zoo.example.com/v1", "kind": "Animal", "name": "kiki", "uid": "a-1", "controller": True}
ANIMAL = {**kinds.SAMPLE, "metadata": {"name": "kiki", "namespace": "prod", "uid": "a-1"}, "status": {"count": 9}}


def subject_of(operator: type[Reconciler]) -> Subject:
    """An operator of the zoo."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)

    return kinds.subject_of(register)


def saved(folder: Path, *objects: Any) -> Path:
    """Objects in a file, as `kubectl get -o yaml` prints several."""
    file = folder / "prod.yaml"
    file.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": list(objects)}), encoding="utf-8")
    return file


def made_by(operator: type[Reconciler]) -> list[dict[str, Any]]:
    """What an operator makes of the sample."""
    [life] = record(subject_of(operator), "then").lives.values()
    every = map(json.loads, life.records[0].moments[-1].objects)
    return [each for each in every if each["kind"] not in ("CustomResourceDefinition", "Namespace")]


def explored(operator: type[Reconciler], file: Path, only: str = "explore-upgrade") -> Report:
    """What the explorer says of an operator that takes over the objects of a file."""
    subject = subject_of(operator)
    explored, _ = with_record(subject, recorded_in_file(file, subject))
    return Explorer(explored, only=(only,)).run()


def read(folder: Path, *objects: Any) -> Recorded:
    """What is taken of a file."""
    return recorded_in_file(saved(folder, *objects), subject_of(Keeper))


def an(kind: str, name: str, **more: Any) -> dict[str, Any]:
    """An object of the core group."""
    metadata = {"name": name, "namespace": "prod", **more.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **more}


def test_a_finalizer_of_then_holds_the_object(tmp_path):
    """As after an upgrade, with the file in place of the revision."""
    file = saved(tmp_path, *made_by(upgrades.RenamesFinalizer.Earlier))
    [finding] = explored(upgrades.RenamesFinalizer, file).findings
    assert finding.message == (
        "Animal kiki is never let go after taking over the objects of prod.yaml: a finalizer stays"
    )
    assert finding.story[:2] == ("The objects of prod.yaml are there", "Today's operator takes over")
    explored(upgrades.RenamesFinalizerMended, file).check()


def test_a_child_that_stays_as_it_was_is_found(tmp_path):
    """Another value than today's operator writes.

    Its status, defaults of the server and containers of others are no faults, nor is what has been made over time.
    """
    sidecar = {"name": "proxy", "image": "proxy:1"}
    old = made_by(specs.CannotChangeSet)
    [child] = [each for each in old if each["kind"] == "StatefulSet"]
    child["spec"] |= {"revisionHistoryLimit": 10}
    child["spec"]["template"]["spec"]["containers"][0]["imagePullPolicy"] = "Always"
    child["spec"]["template"]["spec"]["containers"].insert(0, sidecar)
    child["status"] = {"replicas": 7}
    backup = an("ConfigMap", "backup-1", metadata={"ownerReferences": child["metadata"]["ownerReferences"]})
    explored(specs.CannotChangeSet, saved(tmp_path, *old, backup)).check()
    child["spec"]["serviceName"] = "former"
    [finding] = explored(specs.CannotChangeSet, saved(tmp_path, *old, backup)).findings
    assert 'spec.serviceName is "former" instead of ' in finding.message


def test_what_is_around_is_in_the_world_of_all_codes(tmp_path):
    """The samples are those of the record, in their namespace. Nothing is accused that is right."""
    child = an("ConfigMap", "kiki-menu", metadata={"uid": "c-1", "ownerReferences": [OWNER]}, data={"food": "straw"})
    subject = subject_of(Keeper)
    recorded = recorded_in_file(saved(tmp_path, ANIMAL, child, an("Secret", "db", data={"key": "eA=="})), subject)
    assert str(recorded) == "1 Animal, 1 ConfigMap, 1 Secret"
    explored, note = with_record(subject, recorded)
    assert not note
    [sample] = explored.samples
    assert sample["metadata"] == {"name": "kiki", "namespace": "prod"}
    assert "status" not in sample
    assert [each["metadata"]["name"] for each in explored.background] == ["prod", "db"]
    report = Explorer(explored, histories=100).run()
    assert not report.diagnostics(), report.diagnostics()
    assert report.histories["explore-upgrade"] == 1
    assert report.histories["explore-crash"] > 1


def test_values_of_secrets_are_nowhere(tmp_path):
    """Not in the record, in the worlds, in the findings or in their histories. The keys stay."""
    value = base64.b64encode(PASSWORD.encode()).decode()
    applied = {"kubectl.kubernetes.io/last-applied-configuration": PASSWORD, "mine": "yes"}
    secret = an("Secret", "kiki-key", metadata={"annotations": applied, "namespace": "kube-public"})
    secret |= {"data": {"password": value}, "stringData": {"token": PASSWORD}}
    logins = an("Secret", "pull", type="kubernetes.io/dockerconfigjson", data={".dockerconfigjson": value})
    subject = subject_of(Guard)
    recorded = recorded_in_file(saved(tmp_path, ANIMAL, secret, logins), subject)
    explored, _ = with_record(subject, recorded)
    report = Explorer(explored, only=("explore-upgrade", "explore-drift", "explore-theft")).run()
    told = [render(report.diagnostics()), *(json.dumps(finding.history.to_json()) for finding in report.findings)]
    for text in (repr(recorded), repr(explored), *told):
        assert PASSWORD not in text
        assert value not in text
    [emptied, others] = [each for each in recorded.objects if each["kind"] == "Secret"]
    assert list(emptied["data"]) == ["password", "token"]
    assert emptied["metadata"]["annotations"] == {"mine": "yes"}
    assert json.loads(base64.b64decode(others["data"][".dockerconfigjson"])) == {"auths": {}}


def test_what_the_world_cannot_have_is_left_out_and_said(tmp_path):
    """Unknown kinds, objects that go, what Kubernetes' own controllers made, and references to owners elsewhere."""
    of_set = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "r-1", "controller": True}
    elsewhere = {"apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "gone"}
    found = read(
        tmp_path,
        ANIMAL,
        {"apiVersion": "foo.example.com/v1", "kind": "Foo", "metadata": {"name": "foo"}},
        an("ConfigMap", "going", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        an("ConfigMap", "kube-root-ca.crt"),
        an("Pod", "web-1-x", metadata={"ownerReferences": [of_set]}),
        an("Pod", "alone"),
        an("ConfigMap", "kept", metadata={"ownerReferences": [elsewhere]}),
    )
    assert [each["metadata"]["name"] for each in found.objects] == ["kiki", "alone", "kept"]
    assert "ownerReferences" not in found.objects[-1]["metadata"]
    assert all(each["metadata"]["uid"] for each in found.objects)
    assert found.notes == (
        "1 Foo left out: the project has no definition of it",
        "1 objects left out that are being deleted",
    )


def test_a_record_is_bounded(tmp_path):
    """Objects and samples. Both limits are said."""
    many = [{**ANIMAL, "metadata": {"name": f"a-{number}", "namespace": "prod"}} for number in range(1010)]
    file = tmp_path / "many.yaml"
    file.write_text(json.dumps({"kind": "AnimalList", "apiVersion": "zoo.example.com/v1", "items": many}))
    subject = subject_of(Keeper)
    recorded = recorded_in_file(file, subject)
    assert len(recorded.objects) == 1000
    assert recorded.notes == ("only the first 1000 objects were taken",)
    explored, note = with_record(subject, recorded)
    assert len(explored.samples) == 10
    assert note == "990 more objects are not explored: the first 10 are"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: [", "is not YAML"),
        ("- 1", "has no `apiVersion`"),
        ("apiVersion: v1\nkind: Secret\n", "has no `apiVersion`, `kind` or `metadata.name`"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: 3}\n", "has no `apiVersion`, `kind` or `metadata.name`"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: a, labels: [1]}\n", "has no valid `metadata.labels`"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: a, ownerReferences: [{}]}\n", "`metadata.ownerReferences`"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: [1]\n", "has no valid `data`"),
        ("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {1: a}\n", "is not JSON"),
        ("apiVersion: v1\nkind: List\nitems: [{}]\n", "has no `apiVersion`"),
        ("", "has no Animal, Park to explore"),
    ],
)
def test_a_bad_record_is_told(tmp_path, text, said):
    """One message, with its place."""
    file = tmp_path / "bad.yaml"
    file.write_text(text)
    subject = subject_of(Keeper)
    with pytest.raises(EnvironmentProblem) as caught:
        with_record(subject, recorded_in_file(file, subject))
    told = caught.value.diagnostic
    assert said in told.message
    assert told.span is not None or not text


def test_what_kopf_noted_is_not_in_the_sample(tmp_path):
    """Or it would take the new object for one that it has handled."""
    noted = {"mine.example.com/last-handled-configuration": "{}", "mine.example.com/create": "{}", "team": "blue"}
    noted["kopf.zalando.org/update"] = "{}"
    subject = subject_of(Keeper)
    file = saved(tmp_path, {**ANIMAL, "metadata": {**ANIMAL["metadata"], "annotations": noted}})
    explored, _ = with_record(subject, recorded_in_file(file, subject))
    assert explored.samples[0]["metadata"]["annotations"] == {"team": "blue"}
