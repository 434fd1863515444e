"""The tutorial to a complete operator: every command typed, every block pasted, in order, and what it shows compared.

The page is the source. A block with a title is a file, or with `+` and `-` a change of one. A block `sh` is typed. A
block `text` after it is what one sees, in which `…` stands for anything. A block without a language is not typed: it
needs a registry and nodes. The image is built in a folder, by the lines of the Dockerfile.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hack.tutorial import PAGE, blocks, paste
from pykb.envtest import ControlPlane, get_assets
from pykb.envtest.crds import wait_until_deleted
from tests.conftest import EXPLORE_BRIEFLY
from tests.golden_projects.image import build

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]

PROGRESS = re.compile(r"^(exploring|\d+ histor).*\n", re.MULTILINE)
PATIENCE = 60
DEFINITION = "cronjobs.batch.example.com"
PYTHON = f"""#!/usr/bin/env bash
# Makes and fills an environment without a package index: it has what runs these tests. Otherwise it is that Python.
case "$*" in
  hack/environment.py) mkdir -p .venv/bin && cp "$0" .venv/bin/python && touch .venv/.made ;;
  *) exec '{sys.executable}' "$@" ;;
esac
"""
OVERDUE = """kubectl patch cronjobs.batch.example.com cronjob-sample --subresource=status --type=merge \
--patch '{"status": {"lastScheduleTime": "2026-01-01T00:00:00Z"}}'
"""
"""The reader waits for the next minute. The test does not."""


class Reader:
    """Follows the page in a directory."""

    def __init__(self, directory: Path, control_plane: ControlPlane, mypy_cache: Path) -> None:
        programs = directory / "bin"
        programs.mkdir()
        self.home, self.directory = directory, directory
        for name, text in {"python3": PYTHON, "pykb": f"#!/bin/sh\nexec '{sys.executable}' -m pykb \"$@\"\n"}.items():
            (programs / name).write_text(text, encoding="utf-8")
            (programs / name).chmod(0o755)
        kubectl = get_assets(kubectl=True).kubectl
        assert kubectl is not None
        (programs / "kubectl").symlink_to(kubectl)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "PYTHON"))},
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PYTHON": str(programs / "python3"),
            "KUBECONFIG": str(control_plane.kubeconfig),
            "USE_EXISTING_CLUSTER": "true",
            "MYPY_CACHE_DIR": str(mypy_cache),
            **EXPLORE_BRIEFLY,
            "PYTHONHASHSEED": "0",  # else, the explorer would start itself again
            "PYKB_HANDED_OVER": "1",  # the environment of these tests stands for .venv
            "NO_COLOR": "1",
        }

    def type(self, commands: str) -> str:
        """Run commands and give what they print, without the progress of the explorer."""
        where = self.home / "where"
        done = subprocess.run(
            ["bash", "-c", f"set -e\n{commands}\npwd >{where}"],
            cwd=self.directory,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        is_finding = done.returncode == 1 and commands.startswith("pykb explore")
        assert done.returncode == 0 or is_finding, f"{commands}\n{done.stdout}"
        if not is_finding:
            self.directory = Path(where.read_text(encoding="utf-8").strip())
        return PROGRESS.sub("", done.stdout)

    @contextmanager
    def running(self, command: str) -> Iterator[None]:
        """Run a program until the end of a block, which Ctrl-C ends."""
        with (self.home / "log").open("w") as log:
            process = subprocess.Popen(
                command.split(),
                cwd=self.directory,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.wait(PATIENCE)


def shows(expected: str, seen: str) -> bool:
    """Whether somebody sees what the page shows. The width of a column depends on what is in it."""
    parts = re.sub(" +", " ", expected).split("…")
    return re.fullmatch(".*".join(map(re.escape, parts)), re.sub(" +", " ", seen), re.DOTALL) is not None


@pytest.fixture
def reader(tmp_path: Path, control_plane: ControlPlane, mypy_cache: Path) -> Iterator[Reader]:
    """Somebody with an empty directory and a cluster, which is as before in the end."""
    reader = Reader(tmp_path, control_plane, mypy_cache)
    yield reader
    reader.type(f"kubectl delete jobs --all; kubectl delete crd --wait=false --ignore-not-found {DEFINITION}")
    wait_until_deleted(control_plane.rest(), DEFINITION, time.monotonic() + PATIENCE)
    reader.type("test ! -f dist/install.yaml || kubectl delete --wait=false --ignore-not-found -f dist/install.yaml")


def follow(reader: Reader, page: str) -> Iterator[tuple[re.Match[str], str]]:
    """Do what the page says. Yields each block that shows an output, with what was seen."""
    manager, commands, seen = None, "", ""
    for block in blocks(page):
        language, title, body = block.groups()
        if title:
            paste(reader.directory / title, language, body)
        elif language == "sh" and body.endswith("make run\n"):
            reader.type(body.removesuffix("make run\n").partition("\n")[2] + OVERDUE)
            manager = reader.running("make run")
            manager.__enter__()
        elif language == "sh":
            if manager and "delete" in body:
                manager.__exit__(None, None, None)
                manager = None
            commands, seen = body, reader.type(body)
        elif language == "text":
            deadline = time.monotonic() + PATIENCE
            while manager and not shows(body, seen) and time.monotonic() < deadline:
                time.sleep(0.5)
                seen = reader.type(commands)
            yield block, seen


def check_image(project: Path, folder: Path) -> None:
    """The packages of `dependencies` and the code are all that the manager needs."""
    image = build(project, folder)
    (packages,) = (image / folder.relative_to("/") / "opt/venv/lib").glob("python*/site-packages")
    found = {path.name for path in packages.iterdir()}
    assert {"cronsim", "pykb", "aiohttp"} <= found
    assert found.isdisjoint({"pip", "pytest", "mypy", "ruff", "typer", "hypothesis"})
    assert not (image / "bin/sh").exists()
    # What the Dockerfile runs last, with the environment that was collected.
    command = [folder / "opt/venv/bin/python", "-P", "-c", "import cron.__main__"]
    environment = {"PYTHONPATH": str(folder / "app"), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, env=environment, check=True)


def test_the_reader_sees_what_the_page_shows(reader: Reader, request: pytest.FixtureRequest) -> None:
    """In the end, formatter, linter, type checker, all tests and the explorer are content. `--update-golden` writes."""
    page = PAGE.read_text(encoding="utf-8")
    differences, written, done = [], "", 0
    for block, seen in follow(reader, page):
        if not shows(block[3], seen):
            differences.append(f"{block[3]}\nbut the reader sees\n\n{seen}")
            written += page[done : block.start(3)] + seen
            done = block.end(3)
    if request.config.getoption("--update-golden"):
        PAGE.write_text(written + page[done:], encoding="utf-8")
    else:
        assert not differences, differences[0]

    check_image(reader.directory, reader.home / "built")
