"""``pykb explore``: looks for faults of the operator in memory, without a cluster."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, EXIT_INTERRUPTED, refuse, report
from pykb.cli.options import complete_kinds, taking
from pykb.project.options import option

if TYPE_CHECKING:
    from pykb.explore import Explorer, Progress, Report, Subject

_LARGEST = 10_000_000
"""The most bytes of a saved history. An object of etcd has at most 1.5 MB."""

_HEAD = 200
"""Characters of a report in which it says who made it."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of ``explore``."""

    seconds: float | None = option("Stop after this time.  [default: run everything]", "SECONDS", default=None, least=1)
    histories: int | None = option(
        "Stop after so many histories.  [default: run everything]", "N", default=None, least=1
    )
    seed: int | None = option("Selects the random values of the worlds.  [default: 0]", "N", default=None)
    only: tuple[str, ...] = option(
        "Look only for these codes, such as `explore-crash`.", "CODE,...", default=(), completion="explorer codes"
    )
    ignore: tuple[str, ...] = option(
        "A field that may differ, such as `Deployment.spec.replicas`, or a code to leave out. Repeatable.",
        "FIELD",
        default=(),
    )
    once: tuple[str, ...] = option(
        "A kind that has an effect when it is created, such as `Mail`, beside Jobs and Pods. Repeatable.",
        "KIND",
        default=(),
    )
    workers: int | None = option("How many processes run histories.  [default: one a core]", "N", default=None, least=1)
    replay: Path | None = option(
        "Run one history again, such as one in .pykb/explore.", "FILE", default=None, completion="histories"
    )
    pdb: bool = option(
        "With `--replay`: stop in pdb at the line of the finding, each time it is reached.", default=False
    )
    earlier: str = option(
        "Let today's code also continue the work of this git revision: a tag, a branch or a commit.",
        "REV",
        flag="--from",
        default="",
    )
    html: Path | None = option(
        "Write a page with a picture of each finding. It needs no network.", "FILE", default=None
    )
    junit: Path | None = option("Write the findings as JUnit's XML, for CI.", "FILE", default=None)
    export: Path | None = option(
        "Write each finding as a pytest into this folder. It fails until the operator is mended.",
        "FOLDER",
        default=None,
    )
    only_sample: bool = option("Leave the other samples of the project out while one is explored.", default=False)
    from_cluster: bool = option(
        "Explore the objects of your kinds in the kubeconfig's namespace, with what is around them. It only reads, and "
        "replaces the values of Secrets.",
        default=False,
    )
    from_objects: Path | None = option(
        "The same with the objects in a file that `kubectl get -o yaml` has printed.", "FILE", default=None
    )
    crd: tuple[str, ...] = option(
        "Without a project: a file or folder with the CustomResourceDefinitions. Repeatable.",
        "FILE",
        default=(),
        completion="yaml",
    )
    sample: tuple[str, ...] = option(
        "Without a project: a file with an object that the handlers work on. Repeatable.",
        "FILE",
        default=(),
        completion="yaml",
    )


@taking(Options)
def explore(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KIND | FILE.py ...]",
            help="Only samples of this kind. Without a project: files with handlers of kopf.",
            autocompletion=complete_kinds,
        ),
    ] = None,
    *,
    options: Options,
) -> None:
    """Look for faults of the operator: crashes, failed requests, stale caches, changed specs, and more.

    Runs the project's own `register` on an API server in memory and in virtual time, with the samples in
    config/samples. Needs no cluster. Each finding is told as the shortest history that shows it, and saved in
    .pykb/explore to run it again. Ctrl-C shows what was found until then. Exits with 1 if there are findings.

    Operators of kopf need no project: name the files with handlers, those with the CustomResourceDefinitions, and
    those with samples.

    Examples:
      pykb explore
      pykb explore Machine --seconds 60
      pykb explore --only explore-crash,explore-leak
      pykb explore --from v1.2.0 --only explore-upgrade
      pykb explore --from-cluster
      pykb explore --replay .pykb/explore/1-explore-crash.json
      pykb explore --html findings.html
      pykb explore handlers.py --crd crd.yaml --sample cr.yaml
    """
    from pykb.cli.console import ProgressReporter
    from pykb.explore import Explorer, junit

    if options.pdb and options.replay is None:
        example = "for example: `pykb explore --replay .pykb/explore/1-explore-crash.json --pdb`"
        refuse("`--pdb` goes with `--replay FILE`", example)
    began = time.monotonic()
    root, subject = _subject(what or [], options)
    spent = time.monotonic() - began if any(value for _, value in _beginnings(options)) else 0.0
    if options.replay is not None:
        _replay(subject, options.replay, root if options.pdb else None)
        return
    for path in (options.html, options.junit):
        _check_place(path)
    _check_export(what or [], options)
    seconds, seed = subject.settings.seconds, subject.settings.seed
    explorer = Explorer(
        subject,
        seconds=None if seconds is None else max(0.0, seconds - spent),
        seed=seed,
        only=options.only,
        ignore=options.ignore,
        workers=options.workers or _cores(),
    )
    with _stopping(explorer) as stopped:
        explorer.start()  # the workers are forked: before the reporter has a thread
        with ProgressReporter() as reporter:
            step = reporter.step("exploring")

            def show(progress: Progress) -> None:
                if progress.histories % 10 == 0:
                    found = f"{progress.findings} finding{'s' * (progress.findings != 1)}"
                    parts = (f"{progress.histories} histories", progress.lines, found, progress.code)
                    step.update(", ".join(part for part in parts if part))

            result = explorer.run(show)
            step.done(f"{result.histories.total()} histories")
    saved = [path.relative_to(root) for path in _save(result, root, seed)]
    again = [f"pykb explore {_words_again(what or [], options)}--replay {path}" for path in saved]
    _tell(result, again, saved)
    if options.html is not None:
        _write(options.html, explorer.page(result, again))
    if options.junit is not None:
        _write(options.junit, junit(result))
    if options.export is not None:
        _export(result, subject, options.export, seed)
    if stopped:
        raise typer.Exit(EXIT_INTERRUPTED)
    if result.findings or result.problems:
        raise typer.Exit(EXIT_FINDINGS)
    console.say("no findings in what was tried" if result.unfinished else "no findings")


