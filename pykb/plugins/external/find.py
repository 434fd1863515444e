"""Finds the executables of external plugins where kubebuilder finds them, and remembers which ones the user named.

PROJECT alone does not make pykb run a program.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.project import PLUGIN_BROKEN
from pykb.plugins import PluginKey

VARIABLE = "EXTERNAL_PLUGINS_PATH"


def folder() -> Path:
    """The folder of the plugins."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    if sys.platform == "darwin":
        return Path("~/Library/Application Support/kubebuilder/plugins").expanduser()
    home = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(home).expanduser() / "kubebuilder" / "plugins"


def installed() -> dict[PluginKey, Path]:
    """The executables by their keys: ``<name>/<version>/<name>``, with or without an extension."""
    return dict(sorted(_installed(folder())))


def usable(key: PluginKey, program: Path, found: Diagnostics) -> bool:
    """Whether pykb may run this program. Reports one that another user could have changed, or that cannot run."""
    status = program.stat()
    if status.st_uid not in {0, os.geteuid()} or status.st_mode & stat.S_IWOTH:
        problem = "can be changed by other users"
        helps = (f"if you trust it: `chown $USER {program} && chmod o-w {program}`",)
    elif not os.access(program, os.X_OK):
        problem = "is not executable"
        helps = (f"`chmod +x {program}`",)
    else:
        return True
    found.add(PLUGIN_BROKEN.at(None, f"the plugin `{key}` cannot be run: `{program}` {problem}", help=helps))
    return False


def _installed(top: Path) -> Iterator[tuple[PluginKey, Path]]:
    for program in sorted(top.glob("*/*/*")):
        name, version = program.parts[-3:-1]
        if name in {program.name, program.stem} and program.is_file():
            yield PluginKey(name, version), program.resolve()


_FILE = "plugins"


def trust(root: Path, named: Iterable[str]) -> None:
    """Remember the external plugins that a command line named."""
    from pykb.files.state import remember

    words = list(named)
    keys = [str(key) for key in installed() if any(key.answers_to(word) for word in words)] if words else []
    if set(keys) - trusted(root):
        remember(root, _FILE, keys)


def trusted(root: Path) -> frozenset[str]:
    """The keys of the plugins that this user named in this copy."""
    from pykb.files.state import remembered

    return remembered(root, _FILE)
