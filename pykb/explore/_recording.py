"""Runs an earlier version of the operator, and keeps what it makes of the samples.

Its modules have the names of today's ones. So a process of its own imports them, from a folder with the files of the
revision: ``python -m pykb.explore._recording``.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pykb.client.codec import gvk_of
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.environment import TOOL_MISSING
from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.diagnostics.suggest import did_you_mean
from pykb.envtest.crds import read_crds
from pykb.explore._earlier import Earlier, Life, Record, name_of
from pykb.explore._history import History, Identity, Manifest, Step, Verb
from pykb.explore._outcome import Change, Moment, Outcome, unfitness
from pykb.explore._project import CRDS, SAMPLES, Subject, subject_of
from pykb.explore._runner import Runner
from pykb.explore._variants import spread
from pykb.files.durable import temporary
from pykb.meta.gvk import GroupKind
from pykb.project import FILE_NAME
from pykb.project.file import read as read_project
from pykb.project.settings import config_path
from pykb.tools import git
from pykb.tools.process import LimitError, Limits, find_program, quote, run_bounded

_MOST_MOMENTS = 8
"""In the middle of the work for one sample."""

_CHANCES = 2
"""With other random values, to know what chance made."""

_SEED = 7_919
"""Added to the seed of the worlds, or today's first objects would have the uids of those of then."""

_LIMITS = Limits(seconds=300, size=64 * 1024**2)
_REMEDY = "the modules of then are imported in today's environment: install what they need beside today's requirements"


def lives_of(subject: Subject, seed: int, samples: Sequence[Manifest]) -> list[Life | None]:
    """Run an operator for each sample, and keep what is there after its writes and in the end.

    Args:
        subject: The earlier operator. Its modules must not be imported by today's in this process.
        seed: Selects the random values of the worlds.
        samples: The samples.

    Raises:
        EnvironmentProblem: It cannot be run.
    """
    with Runner(subject, seed + _SEED) as runner:
        return [_life_of(subject, sample, runner) for sample in samples]


def _life_of(subject: Subject, sample: Manifest, runner: Runner) -> Life | None:
    """What an operator makes of a sample; ``None`` if it is refused."""
    history = History((Step(Verb.CREATE, sample),), is_kept=True, background=_around(subject, sample, runner))
    outcomes = [runner.run(replace(history, chance=chance)) for chance in range(_CHANCES)]
    records = tuple(_records(outcomes))
    is_known = not any(outcome.refused for outcome in outcomes) and all(each.moments for each in records)
    return Life(sample, records) if is_known else None


def named(lives: Iterable[Life | None]) -> dict[str, Life]:
    """The lives of samples that the operator has not refused, by the names of those."""
    return {name_of(Identity.of(life.sample)): life for life in lives if life is not None}


def _around(subject: Subject, sample: Manifest, runner: Runner) -> tuple[Manifest, ...]:
    """The other samples, unless the operator does not come to rest with them."""
    others = subject.around(sample)
    return others if others and not unfitness(runner.run(History((), background=others))) else ()


def _records(outcomes: Sequence[Outcome]) -> Iterator[Record]:
    """The same moments of each run."""
    writes = set.intersection(*({moment.write for moment in each.moments} for each in outcomes))
    chosen = {0, *spread(sorted(writes - {0}), _MOST_MOMENTS)} & writes
    for outcome in outcomes:
        moments = tuple(moment for moment in outcome.moments if moment.write in chosen)
        yield Record(moments, tuple(replace(change, by=None) for change in outcome.changes))


def earlier_of(
    root: Path, revision: str, samples: Sequence[Manifest], *, seed: int = 0, seconds: float | None = None
) -> Earlier:
    """Run the operator of a revision of the project's repository, with its own samples and definitions.

    Args:
        root: The folder of the project.
        revision: A revision as git names it: a tag, a branch, a commit.
        samples: Today's samples. Those that the revision has under another content have that one.
        seed: Selects the random values of the worlds.
        seconds: The longest time. Defaults to some minutes.

    Raises:
        EnvironmentProblem: There is no such revision, or its operator cannot be run.
    """
    order = {"name": revision, "samples": list(samples), "seed": seed}

    def play(smaller: Sequence[Manifest]) -> Sequence[Life | None]:
        lives, _ = _read(_answer_of(root, revision, {**order, "smaller": list(smaller)}, seconds), revision)
        return lives

    lives, crds = _read(_answer_of(root, revision, order, seconds), revision)
    return Earlier(revision, named(lives), crds, play=play)


