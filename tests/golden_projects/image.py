"""Builds the image of a project as its Dockerfile says, in a folder of this machine instead of in a container."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

import pykb

UV = f"""#!/usr/bin/env bash
# Makes the environment from the packages of these tests, without an index.
exec '{sys.executable}' '{__file__}' "$UV_PROJECT_ENVIRONMENT"
"""

NO_BYTECODE = "import compileall\n\ncompileall.compile_dir = lambda *_, **__: True\n"
"""For a process. To compile the standard library takes seconds, and `tests/unit/image` judges what comes of it."""


def build(project: Path, folder: Path) -> Path:
    """Run the first stage of the Dockerfile. What it writes to `/` goes into `folder`. Returns the image's files."""
    programs = folder / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    for name, text in {"pip": "#!/bin/sh\n", "uv": UV}.items():
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)
    (programs / "sitecustomize.py").write_text(NO_BYTECODE, encoding="utf-8")
    (folder / "build").mkdir()
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(programs),
        "UV_PROJECT_ENVIRONMENT": str(folder / "opt/venv"),
    }
    stage = (project / "Dockerfile").read_text(encoding="utf-8").partition("\nFROM ${RUNTIME_IMAGE}")[0]
    for word, rest in re.findall(r"^(COPY|RUN) ((?:.*\\\n)*.*)", stage, re.MULTILINE):
        if word == "COPY":
            *sources, target = rest.split()
            _copy(project, sources, (folder if target.startswith("/") else folder / "build") / target.strip("/"))
        else:
            command = re.sub(r"(?<![\w.])/(?=opt/venv|image|app)", f"{folder}/", rest)
            subprocess.run(["bash", "-ec", command], cwd=folder / "build", env=environment, check=True)
    return folder / "image"


def _copy(project: Path, sources: list[str], target: Path) -> None:
    for source in sources:
        for found in project.glob(source):
            if found.is_dir():
                shutil.copytree(found, target)
            else:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(found, target)


def _needed(requirements: list[Requirement]) -> Iterator[str]:
    """The packages of requirements, and what these need."""
    waiting, known = [*requirements], set()
    while waiting:
        each = waiting.pop()
        extras = each.extras or {""}
        if (each.name, *extras) in known or not all(
            each.marker is None or each.marker.evaluate({"extra": extra}) for extra in extras
        ):
            continue
        known.add((each.name, *extras))
        yield each.name
        for line in distribution(each.name).requires or ():
            further = Requirement(line)
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in extras):
                further.marker = None
                waiting.append(further)


def _install(environment: Path) -> None:
    venv.create(environment)
    (packages,) = environment.glob("lib/python*/site-packages")
    lines = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    for name in {*_needed([Requirement(line) for line in lines])}:
        if name == "pykubebuilder":  # it is editable here
            shutil.copytree(Path(pykb.__file__).parent, packages / "pykb", ignore=shutil.ignore_patterns("__pycache__"))
            continue
        for file in distribution(name).files or ():
            if file.parts[0] != ".." and file.suffix != ".pyc":
                target = packages / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file.locate(), target)


if __name__ == "__main__":
    _install(Path(sys.argv[1]))
