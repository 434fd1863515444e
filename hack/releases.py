"""Add releases to the archive of what they scaffold, which `pykb update` reads.

Usage: python -m hack.releases [--into ARCHIVE] VERSION [COMMIT]

The archive has no scaffolded projects. It has what makes them: the templates and the modules of a release that `init`
and `create` import. A file that several releases have in common is in it once, and xz keeps little more than the
changes of the others. Run it with the tag of a release when the next version begins.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from hack.samples.steps import TESTDATA
from pykb.commands.update import recipe
from pykb.diagnostics import Diagnostics
from pykb.project.file import read
from pykb.scaffold import _replay
from pykb.scaffold.locate import is_bytecode
from pykb.scaffold.release import ARCHIVE, contents, given

_WHOLE = frozenset(
    {"api", "commands", "diagnostics", "files", "meta", "plugins", "project", "python_source", "reading", "scaffold"}
)
"""Packages that are kept whole: what they import depends on the project."""
_SAMPLES = ("multigroup", "virtulmachine")
"""They have all that can be scaffolded. What they import of the other packages is kept."""
_TRACED = """
import atexit, runpy, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""


def main() -> None:
    """Add a release, or replace it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=ARCHIVE)
    parser.add_argument("version")
    parser.add_argument("commit", nargs="?", default="", help="default: the tag of the version")
    arguments = parser.parse_args()
    known = contents(arguments.into) if arguments.into.is_file() else {}
    known[arguments.version] = files_of(arguments.commit or f"v{arguments.version}", arguments.version)
    arguments.into.write_bytes(packed(known))


def files_of(commit: str, version: str) -> dict[str, bytes]:
    """What a commit needs to scaffold, under a version."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        archive = subprocess.run(["git", "archive", commit, "pykb", "templates"], capture_output=True, check=True)
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
            files.extractall(root, filter="data")
        init = root / "pykb/__init__.py"
        init.write_text(
            re.sub(r'^__version__ = ".*"$', f'__version__ = "{version}"', init.read_text(), flags=re.MULTILINE)
        )
        modules = _imported(root)
        found = {}
        for path in sorted(root.rglob("*")):
            name = path.relative_to(root)
            is_needed = (
                name.parts[0] == "templates" or not _WHOLE.isdisjoint(name.parts[1:2]) or _module(name) in modules
            )
            if path.is_file() and is_needed and not is_bytecode(name):
                place = Path("pykb/_templates", *name.parts[1:]) if name.parts[0] == "templates" else name
                found[place.as_posix()] = path.read_bytes()
        return found


def packed(releases: Mapping[str, Mapping[str, bytes]]) -> bytes:
    """The archive: the same bytes for the same releases."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as archive:
        members = sorted((path, version) for version, files in releases.items() for path in files)
        first: dict[tuple[str, bytes], str] = {}
        for path, version in members:  # the versions of a file one after another
            content = releases[version][path]
            member = tarfile.TarInfo(f"{version}/{path}")
            member.mode = 0o644
            same = first.setdefault((path, content), member.name)
            if same != member.name:
                member.type, member.linkname = tarfile.LNKTYPE, same
                archive.addfile(member)
                continue
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return lzma.compress(stream.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def _imported(checkout: Path) -> set[str]:
    """The modules of pykb that a checkout imports to scaffold the samples."""
    found: set[str] = set()
    with given(checkout, Diagnostics()) as release:
        assert release is not None
        for name in _SAMPLES:
            project, _ = read(TESTDATA / name)
            steps = recipe(project, TESTDATA / name, "").steps
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(
                    [sys.executable, "-I", "-c", _TRACED, _replay.__file__, release.folder],
                    cwd=folder,
                    input=json.dumps([asdict(step) for step in steps]),
                    capture_output=True,
                    text=True,
                    check=False,
                )
            if done.returncode:
                sys.exit(done.stderr)
            found |= set(done.stderr.splitlines()[-1].split())
    return found


def _module(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


if __name__ == "__main__":
    main()