def _subject(what: Sequence[str], options: Options) -> tuple[Path, Subject]:
    """What to explore: files with handlers, or a project."""
    from pykb.cli.project import require_project
    from pykb.explore import subject_of, subject_of_files

    files = [Path(each) for each in what if each.endswith(".py")]
    _check_words(what, files, options)
    if files:
        _fix_hashes()
        _check_all_codes(options)
        root = Path.cwd()
        crds, samples = list(map(Path, options.crd)), list(map(Path, options.sample))
        return root, _with_limits(subject_of_files(files, crds=crds, samples=samples, once=options.once), options)
    root, project = require_project(writes=False, imports=True)
    _fix_hashes()
    _check_all_codes(options)
    kind = what[0] if what else ""
    subject = subject_of(root, package=project.package, kind=kind, once=options.once, only_sample=options.only_sample)
    subject = _with_limits(subject, options)
    if options.earlier:
        return root, _with_earlier(subject, root, options)
    if options.from_cluster or options.from_objects is not None:
        return root, _with_record(subject, kind, options)
    return root, subject


def _with_limits(subject: Subject, options: Options) -> Subject:
    from dataclasses import replace

    settings = subject.settings.over(seconds=options.seconds, histories=options.histories, seed=options.seed)
    return replace(subject, settings=settings)


def _with_earlier(subject: Subject, root: Path, options: Options) -> Subject:
    """A subject that continues the work of a revision. Samples that the revision does not know are named."""
    from dataclasses import replace

    from pykb.explore import earlier_of

    settings = subject.settings
    earlier = earlier_of(root, options.earlier, subject.samples, seed=settings.seed, seconds=settings.seconds)
    for sample in subject.samples:
        if earlier.life_of(sample) is None:
            name = f"{sample['kind']} {sample['metadata']['name']}"
            console.say(f"note: {options.earlier} does not know {name}: its upgrade is not explored")
    return replace(subject, earlier=earlier)


def _with_record(subject: Subject, kind: str, options: Options) -> Subject:
    """The objects that a cluster has, in place of the samples. What was read and left out is said."""
    from pykb.explore import recorded_in_cluster, recorded_in_file, with_record

    file = options.from_objects
    recorded = recorded_in_cluster(subject) if file is None else recorded_in_file(file, subject)
    console.say(f"read from {recorded.name}: {str(recorded) or 'no objects'}")
    for note in recorded.notes:
        console.say(f"note: {note}")
    explored, note = with_record(subject, recorded, kind, only_sample=options.only_sample)
    if note:
        console.say(f"note: {note}")
    return explored


def _check_words(what: Sequence[str], files: Sequence[Path], options: Options) -> None:
    """Check that the words are one kind, or files with what goes with them."""
    example = "for example: `pykb explore handlers.py --crd crd.yaml --sample cr.yaml`"
    others = [each for each in what if not each.endswith(".py")]
    if (files and others) or len(others) > 1:
        refuse(f"`{others[-1]}` is one word too many: name a kind, or files", example)
    begins = [flag for flag, value in _beginnings(options) if value]
    if len(begins) > 1:
        refuse(f"`{begins[0]}` and `{begins[1]}` exclude each other", "name one")
    if files and begins:
        refuse(f"`{begins[0]}` goes with a project", "make a project of the handlers: `pykb init`")
    if not files and (options.crd or options.sample):
        given = "--crd" if options.crd else "--sample"
        refuse(f"`{given}` goes with files of handlers", example)


