"""The command ``pykb``.

Answers ``version`` and ``--help`` itself, so that they take no longer than starting Python.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line and exit the process.

    Ctrl-C during the imports prints no traceback either.
    """
    try:
        _main()
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        sys.exit(130)


def _main() -> None:
    """Say which extra to install if the command line is not installed."""
    if sys.argv[1:] in (["version"], ["--version"]):
        from pykb import __version__

        print(f"pykb {__version__}")  # noqa: T201 - this is the command's output
        return
    asks_help = sys.argv[1:] in ([], ["--help"], ["-h"], ["help"]) and "_PYKB_COMPLETE" not in os.environ
    if asks_help and find_spec("typer") is not None:
        from pykb.cli.commands import print_overview

        print_overview()
        return
    try:
        import typer as _typer  # noqa: F401 - asked for by name, so that the message below is about the extra
    except ModuleNotFoundError as error:
        if error.name != "typer":
            raise
        print(  # noqa: T201
            'error: the command line is not installed, only pykb\'s run time\nhelp: pip install "pykubebuilder[cli]"',
            file=sys.stderr,
        )
        sys.exit(2)
    from pykb.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
