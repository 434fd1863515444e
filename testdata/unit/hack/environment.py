"""Makes the environment of this project in `.venv`. `make` runs this when pyproject.toml or uv.lock has changed.

uv (https://docs.astral.sh/uv) installs what uv.lock names, and first writes uv.lock if it does not fit pyproject.toml.
It is the uv on PATH; without one, pip gets it as `.pykb/uv`. uv gets the index, the certificates and the proxy
that pip is configured with, unless its own variables name others. Arguments are passed on to `uv sync`.
"""

from __future__ import annotations

import configparser
import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

OLDEST = (3, 11)
ENVIRONMENT = Path(os.environ.get("UV_PROJECT_ENVIRONMENT", ".venv"))
MADE = ENVIRONMENT / ".made"
UV = Path(".pykb/uv")  # one file
# Options of pip, and the variables that say the same to uv.
VARIABLES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
    "find-links": "UV_FIND_LINKS",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
}
# What uv or pip says when it fails, and what helps.
REMEDIES = {
    "initialize cache|Read-only file system": "name a folder that you can write to: export UV_CACHE_DIR=FOLDER",
    "find-links. directory|pykubebuilder was not found": "commit .pykb/wheels: no package index has that pykb",
    "40[13]|credentials": "the index wants a password: pip config set global.index-url https://USER:PASSWORD@HOST/simple",
    "ensurepip": "install uv, or what your system calls the module venv, such as python3-venv",
    "No interpreter found": "name a Python that you have: make PYTHON=python3.13",
    "(?i)certificate": "name the certificates of your network: pip config set global.cert FILE",
    "Failed to fetch|not found in the|No matching distribution|network was disabled": (
        "name a package index that answers and has it: pip config set global.index-url https://HOST/simple"
    ),
}


def main() -> None:
    """Make the environment, or bring it up to date. Of two at once, one waits for the other."""
    os.chdir(Path(__file__).resolve().parents[1])
    if sys.version_info < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        sys.exit(f"error: {sys.executable} is not Python {oldest} or newer; name one: make PYTHON=python3.13")
    with contextlib.suppress(OSError):  # NFS cannot lock a folder
        fcntl.flock(os.open(".", os.O_RDONLY), fcntl.LOCK_EX)
    is_new = not (ENVIRONMENT / "bin/python").exists()
    if is_new:
        print(f"Creating the environment in {ENVIRONMENT}", file=sys.stderr)
    variables = {**settings_of_pip(), "UV_PYTHON_DOWNLOADS": "never", **os.environ}
    variables.pop("VIRTUAL_ENV", None)  # that of another project, which uv would warn of
    uv = shutil.which("uv") or str(UV)
    if not os.access(uv, os.X_OK):
        install_uv(variables)
    # uv chooses the Python of a new environment only. A wheel that was replaced has the version that it had.
    python = ["--python", sys.executable] if is_new else []
    wheels = ["--reinstall-package", "pykubebuilder"] if has_new_wheel() else []
    run([uv, "sync", *python, *wheels, *sys.argv[1:]], variables)
    MADE.touch()


def install_uv(variables: dict[str, str]) -> None:
    """Get uv with the pip of this Python. If it has none, venv brings one, which takes some seconds more."""
    # Settings of pip that forbid what happens here.
    variables = {**variables, "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_ROOT_USER_ACTION": "ignore"}
    UV.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=UV.parent) as folder:
        python, target = sys.executable, ["--target", folder]
        if find_spec("pip") is None:
            run([python, "-m", "venv", folder], variables)
            python, target = f"{folder}/bin/python", []
        run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *target, "uv"], variables)
        Path(folder, "bin/uv").replace(UV)


def settings_of_pip() -> dict[str, str]:
    """The index, certificates and proxy of pip, as variables of uv. Ends this program if pip could not read them."""
    home, chosen = Path.home(), os.environ.get("PIP_CONFIG_FILE", "")
    # In pip's order (https://pip.pypa.io/en/stable/topics/configuration): later files count more, variables most.
    folders = [
        Path("/Library/Application Support/pip"),
        Path("/etc/xdg/pip"),
        Path("/etc"),
        home / ".pip",
        home / "Library/Application Support/pip",
        Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "pip",
        Path(sys.prefix),
    ]
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read([] if chosen == os.devnull else [*(folder / "pip.conf" for folder in folders), chosen])
    except (configparser.Error, OSError, UnicodeDecodeError) as error:
        sys.exit(f"error: the configuration of pip cannot be read: {error}")
    found = {}
    for option, variable in VARIABLES.items():
        value = os.environ.get("PIP_" + option.replace("-", "_").upper())
        for section in ("install", "global"):
            value = value or parser.get(section, option, fallback="")
        if value:
            found[variable] = ("," if option == "find-links" else " ").join(value.split())
    return found


def has_new_wheel() -> bool:
    """Whether the project has a wheel of pykb that is newer than its environment, if that is there."""
    wheels = [wheel.stat().st_mtime for wheel in Path(".pykb/wheels").glob("*.whl")]
    return bool(wheels) and (not MADE.exists() or max(wheels) > MADE.stat().st_mtime)


def run(command: list[str], variables: dict[str, str]) -> None:
    """Run uv or what installs it. Ends this program with a remedy if it fails."""
    said = ""
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            said += line
            if not line.startswith((" + ", " - ", " ~ ")):  # one line a package
                print(line, end="", file=sys.stderr, flush=True)
    if process.returncode:
        remedy = next((remedy for text, remedy in REMEDIES.items() if re.search(text, said)), None)
        sys.exit(f"help: {remedy}" if remedy else process.returncode)


if __name__ == "__main__":
    main()
