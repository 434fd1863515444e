"""Measures the cost of the command line, compared with the start of Python in the same run."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Command, in_turn, table

BARE = "python -c pass"
ROUNDS = 9


def main() -> None:
    """Measure start-up, `create api --no-make` and `generate` for one kind."""
    pykb = str(Path(sys.executable).with_name("pykb"))
    with tempfile.TemporaryDirectory() as folder:
        scaffolded = Path(folder, "scaffolded")
        new_project(pykb, scaffolded, api=False)
        fresh = Path(folder, "fresh")
        whole = Path(folder, "whole")
        new_project(pykb, whole, api=True)

        def renew() -> None:
            shutil.rmtree(fresh, ignore_errors=True)
            shutil.copytree(scaffolded, fresh)

        costs = in_turn(
            [
                Command(BARE, (sys.executable, "-c", "pass")),
                Command("pykb version", (pykb, "version")),
                Command("pykb --help", (pykb, "--help")),
                Command("pykb create api --no-make", (pykb, *CREATE), cwd=fresh, before=renew),
                Command("pykb generate (1 kind)", (pykb, "generate"), cwd=whole),
            ],
            rounds=ROUNDS,
        )
    print(table(costs, against=BARE))


CREATE = ("create", "api", "--group", "infra", "--version", "v1", "--kind", "VirtulMachine", "--no-make")


def new_project(pykb: str, folder: Path, *, api: bool) -> None:
    """The project of the walkthrough, with or without its kind."""
    folder.mkdir()
    commands = [("init", "--domain", "sealyun.com", "--project-name", "sealvm")]
    if api:
        commands.append((*CREATE, "--resource", "--controller"))
    for arguments in commands:
        done = subprocess.run((pykb, *arguments), cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)


if __name__ == "__main__":
    main()
