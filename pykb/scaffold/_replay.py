"""Runs commands of a release of pykb in a folder. A program of its own, which imports nothing of this pykb.

Usage: python -I _replay.py [FOLDER-OF-THE-RELEASE], with JSON on stdin: a list of commands. A command has `words`,
`options`, and `newer`: options for releases that have them. `is_newer` is true if other releases skip the command.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import sys
from contextlib import redirect_stdout
from typing import Any


def main() -> None:
    """Run the commands. Ends with the exit code of the first that fails."""
    sys.path[:0] = sys.argv[1:]
    os.fsync = lambda _: None  # type: ignore[assignment]  # the folder is temporary
    run = importlib.import_module("pykb.cli.app").run  # that of the release
    for command in json.load(sys.stdin):
        known = _known(run, command)
        if command["is_newer"] and not known:
            continue
        argv = [*command["words"], *command["options"], *known]
        code = run(argv)
        if code:
            sys.exit(code)


def _known(run: Any, command: dict[str, list[str]]) -> list[str]:
    """The newer options that the release has, by its help."""
    if not command["newer"]:
        return []
    with redirect_stdout(io.StringIO()) as shown:
        run([*command["words"], "--help"])
    return [option for option in command["newer"] if option.partition("=")[0] in shown.getvalue().split()]


if __name__ == "__main__":
    main()