def _beginnings(options: Options) -> list[tuple[str, object]]:
    """The options that let histories begin with other objects."""
    return [
        ("--from", options.earlier),
        ("--from-cluster", options.from_cluster),
        ("--from-objects", options.from_objects),
    ]


def _check_all_codes(options: Options) -> None:
    from pykb.diagnostics.codes.explore import UPGRADE

    if UPGRADE.slug in options.only and not any(value for _, value in _beginnings(options)):
        message = f"`--only {UPGRADE.slug}` has nothing to explore"
        refuse(message, "name the revision from which to upgrade: `--from v1.2.0`")
    _check_codes(options.only, "--only")
    _check_codes([each for each in options.ignore if each.startswith("explore-")], "--ignore")


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


@contextlib.contextmanager
def _stopping(explorer: Explorer) -> Iterator[list[int]]:
    """Let the first Ctrl-C end the exploration early, and the next one the command. Yields the signals so far."""
    before = signal.getsignal(signal.SIGINT)
    got: list[int] = []

    def stop(number: int, _frame: object) -> None:
        got.append(number)
        signal.signal(signal.SIGINT, before)
        explorer.stop()

    signal.signal(signal.SIGINT, stop)
    try:
        yield got
    finally:
        signal.signal(signal.SIGINT, before)


def _fix_hashes() -> None:
    """Start again with fixed hashes: the order of sets in the user's code must be the same each time.

    A debugger would lose the program by that.
    """
    from pykb.explore._watch import is_debugged

    if os.environ.get("PYTHONHASHSEED") == "0" or sys.flags.interactive:
        return
    if is_debugged():
        console.say("note: sets have another order each time: start the debugger with PYTHONHASHSEED=0")
    else:
        arguments = [sys.executable, "-P", "-m", "pykb", *console.settings.argv]
        os.execve(sys.executable, arguments, {**os.environ, "PYTHONHASHSEED": "0"})  # noqa: S606 - this program


def _check_codes(codes: Sequence[str], flag: str) -> None:
    from pykb.diagnostics.suggest import did_you_mean
    from pykb.explore import CODES

    for code in codes:
        if code not in CODES:
            helps = did_you_mean(code, CODES) or (f"the codes: {', '.join(CODES)}",)
            refuse(f"`{flag}` does not know `{code}`", *helps)


def _words_again(what: Sequence[str], options: Options) -> str:
    """What a command must name to explore the same again: a project is found without words."""
    files = [each for each in what if each.endswith(".py")]
    given = [("--crd", each) for each in options.crd] + [("--sample", each) for each in options.sample]
    given += [("--from", options.earlier)] if options.earlier else []
    given += [("--from-objects", str(options.from_objects))] if options.from_objects is not None else []
    words = [*files, *(word for pair in given for word in pair), *(["--from-cluster"] * options.from_cluster)]
    return shlex.join(words) + " " * bool(words)


def _tell(result: Report, again: Sequence[str], saved: Sequence[Path]) -> None:
    """Tell what was found, with the commands that run the history of each finding again."""
    from pykb.explore._report import SEARCH

    report([*result.diagnostics(), *result.notes()])
    if console.data(_document(result, saved)):
        return
    if again:
        what = "it" if len(again) == 1 else f"the first of the {len(again)} histories"
        console.say(f"to run {what} again: `{again[0]}`")
    histories = ", ".join(f"{slug.removeprefix('explore-')} {count}" for slug, count in result.histories.items())
    if total := result.histories.total():
        runs = f"{result.runs} run{'s' * (result.runs != 1)}"
        lines = f", {result.lines()} of the operator" if result.lines() else ""
        console.say(f"{total} histor{'y' if total == 1 else 'ies'} in {runs} ({histories}){lines}")
    if result.left_out:
        console.say(
            f"{result.left_out} other specs of the samples were not tried: those tried are spread over the fields"
        )
    if result.refused:
        acts = list(dict.fromkeys(act for _, act in result.refused))
        (first, why), *_ = [(act, why) for (_, act), why in result.refused.items()]
        kinds = ", ".join(sorted({slug.removeprefix("explore-") for slug, _ in result.refused}))
        number = f"{len(acts)} act{'s' * (len(acts) > 1)}"
        console.say(f"the API server refused {number} of somebody, which is no fault, and was not tried ({kinds})")
        console.say(f"the first one: {first}: {why}")
    codes = [slug for slug in result.unfinished if slug != SEARCH]
    untried = [slug for slug in codes if not result.histories[slug]]
    begun = [slug for slug in codes if result.histories[slug]]
    if begun:
        console.say(f"not all histories of these codes were run: {', '.join(begun)}")
    if untried:
        console.say(f"no history of these codes was run: {', '.join(untried)}")
    if left := result.left_of(SEARCH):
        console.say(left)


