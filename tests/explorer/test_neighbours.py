"""The other samples of a project are there while one is explored, unless that would hide or accuse something."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pykb.explore import Explorer, History, Report, subject_of
from pykb.runtime import Manager, Reconciler, Request, Result, patch_status
from tests.explorer.keeper import Keeper
from tests.explorer.zoo import kinds
from tests.explorer.zoo.kinds import PARK, SAMPLE, Animal, AnimalStatus, Manifest, Park

APP = Path(__file__).parents[2] / "testdata" / "app"
SECOND = "config/samples/second.yaml"


def animal(name: str, **spec: object) -> Manifest:
    """Another sample of the zoo."""
    return {**SAMPLE, "metadata": {"name": name, "namespace": "default"}, "spec": spec}


class Fails(Keeper):
    """Fails for an animal without names, and shares a menu between those of one house."""

    async def reconcile(self, request: Request) -> Result | None:
        """As the name says."""
        found = await self.client.find(Animal, request)
        if found is not None and found.spec.food == "stones":
            raise ValueError("no animal eats stones")
        return await super().reconcile(request)


class Shares(Keeper):
    """All animals want the same child. The first one gets it."""

    def name(self, animal: Animal) -> str:
        """Always the same."""
        return "menu"


def explored(operator: type[Reconciler], *neighbours: Manifest, only: tuple[str, ...] = ("explore-leak",)) -> Report:
    """What the explorer says of an operator whose project has further samples."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)  # type: ignore[attr-defined]

    return Explorer(kinds.subject_of(register, neighbours=(SAMPLE, *neighbours)), only=only).run()


def said(report: Report) -> list[str]:
    """What is left out."""
    return [note.message for note in report.notes() if note.code.slug == "explore-left-out"]


@pytest.mark.slow  # all histories of all codes, with three objects at work
def test_a_sound_operator_is_not_accused_among_others():
    """By any code. What it did for the others counts as done."""
    report = explored(Keeper, animal("bobo", food="leaves"), PARK, only=())
    report.check()
    assert not report.notes()
    assert report.histories.total() > 40


def test_a_field_that_the_definition_lacks_is_said():
    """The API server drops it, so nothing that it stands for is explored."""
    sample = {**SAMPLE, "spec": {**SAMPLE["spec"], "hous": "north"}}
    report = Explorer(
        kinds.subject_of(lambda manager: Keeper(manager.client).setup(manager), sample=sample), only=["explore-leak"]
    ).run()
    [note] = report.notes()
    assert note.message == "the sample Animal kiki is explored without `spec.hous`: its definition has no such field"
    assert note.help == ("did you mean `house`?",)
    assert report.histories["explore-leak"]


def test_neighbours_that_hide_something_are_left_out_and_said_once():
    """One that the schema refuses, and one for which the operator fails. The good one stays."""
    report = explored(Fails, animal("bad", count=-1), animal("mad", food="stones"), animal("good"))
    report.check()
    refused, failing = said(report)
    assert refused.startswith("Animal bad is not there while others are explored: with it, Animal bad is refused: ")
    assert failing == (
        "Animal mad is not there while others are explored: with it, a reconcile fails: ValueError: no animal eats stones"
    )


def test_a_sample_that_does_not_bear_the_others_is_explored_alone_and_said():
    """Two samples that want the same child are not the operator's fault."""
    report = explored(Shares, animal("bobo"))
    report.check()
    [message] = said(report)
    assert message.startswith("Animal kiki is explored without Animal bobo: with them, a reconcile fails: AlreadyOwned")


def test_a_neighbour_that_writes_for_ever_is_left_out():
    """Nothing could be compared with it."""

    class Ticks(Keeper):
        async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
            if animal.metadata.name == "clock":
                animal.status.checked = f"{datetime.now(UTC):%H:%M}"[:-1]
                await patch_status(self.client, animal, before)
                return Result(requeue_after=timedelta(minutes=10))
            return None

    report = explored(Ticks, animal("clock"))
    [message] = said(report)
    assert message.endswith("with it, the operator writes though nothing has changed")


def test_the_same_name_in_another_version_is_the_same_object():
    """Nor is the sample its own neighbour. Objects of other scopes are neighbours."""
    seen: list[str] = []

    class Looks(Keeper):
        async def keep(self, animal: Animal) -> None:
            seen.extend(park.metadata.name or "" for park in await self.client.list(Park))
            await super().keep(animal)

    explored(Looks, {**SAMPLE}, PARK).check()
    assert set(seen) == {"west"}


@pytest.fixture
def project(tmp_path) -> Path:
    """The sample App with a second one."""
    folder = tmp_path / "app"
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns(".venv", ".pykb", "__pycache__"))
    [first] = folder.glob("config/samples/app*.yaml")
    (folder / SECOND).write_text(first.read_text().replace("name: app-sample", "name: app-second"), encoding="utf-8")
    return folder


def test_the_other_samples_of_a_project_are_neighbours(project):
    """Also if one file or one kind is explored. `only_sample` leaves them out."""
    subject = subject_of(project, package="app_operator", sample=SECOND)
    assert [each["metadata"]["name"] for each in subject.samples] == ["app-second"]
    assert [each["metadata"]["name"] for each in subject.neighbours] == ["app-sample", "app-second"]
    assert not subject_of(project, package="app_operator", only_sample=True).neighbours


def test_a_history_with_neighbours_is_read_as_it_was_written():
    """It needs no samples for its replay."""
    history = History((), background=(SAMPLE, PARK))
    assert History.from_json(history.to_json()) == history
    with pytest.raises(ValueError, match="no kind or no name"):
        History.from_json(
            {**history.to_json(), "background": [{"apiVersion": "v1", "kind": "", "metadata": {"name": ""}}]}
        )
