"""The tutorials' code, put where they say, passes the checks that `make` runs, and does what they say."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.commands.options import NewApi, NewProject
from tests.unit.plugins.conftest import Grow, pykb

TUTORIALS = Path(__file__).parents[3] / "docs/tutorials"
TUTORIAL = TUTORIALS / "getting-started.md"
FAULTS = TUTORIALS / "faults.md"


def put(path: Path, code: str, *, start: str, end: str) -> None:
    """Replace the lines from one text up to another by those of the tutorial."""
    text = path.read_text(encoding="utf-8")
    first, last = text.index(start), text.index(end)
    path.write_text(f"{text[:first]}{code}\n{text[last:]}", encoding="utf-8")


def test_the_tutorials_code_is_clean(grow: Grow, mypy_cache: Path) -> None:
    """Types and controller: generated, formatted as `make fmt` does it, then nothing is found."""
    root = grow(NewProject("sealyun.com", "sealvm", owner="fanux"), NewApi("infra", "v1", "VirtulMachine"))
    types, controller = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    kind = "# +kubebuilder:subresource"
    put(root / "sealvm/api/v1/virtulmachine_types.py", f"{types}\n", start="class VirtulMachineSpec", end=kind)
    reconcile = "    async def reconcile"
    put(root / "sealvm/controllers/virtulmachine_controller.py", controller, start=reconcile, end="    def setup")

    makefile = (root / "Makefile").read_text(encoding="utf-8")
    (fmt,) = re.findall(r"\$\(RUN\) ruff (check --quiet .*)", makefile)
    for command in (
        ["ruff", *fmt.split()],
        ["ruff", "format", "--check", "."],
        ["ruff", "check", "."],
        ["mypy", "--cache-dir", str(mypy_cache), "."],
    ):
        done = subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    pykb(root, "generate")
    crd = (root / "config/crd/bases/infra.sealyun.com_virtulmachines.yaml").read_text(encoding="utf-8")
    assert "description: Number of virtual CPUs." in crd


class Press:
    """The project of the tutorial on faults."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.types = root / "press/api/v1/site_types.py"
        self.controller = root / "press/controllers/site_controller.py"

    def run(self, *words: str, code: int = 0) -> str:
        """Run a module of this environment; gives what it says to people."""
        command = [sys.executable, "-m", *words]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr

    def begin(self, types: str, sample: str, controller: str) -> None:
        """Put the first blocks where the tutorial says."""
        put(self.types, f"{types}\n", start="class SiteSpec", end="# +kubebuilder:subresource")
        edit(self.types, "from pykb.api.meta.v1 import Condition\n", "")
        edit(
            self.types,
            "from pykb.api import",
            "from datetime import datetime\nfrom typing import Annotated\n\nfrom pykb.api import",
        )
        edit(self.root / "config/samples/web_v1_site.yaml", "  foo: bar\n", sample)
        text = self.controller.read_text(encoding="utf-8")
        self.controller.write_text(text[: text.index("from pykb")] + controller, encoding="utf-8")

    def mend(self, method: str, names: list[str]) -> None:
        """Put a method in the place of the one of its name, and import what it needs."""
        text = self.controller.read_text(encoding="utf-8")
        name = re.findall(r"def (\w+)", method)[0]
        found = next(node for node in ast.walk(ast.parse(text)) if getattr(node, "name", "") == name)
        lines = text.splitlines(keepends=True)
        lines[found.lineno - 1 : found.end_lineno] = [method]  # type: ignore[attr-defined]
        text = "".join(lines)
        known = re.findall(r"from pykb.runtime import (.*)", text)[0]
        every = sorted({*known.split(", "), *names}, key=lambda each: (each[0].islower(), each))
        text = text.replace(known, ", ".join(every))
        if "datetime" not in text.partition("class ")[2]:
            text = re.sub(r"from datetime import .*\n\n", "", text)
            types = self.types.read_text(encoding="utf-8").replace("from datetime import datetime\n", "")
            field = re.search(r'\n    checked_at.*\n    """.*"""\n', types)
            self.types.write_text(types.replace(field[0], "") if field else types, encoding="utf-8")
        self.controller.write_text(text, encoding="utf-8")

    def check(self) -> None:
        """What `make` does."""
        pykb(self.root, "generate")
        for words in (["check", "-q", "."], ["format", "-q", "--check", "."]):
            self.run("ruff", *words)

    def explore(self, command: str) -> str:
        """What a command of the explorer says, without its progress and the number of histories."""
        words = shlex.split(command)
        command = [sys.executable, "-P", "-m", *words]
        seed = {"PYTHONHASHSEED": "0"}  # else, it would start itself again
        done = subprocess.run(
            command, cwd=self.root, env={**os.environ, **seed}, capture_output=True, text=True, check=False
        )
        return "".join(
            line for line in done.stderr.splitlines(keepends=True) if not re.match(r"exploring|\d+ histor", line)
        )


def edit(path: Path, *pairs: str) -> None:
    """Replace texts, each of which occurs once."""
    text = path.read_text(encoding="utf-8")
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")


@pytest.mark.timeout(300)  # thirty programs, which take long on a busy machine
def test_the_explorer_says_what_the_tutorial_shows(
    grow: Grow, request: pytest.FixtureRequest, mypy_cache: Path
) -> None:
    """After each mend, to the letter. In the end it finds nothing. `--update-golden` writes the page."""
    original, page, done = FAULTS.read_text(encoding="utf-8"), "", 0
    press = Press(grow(NewProject("example.com", "press"), NewApi("web", "v1", "Site")))
    blocks = list(re.finditer(r"^```(\w+)\n(.*?)^```$", original, re.DOTALL | re.MULTILINE))
    types, sample, controller, *rest = [each[2] for each in blocks if each[1] in ("python", "yaml")]
    press.begin(types, sample, controller)
    press.check()
    shown = 0
    for block, answer in zip(blocks, [*blocks[1:], None], strict=True):
        if block[1] == "python" and block[2] in rest:
            before = original[: block.start()].rpartition("```")[2]
            press.mend(block[2], re.findall(r"Import `(\w+)` from `pykb.runtime`", before))
            press.check()
        elif block[2].startswith("pykb explore"):
            said = press.explore(block[2])
            if answer is not None and answer[1] == "text":
                shown += 1
                page += f"{original[done : answer.start()]}```text\n{said}```"
                done = answer.end()
    assert shown == 6
    assert said.endswith("no findings\n")
    press.run("mypy", "--cache-dir", str(mypy_cache), ".")
    page += original[done:]
    if request.config.getoption("--update-golden"):
        FAULTS.write_text(page, encoding="utf-8")
    else:
        assert original == page
