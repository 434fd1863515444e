"""Rebuild the projects of testdata/: the real command line, then the edits that their author made.

Usage: python -m hack.samples [--into DIRECTORY] [PROJECT]...

A project is a list of steps. `pykb(...)` runs a command in it, `replace(...)` edits a scaffolded file as an author
would, and `own(...)` takes a file that the author wrote from the project as it is committed: it has no other source.
Everything else comes from templates and generators, so a change of those shows as a difference here.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from hack.samples.build import PROJECTS, build, publish
from hack.samples.steps import TESTDATA


def main() -> None:
    """Rebuild the named projects, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, default=TESTDATA, help="where to put them (default: testdata itself)")
    parser.add_argument("projects", nargs="*", metavar="PROJECT", help=f"any of {', '.join(PROJECTS)} (default: all)")
    arguments = parser.parse_args()
    for name in arguments.projects or PROJECTS:
        with tempfile.TemporaryDirectory() as scratch:
            publish(build(name, Path(scratch)), arguments.into / name)


if __name__ == "__main__":
    main()