def _answer_of(root: Path, revision: str, asked: dict[str, Any], seconds: float | None) -> dict[str, Any]:
    """What the operator of a revision made, as its process tells it."""
    commit = _commit_of(root, revision)
    with temporary("revision") as folder:
        tree, order, answer = folder / "tree", folder / "order.json", folder / "answer.json"
        tree.mkdir()
        commit.export(tree)
        if not (tree / FILE_NAME).is_file():
            message = f"{revision} has no project in this folder: it has no `{FILE_NAME}`"
            raise NOT_EXPLORED.problem(message, "name a later revision")
        order.write_text(json.dumps(asked), encoding="utf-8")
        argv = (sys.executable, "-P", "-m", __name__, tree, order, answer)
        variables = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        limits = _LIMITS if seconds is None else replace(_LIMITS, seconds=min(seconds, _LIMITS.seconds))
        try:
            done = run_bounded(argv, cwd=folder, stdin=b"", limits=limits, env=variables)
        except (LimitError, OSError) as error:
            raise NOT_EXPLORED.problem(f"the operator of {revision} {error}") from error
        if done.code or not answer.is_file():
            said = done.stderr.decode("utf-8", "replace")
            message = f"the operator of {revision} ended its process with exit code {done.code}"
            raise NOT_EXPLORED.problem(message, notes=quote(said, source="it wrote"))
        told: dict[str, Any] = json.loads(answer.read_bytes())
        return told


def _commit_of(root: Path, revision: str) -> git.Commit:
    if find_program(git.NAME) is None:
        raise TOOL_MISSING.problem(f"git reads {revision}, and there is no `git` on PATH")
    if not git.has_repository(root):
        message = f"the project is not in a git repository, and {revision} is a revision of one"
        raise NOT_EXPLORED.problem(message, "make it one: `git init`, then commit each version that you release")
    commit = git.Commit.find(root, revision)
    if commit is None:
        helps = did_you_mean(revision, git.names(root)) or ("name a tag, a branch or a commit: `git log --oneline`",)
        raise NOT_EXPLORED.problem(f"the repository has no revision `{revision}`", *helps)
    return commit


def _read(answer: dict[str, Any], revision: str) -> tuple[list[Life | None], list[Manifest]]:
    if "problem" in answer:
        message = f"the operator of {revision} cannot be run: {answer['problem']}"
        place = (f"at {answer['place']} of {revision}",) if answer["place"] else ()
        raise NOT_EXPLORED.problem(message, *answer["help"], notes=place)
    lives = [life and Life(life["sample"], tuple(map(_record, life["records"]))) for life in answer["lives"]]
    return lives, answer["crds"]


def _record(values: dict[str, Any]) -> Record:
    moments = [
        Moment(**each | {"objects": tuple(map(str.encode, each["objects"])), "made": frozenset(each["made"])})
        for each in values["moments"]
    ]
    changes = [
        Change(Identity(*identity), _encoded(before), _encoded(after), None, at, version)
        for identity, before, after, at, version in values["changes"]
    ]
    return Record(tuple(moments), tuple(changes))


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


# -- In the process of its own.


def _main(tree: Path, order: Path, answer: Path) -> None:
    asked = json.loads(order.read_bytes())
    try:
        result = _answer(_subject_of(tree, asked["samples"]), asked)
    except EnvironmentProblem as problem:
        remedy = [_REMEDY] if isinstance(problem.__cause__, ImportError) else []
        result = _problem(problem.diagnostic, remedy)
    answer.write_text(json.dumps(result), encoding="utf-8")


def _subject_of(tree: Path, samples: Sequence[Manifest]) -> Subject:
    """The operator of a tree. Samples that it does not have are today's ones."""
    project, _ = read_project(tree)
    definitions = [crd["spec"] for _, crd in read_crds(filter(Path.is_dir, [config_path(tree, CRDS)]))]
    own = [GroupKind(spec["group"], spec["names"]["kind"]) for spec in definitions]
    wanted = [each for each in samples if gvk_of(each).group_kind in own]
    if not wanted:
        return Subject(lambda _: None, (), ())
    folder = config_path(tree, SAMPLES)
    folder.mkdir(parents=True, exist_ok=True)
    # It is read first: a sample of the tree replaces the same one of today.
    (folder / "!.yaml").write_text("\n---\n".join(map(json.dumps, wanted)), encoding="utf-8")
    subject = subject_of(tree, package=project.package)
    keys = {Identity.of(each).key for each in wanted}
    return replace(subject, samples=[each for each in subject.samples if Identity.of(each).key in keys])


def _answer(subject: Subject, asked: dict[str, Any]) -> dict[str, Any]:
    found = lives_of(subject, asked["seed"], asked.get("smaller") or subject.samples)
    lives = [life and {"sample": life.sample, "records": [_values(each) for each in life.records]} for life in found]
    return {"lives": lives, "crds": list(subject.crds)}


def _values(record: Record) -> dict[str, Any]:
    return {
        "moments": [
            asdict(moment) | {"objects": [each.decode() for each in moment.objects], "made": sorted(moment.made)}
            for moment in record.moments
        ],
        "changes": [
            (each.identity, _decoded(each.before), _decoded(each.after), each.at, each.version)
            for each in record.changes
        ],
    }


def _decoded(content: bytes | None) -> str | None:
    return None if content is None else content.decode()


def _problem(diagnostic: Diagnostic, remedy: list[str]) -> dict[str, Any]:
    span = diagnostic.span
    place = f"{span.path}:{span.line}" if span is not None else ""
    return {"problem": diagnostic.message, "place": place, "help": [*diagnostic.help, *remedy]}


if __name__ == "__main__":
    _main(*map(Path, sys.argv[1:]))
