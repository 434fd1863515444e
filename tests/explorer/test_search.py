"""Further histories are chosen by the lines that they reach."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pykb.api.apps.v1 import Deployment
from pykb.cli.explore import _tell
from pykb.explore import Explorer, Report
from pykb.explore._actors import NO_SUCH
from pykb.explore._constants import constants_of
from pykb.explore._context import Context
from pykb.explore._variants import near
from pykb.runtime import Manager
from tests.explorer.feeder import Feeder
from tests.explorer.zoo import branches, kinds, workloads
from tests.explorer.zoo.kinds import Animal, Manifest, subject_of

SOURCE = """
LIMIT = 7
MODES = ("slow", "fast")
TABLE = {"small": 1, "large": 2}

class Phase:
    DONE = "done"

def reconcile(site):
    if site.spec.max_size > LIMIT or 3 <= len(site.spec.names) or site.spec.get("mode") in MODES:
        pass
    match site.spec.kind:
        case "one" | "two":
            pass
    if TABLE[site.spec.scale] and site.status.phase == Phase.DONE and site.spec.url.startswith("https://"):
        pass
    if site.ready is True or site.offset != -1 or "no name" == "another":
        pass

if __name__ == "__main__":
    main()
"""


def test_constants_are_those_with_which_the_code_compares():
    """With the name of what is compared, as Python and JSON spell it alike."""
    assert set(constants_of([SOURCE, "def broken(:"])) == {
        ("maxsize", 7),
        ("names", 3),
        ("mode", "slow"),
        ("mode", "fast"),
        ("kind", "one"),
        ("kind", "two"),
        ("scale", "small"),
        ("scale", "large"),
        ("phase", "done"),
        ("url", "https://"),
        ("offset", -1),
    }


SCHEMA: dict[str, Any] = {
    "properties": {
        "maxSize": {"type": "integer", "maximum": 7},
        "names": {"type": "array", "items": {"type": "string"}},
        "mode": {"type": "string", "enum": ["slow", "usual"]},
        "backup": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string"}}},
    }
}


def test_specs_near_constants_fit_the_schema():
    """Fields of the same name are apart. What is around a field is made, too."""
    constants = constants_of([SOURCE])
    sample = {"spec": {"maxSize": 1, "names": ["a"]}}
    named, others = ([text for text, _ in each] for each in near(SCHEMA, sample, constants))
    assert named == [
        "spec.maxSize = 7",
        "spec.maxSize = 6",
        'spec.names = ["a", "a-1", "a-2", "a-3"]',
        'spec.names = ["a", "a-1", "a-2"]',
        'spec.names = ["a", "a-1"]',
        'spec.mode = "slow"',
        'spec.backup.kind = "one"',
        'spec.backup.kind = "two"',
    ]
    assert "spec.maxSize = 4" in others
    specs = dict(near(SCHEMA, {"spec": {}}, constants)[0])
    assert specs['spec.backup.kind = "two"'] == {"spec": {"backup": {"kind": "two"}}}


@pytest.fixture(scope="module")
def explored() -> Report:
    """An operator with a fault behind two conditions, of a field that is removed and of one near a constant."""
    return report_of(1)


def report_of(workers: int, only: Sequence[str] = ("explore-crash", "explore-bug"), most: int | None = None) -> Report:
    """What the explorer says of it."""

    def register(manager: Manager) -> None:
        branches.CountsPackFirst(manager.client).setup(manager)

    return Explorer(subject_of(register), only=only, workers=workers, histories=most).run()


def test_a_spec_that_reaches_new_lines_is_changed_further_and_explored(explored):
    """Crashes meet it. The story says which spec it is."""
    assert any("`no spec.house`, `spec.count = " in finding.story[0] for finding in explored.findings)


def test_any_number_of_workers_chooses_the_same(explored):
    """Though each of them has run other histories before."""
    other = report_of(3)
    assert other.histories == explored.histories
    assert other.findings == explored.findings
    assert other.coverage.reached == explored.coverage.reached


def test_a_search_that_is_cut_is_not_finished(capsys):
    """Though the plans of all codes are: "no findings" says nothing about the specs that were left out."""
    report = report_of(1, ["explore-bug"], most=30)
    assert report.unfinished == ["search"]
    assert report.finished() == ["explore-bug"]
    _tell(report, [], [])
    assert "not all specs that may reach further lines were tried" in capsys.readouterr().err


def test_a_constant_of_a_field_is_tried_however_many_other_fields_there_are():
    """The specs near constants of other names are thinned, those of the same name are not."""
    crds = copy.deepcopy(kinds.CRDS)
    fields = crds[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields |= {f"field{number}": {"type": "integer"} for number in range(200)}
    homeless = {**kinds.SAMPLE, "spec": {"food": "hay", "count": 2}}

    def register(manager: Manager) -> None:
        branches.CountsPackFirst(manager.client).setup(manager)

    subject = replace(subject_of(register, sample=homeless), crds=crds)
    report = Explorer(subject, only=["explore-bug"]).run()
    lines = (kinds.HERE / "branches.py").read_text(encoding="utf-8").splitlines()
    fed = next(number for number, line in enumerate(lines, start=1) if 'child = "fed"' in line)
    assert fed in report.coverage.reached["branches.py"]


class Mourns(Feeder):
    """Does more for a workload that is not ready."""

    def look(self, animal: Animal, found: Deployment) -> None:
        """Note it."""
        super().look(animal, found)
        animal.status.checked = None
        if workloads.reasons(found):
            animal.status.checked = "failing"


def test_a_spec_with_which_no_pod_becomes_ready_is_not_explored_as_a_sample(monkeypatch):
    """An operator may wait then, and leave its child as it is. That the spec reaches new lines does not matter."""
    explored_as_samples: list[Manifest] = []
    usual = Context.with_sample

    def with_sample(context: Context, sample: Manifest, note: str) -> Context:
        explored_as_samples.append(sample)
        return usual(context, sample, note)

    monkeypatch.setattr(Context, "with_sample", with_sample)

    def register(manager: Manager) -> None:
        Mourns(manager.client).setup(manager)

    subject = replace(subject_of(register), root=Path(__file__).parent)
    Explorer(subject, only=("explore-history", "explore-drift")).run().check()
    assert not [each for each in explored_as_samples if NO_SUCH in each["spec"]["food"]]
