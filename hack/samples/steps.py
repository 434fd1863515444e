"""The steps of a recipe: run pykb, edit a scaffolded file, add an own file."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from pykb.cli import app

TESTDATA = Path(__file__).resolve().parents[2] / "testdata"

Step = Callable[[Path], None]
"""Changes the project in a directory of its name."""


def pykb(*arguments: str) -> Step:
    """Run a command line of pykb in the project. In this process: to import pykb takes longer than most commands."""

    def step(project: Path) -> None:
        told = StringIO()
        with chdir(project), redirect_stdout(told), redirect_stderr(told):
            code = app.run(arguments)
        if code:
            sys.exit(f"{project.name}: pykb {' '.join(arguments)}: exit {code}\n{told.getvalue()}")

    return step


def replace(path: str, *edits: tuple[str, str]) -> Step:
    """Replace texts that occur exactly once in a file."""

    def step(project: Path) -> None:
        file = project / path
        text = file.read_text(encoding="utf-8")
        for old, new in edits:
            if text.count(old) != 1:
                sys.exit(f"{project.name}: {path}: expected once, found {text.count(old)} times: {old!r}")
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")

    return step


def own(*paths: str) -> Step:
    """Take files that the author wrote from the committed project."""

    def step(project: Path) -> None:
        for path in paths:
            (project / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(TESTDATA / project.name / path, project / path)

    return step


def delete(path: str) -> Step:
    """Delete a file, as an author would."""
    return lambda project: (project / path).unlink()


def init(*arguments: str) -> Step:
    """Run `pykb init` with the licence and the owner of every sample."""
    return pykb("init", "--license", "apache2", "--owner", "fanux", *arguments)


def create_api(group: str, version: str, kind: str, *arguments: str) -> Step:
    """Run `pykb create api`; the manifests are generated at the end."""
    return pykb("create", "api", "--group", group, "--version", version, "--kind", kind, "--no-make", *arguments)


def create_webhook(group: str, version: str, kind: str, *arguments: str) -> Step:
    """Run `pykb create webhook`; the manifests are generated at the end."""
    return pykb("create", "webhook", "--group", group, "--version", version, "--kind", kind, "--no-make", *arguments)
