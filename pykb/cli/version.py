"""``pykb version`` with options. :mod:`pykb.__main__` prints the plain version."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed

from pykb import __version__
from pykb.cli import console
from pykb.diagnostics.render import Format


def version() -> None:
    """Print the version of pykb, and with options what it runs on.

    Examples:
      pykb version
      pykb version --verbose
      pykb version --format json
    """
    facts = {
        "pykb": __version__,
        "kopf": _installed("kopf"),
        "pydantic": _installed("pydantic"),
        "python": platform.python_version(),
        "platform": f"{platform.system().lower()}/{platform.machine()}",
    }
    if console.settings.format is Format.JSON:
        import json

        console.out(json.dumps(facts, indent=2))
        return
    if not console.settings.verbose:
        console.out(f"pykb {__version__}")
        return
    for name, value in facts.items():
        console.out(f"{name} {value}")


def _installed(name: str) -> str:
    try:
        return installed(name)
    except PackageNotFoundError:
        return "not installed"