def _document(result: Report, replays: Sequence[Path]) -> dict[str, object]:
    """What was tried, for programs."""
    return {
        "findings": [
            {"code": finding.code.slug, "message": finding.message, "replay": str(replay)}
            for finding, replay in zip(result.findings, replays, strict=True)
        ],
        "histories": dict(result.histories),
        "finished": result.finished(),
        "lines": {
            "run": result.coverage.run,
            "total": result.coverage.total,
            "unreached": [{"path": each.path, "first": each.first, "last": each.last} for each in result.unreached],
        },
        "runs": result.runs,
        "specsLeftOut": result.left_out,
        "unfinished": result.unfinished,
    }


def _save(result: Report, root: Path, seed: int) -> list[Path]:
    """Keep the histories of the findings, in place of the last ones."""
    from pykb.files.state import EXPLORED, opened

    if not result.findings:
        return []
    paths = []
    with opened(root, EXPLORED) as folder:
        for old in folder.names():
            if old.endswith(".json"):
                folder.remove(old)
        for number, finding in enumerate(result.findings, start=1):
            name = f"{number}-{finding.code.slug}.json"
            line = f"{finding.span.path}:{finding.span.line}" if finding.span is not None else ""
            content = {"finding": finding.message, "line": line, "seed": seed, "history": finding.history.to_json()}
            folder.write(name, json.dumps(content, indent=2).encode() + b"\n")
            paths.append(folder.path / name)
    return paths


def _check_place(path: Path | None) -> None:
    """Check, before the exploration, that a report can be written. It replaces only an earlier one."""
    from pykb._regular_file import read_text
    from pykb.explore import MADE_BY

    if path is None:
        return
    if not path.parent.is_dir():
        refuse(f"`{path}` cannot be written: there is no folder `{path.parent}`")
    if not path.exists() and not path.is_symlink():
        return
    try:
        is_ours = MADE_BY in read_text(path)[:_HEAD]
    except (OSError, UnicodeDecodeError):
        is_ours = False
    if not is_ours:
        message = f"`{path}` is there already, and `pykb explore` did not write it"
        refuse(message, "name another file, or remove it")


def _check_export(what: Sequence[str], options: Options) -> None:
    """Check, before the exploration, that tests can be written."""
    if options.export is None:
        return
    if any(each.endswith(".py") for each in what) or any(value for _, value in _beginnings(options)):
        message = "`--export` writes tests of a project that begin with its samples, without another beginning"
        refuse(message, "for example: `pykb explore --export tests`")
    if not options.export.is_dir():
        refuse(f"there is no folder `{options.export}` for tests", "create it")


def _export(result: Report, subject: Subject, folder: Path, seed: int) -> None:
    """Write a test for each finding that can be written as one. Files that are there stay."""
    from pykb.cli.project import require_project
    from pykb.explore import Explorer, name_of, test_of

    _, project = require_project(writes=False, imports=True)
    for finding in result.findings:
        path = folder / name_of(finding)
        text = test_of(finding, Explorer(subject, seed=seed).play(finding.history), package=project.package, seed=seed)
        if not text:
            console.say(f"not written as a test, since no state shows it: {finding.message}")
        elif path.exists() or path.is_symlink():
            console.say(f"`{path}` is there already, and stays as it is")
        else:
            _write(path, text.encode())


def _write(path: Path, content: bytes) -> None:
    from pykb.files.durable import Folder

    with Folder.open(path.parent.resolve()) as folder:
        folder.put(path.name, content, mode=0o644)
    console.say(f"written: {path}")


def _replay(subject: Subject, path: Path, root: Path | None) -> None:
    """Run a history again, in pdb if there is a folder of the code."""
    from pykb._regular_file import read_bytes
    from pykb.explore import Explorer, History
    from pykb.reading import read_json

    try:
        saved = read_json(read_bytes(path, most=_LARGEST))
        history, seed = History.from_json(saved["history"]), int(saved["seed"])
        file, _, line = str(saved.get("line", "")).rpartition(":")
        number = int(line or 0)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        refuse(f"`{path}` holds no history: {reason}")
    with _debugging(root, file, number):
        for told in Explorer(subject, seed=seed).replay(history):
            console.out(told)


@contextlib.contextmanager
def _debugging(root: Path | None, file: str, line: int) -> Iterator[None]:
    """Stop at a line, unless there is no folder of the code."""
    if root is None:
        yield
        return
    import bdb

    from pykb.explore import stopping_at

    if not file:
        console.say("note: this finding has no line: only `breakpoint()` in your code stops")
    try:
        with stopping_at(str((root / file).resolve()) if file else "", line):
            yield
    except bdb.BdbQuit:
        raise typer.Exit(EXIT_FINDINGS) from None
