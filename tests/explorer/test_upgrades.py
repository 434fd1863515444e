"""Today's operator continues the work of a git revision. The revision is run in a process of its own."""

from __future__ import annotations

import copy
import functools
import json
import os
import shutil
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from pykb.api.core.v1 import ConfigMap
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.explore import Explorer, History, Report, Subject, subject_of
from pykb.explore._recording import earlier_of
from pykb.runtime import Manager, Result
from pykb.testing import ProjectExplorer
from tests.explorer.keeper import Keeper, record
from tests.explorer.test_project import CONTROLLER, DEFINITION, PACKAGE, SAMPLE, change, root
from tests.explorer.zoo import kinds, upgrades
from tests.explorer.zoo.kinds import Animal, AnimalStatus

__all__ = ["root"]
NAMED = "name=app.spec.service.name, namespace"


def git(folder: Path, *words: str) -> None:
    """Run git as somebody."""
    somebody = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *somebody, *words], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, tag: str) -> None:
    """Commit all, and tag it."""
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", f"--message={tag}")
    git(folder, "tag", tag)


@pytest.fixture
def repository(root: Path) -> Path:
    """The sample App: before it had a kind, with another name of the Service, and broken. Today's is not committed."""
    (root / ".pykb").mkdir()
    git(root, "init", "--quiet")
    kept = root.parent / "kept"
    shutil.copytree(root, kept)
    for file in (SAMPLE, DEFINITION):
        (root / file).unlink()
    commit(root, "v0.1.0")
    shutil.copytree(kept, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    change(root, CONTROLLER, NAMED, 'name=f"{app.spec.service.name}-svc", namespace')
    change(root, CONTROLLER, "keep=[app.spec.service.name]", 'keep=[f"{app.spec.service.name}-svc"]')
    commit(root, "v0.2.0")
    change(root, CONTROLLER, "from pykb.runtime import", "import nothing_of_this_name\nfrom pykb.runtime import")
    commit(root, "v0.3.0")
    shutil.copytree(kept, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    return root


def problem(folder: Path, revision: str) -> Diagnostic:
    """Why a revision cannot be run."""
    with pytest.raises(EnvironmentProblem) as caught:
        earlier_of(folder, revision, [kinds.SAMPLE])
    return caught.value.diagnostic


def test_what_a_revision_made_is_continued(repository):
    """The tree has other changes. Today's `prune` deletes the Service of the former name, until it is left out."""
    subject = subject_of(repository, package=PACKAGE)
    earlier = earlier_of(repository, "v0.2.0", subject.samples)
    [life] = earlier.lives.values()
    writes = [moment.write for moment in life.records[0].moments]
    assert writes == [*range(1, len(writes)), 0]
    services = [json.loads(each) for each in life.records[0].moments[-1].objects if b'"kind":"Service"' in each]
    assert [service["metadata"]["name"] for service in services] == ["web-svc"]

    run = functools.partial(ProjectExplorer(repository).run, subject.register, only=("explore-upgrade",))
    report = run(earlier="v0.2.0", limit=None)
    report.check()
    assert report.histories["explore-upgrade"] == len(writes)
    with pytest.raises(EnvironmentProblem, match=r"the operator of v0\.2\.0 did not end within 0\.001 s"):
        run(earlier="v0.2.0", limit=timedelta(milliseconds=1))


def test_the_sample_of_a_revision_is_made_smaller(repository):
    """The revision is run again for smaller ones."""
    change(repository, CONTROLLER, "keep=[app.spec.service.name]", 'keep=[app.spec.service.name, "web-svc"]')
    subject = subject_of(repository, package=PACKAGE)
    subject = replace(subject, earlier=earlier_of(repository, "v0.2.0", subject.samples))
    [finding] = Explorer(subject, only=("explore-upgrade",)).run().findings
    assert finding.message == "Service web-svc is left over after the upgrade from v0.2.0"
    assert finding.history.after.smaller["spec"] == {
        "deployment": {"image": "nginx:1.29", "name": "web"},
        "service": {"name": "web"},
    }


def test_a_revision_before_the_kind_has_no_work_to_continue(repository):
    """That is no fault."""
    samples = subject_of(repository, package=PACKAGE).samples
    assert not earlier_of(repository, "v0.1.0", samples).lives


def test_a_revision_that_cannot_be_imported_is_told_with_its_place(repository):
    """And what to do."""
    samples = subject_of(repository, package=PACKAGE).samples
    with pytest.raises(EnvironmentProblem) as caught:
        earlier_of(repository, "v0.3.0", samples)
    told = caught.value.diagnostic
    assert told.message.startswith("the operator of v0.3.0 cannot be run: `app_operator.__main__` cannot be imported: ")
    assert "No module named 'nothing_of_this_name'" in told.message
    assert told.notes[0].startswith(f"at {CONTROLLER}:")
    assert "install what they need" in told.help[0]


def test_a_revision_that_ends_its_process_is_told(repository):
    """With what it wrote."""
    (repository / PACKAGE / "__main__.py").write_text(
        "import ctypes\nimport os\nprint('no licence', flush=True)\nos.write(2, b'no licence')\n"
        "ctypes.CDLL(None)._exit(3)\n",
        encoding="utf-8",
    )
    commit(repository, "v0.4.0")
    with pytest.raises(EnvironmentProblem) as caught:
        earlier_of(repository, "v0.4.0", subject_of(repository, package=PACKAGE).samples)
    assert caught.value.diagnostic.message == "the operator of v0.4.0 ended its process with exit code 3"
    assert "no licence" in caught.value.diagnostic.notes[0]


@pytest.mark.parametrize("revision", ["v0.20", "--help", "v0.1.0..v0.2.0", "v0.2.0:PROJECT"])
def test_an_unknown_revision_is_told(tmp_path, revision):
    """With the nearest one, if there is one like it."""
    git(tmp_path, "init", "--quiet")
    commit(tmp_path, "v0.2.0")
    assert problem(tmp_path, "v0.2.0").message == "v0.2.0 has no project in this folder: it has no `PROJECT`"
    told = problem(tmp_path, revision)
    assert told.message == f"the repository has no revision `{revision}`"
    assert told.help


def test_without_a_repository_or_git(tmp_path, monkeypatch):
    """Both are said."""
    assert "is not in a git repository" in problem(tmp_path, "v1").message
    monkeypatch.setenv("PATH", os.devnull)
    assert problem(tmp_path, "v1").code.slug == "tool-missing"


def test_a_history_needs_the_revision_with_which_it_begins():
    """It is not saved with the history: the objects may be secret."""

    def register(manager: Manager) -> None:
        upgrades.RenamesChild(manager.client).setup(manager)

    def then(manager: Manager) -> None:
        upgrades.RenamesChild.Earlier(manager.client).setup(manager)

    subject = kinds.subject_of(register)
    known = replace(subject, earlier=record(kinds.subject_of(then), "v1"))
    [finding] = Explorer(known, only=("explore-upgrade",)).run().findings
    saved = json.dumps(finding.history.to_json())
    assert len(saved) < 1000
    history = History.from_json(json.loads(saved))
    lines = list(Explorer(known).replay(history))
    assert any("the operator creates configmaps/kiki-menu" in line for line in lines)
    assert not any("ConfigMap kiki is created" in line for line in lines)  # that was before
    with pytest.raises(EnvironmentProblem, match="this history begins with what v1 made"):
        list(Explorer(subject).replay(history))


@pytest.mark.parametrize(("operator", "findings"), [(upgrades.RenamesChild, 1), (upgrades.RenamesChildMended, 0)])
def test_other_samples_are_there_before_and_after(operator, findings):
    """Their children are theirs."""
    other = {**kinds.SAMPLE, "metadata": {"name": "lala", "namespace": "default"}}

    def subject_with_both(made: type[Keeper]) -> Subject:
        subject = kinds.subject_of(lambda manager: made(manager.client).setup(manager))
        both = [kinds.SAMPLE, other]
        return replace(subject, samples=both, neighbours=both)

    earlier = record(subject_with_both(operator.Earlier), "v1")
    for life in earlier.lives.values():
        names = [json.loads(each)["metadata"]["name"] for each in life.records[0].moments[0].objects]
        assert {"kiki", "lala"} <= set(names)
    report = Explorer(replace(subject_with_both(operator), earlier=earlier), only=("explore-upgrade",)).run()
    assert len(report.findings) == findings
    assert report.histories["explore-upgrade"] == sum(len(life.records[0].moments) for life in earlier.lives.values())


def upgraded(then: list[dict[str, Any]], today: list[dict[str, Any]], old: dict[str, Any]) -> Report:
    """What the explorer says of a right operator whose definitions and sample change. The former one did nothing."""
    earlier = record(replace(kinds.subject_of(lambda _: None, sample=old), crds=then), "v1")
    subject = kinds.subject_of(lambda manager: Keeper(manager.client).setup(manager))
    return Explorer(replace(subject, crds=today, earlier=earlier), only=("explore-upgrade",)).run()


class CreatesOnly(Keeper):
    """Never changes a child that is there."""

    async def keep(self, animal: Animal) -> None:
        """Create it."""
        if await self.client.find(ConfigMap, self.child(animal)) is None:
            await super().keep(animal)


def test_a_finding_is_told_by_the_fields_of_todays_sample_that_matter():
    """Today's sample differs in three fields from that of then. A saved history shows the same again."""
    today = {**kinds.SAMPLE, "spec": {**kinds.SAMPLE["spec"], "house": "south", "count": 90, "names": ["z"]}}
    subject = kinds.subject_of(lambda manager: CreatesOnly(manager.client).setup(manager), sample=today)
    then = kinds.subject_of(lambda manager: Keeper(manager.client).setup(manager))
    explorer = Explorer(replace(subject, earlier=record(then, "v1")), only=("explore-upgrade",))
    [finding] = explorer.run().findings
    assert list(finding.story) == [
        "The operator of v1 brings everything to rest",
        "Today's operator takes over",
        "Somebody changes Animal kiki: `spec.count = 1`",
        "Everything comes to rest",
    ]
    assert finding.message == 'ConfigMap kiki-menu: data.count is "2" instead of "1" after the upgrade from v1'
    assert finding.history.after.smaller["spec"] == {"count": 2}
    again = History.from_json(json.loads(json.dumps(finding.history.to_json())))
    lines = list(explorer.replay(again))
    assert any("patches the status of animals/kiki" in line for line in lines)
    assert not any("configmaps" in line and "creates" in line for line in lines)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_finding_is_told_by_the_fields_of_the_earlier_sample_that_matter(workers):
    """The earlier operator is run for smaller ones, also when a later exploration shows the saved history again."""
    subject = kinds.subject_of(lambda manager: NamesByHouse(manager.client).setup(manager))
    then = kinds.subject_of(lambda manager: NamesByHouse.Earlier(manager.client).setup(manager))
    found = Explorer(replace(subject, earlier=record(then, "v1")), only=("explore-upgrade",), workers=workers).run()
    [finding] = found.findings
    assert finding.message == "ConfigMap north is left over after the upgrade from v1"
    start = finding.history.after
    assert start.smaller == {**kinds.SAMPLE, "spec": {"house": "north"}}
    again = History.from_json(json.loads(json.dumps(finding.history.to_json())))
    later = Explorer(replace(subject, earlier=record(then, "v1")))
    assert any("the operator creates configmaps/north-menu" in line for line in later.replay(again))
    cluster = later.play(again)
    assert cluster.find(ConfigMap, "default/north") is not None
    assert cluster.find(ConfigMap, "default/north-menu").data == {"food": "hay", "count": "1"}


class NamesByHouse(Keeper):
    """Calls the child of an animal with a house by another name than before."""

    def name(self, animal: Animal) -> str:
        """The name of the child."""
        return f"{animal.spec.house}-menu" if animal.spec.house else "menu"

    class Earlier(Keeper):
        """The name was that of the house."""

        def name(self, animal: Animal) -> str:
            """The name of the child."""
            return animal.spec.house or "menu"


def test_objects_that_todays_schema_refuses_are_found():
    """Nobody can change them any more: a field is required that they do not have."""
    today = copy.deepcopy(kinds.CRDS)
    schema = today[0]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["required"] = ["house"]
    old = {**kinds.SAMPLE, "spec": {"food": "hay"}}
    [finding] = upgraded(kinds.CRDS, today, old).findings
    assert finding.message.startswith("the API server refuses Animal kiki as it is after the upgrade from v1: ")
    assert "spec.house" in finding.message
    schema["required"] = []
    upgraded(kinds.CRDS, today, old).check()


def test_a_dropped_version_in_which_objects_are_stored_is_found():
    """While it is there, it is fine that another one is stored."""
    then, both = copy.deepcopy(kinds.CRDS), copy.deepcopy(kinds.CRDS)
    then[0]["spec"]["versions"][0]["name"] = "v1alpha1"
    both[0]["spec"]["versions"].append({**then[0]["spec"]["versions"][0], "storage": False})
    old = {**kinds.SAMPLE, "apiVersion": "zoo.example.com/v1alpha1"}
    upgraded(then, both, old).check()
    [finding] = upgraded(then, kinds.CRDS, old).findings
    assert finding.message == (
        "the API server refuses today's definition of Animal: objects are stored in v1alpha1, which it lacks"
    )


def test_an_object_that_the_operator_itself_deletes_need_not_be_there():
    """As one with a time to live."""

    class Deletes(Keeper):
        async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
            await self.client.delete(animal, missing_ok=True)
            return None

    subject = kinds.subject_of(lambda manager: Deletes(manager.client).setup(manager))
    report = Explorer(replace(subject, earlier=record(subject, "v1")), only=("explore-upgrade",)).run()
    report.check()
    assert report.histories


def test_a_sample_in_two_versions_is_upgraded_in_each():
    """Each begins with what the earlier operator made of the sample in this version."""
    both = copy.deepcopy(kinds.CRDS)
    both[0]["spec"]["versions"].append({**both[0]["spec"]["versions"][0], "name": "v1alpha1", "storage": False})
    samples = [kinds.SAMPLE, {**kinds.SAMPLE, "apiVersion": "zoo.example.com/v1alpha1", "spec": {"count": 3}}]
    subject = kinds.subject_of(lambda manager: Keeper(manager.client).setup(manager))
    subject = replace(subject, crds=both, samples=samples)
    earlier = record(subject, "v1")
    assert [earlier.life_of(sample).sample for sample in samples] == samples
    Explorer(replace(subject, earlier=earlier), only=("explore-upgrade",)).run().check()
