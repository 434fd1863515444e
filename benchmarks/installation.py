"""Measures what an operator carries: `pykubebuilder` without extras, in an environment of its own.

Prints the size of its packages, and the cost of importing what a program imports, compared with the start of Python.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Command, in_turn, table
from pykb.scaffold import distribution
from pykb.scaffold.locate import WHEEL

BARE = "python -c pass"
ROUNDS = 9
IMPORTS = {
    "types (pykb.api)": "from pykb.api import CustomResource, Struct",
    "manager (pykb.runtime)": "from pykb.runtime import ControllerBuilder, Manager, Reconciler",
    "kopf, for comparison": "import kopf",
}


def main() -> None:
    """Install, then measure sizes and imports."""
    with tempfile.TemporaryDirectory() as folder:
        python = install(Path(folder))
        (site,) = Path(folder).glob("env/lib/python*/site-packages")
        for name, size in sizes(site).items():
            print(f"{name:28} {size / 2**20:6.1f} MiB")
        costs = in_turn(
            [
                Command(BARE, (python, "-c", "pass")),
                *(Command(name, (python, "-c", code)) for name, code in IMPORTS.items()),
            ],
            rounds=ROUNDS,
        )
        print(table(costs, against=BARE))


def install(folder: Path) -> str:
    """Install the wheel of this checkout without extras. Returns the environment's Python."""
    content = distribution.wheel()
    if content is None:
        raise RuntimeError("run it in a checkout")
    wheel = folder / Path(WHEEL).name
    wheel.write_bytes(content)
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    python = folder / "env/bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
    subprocess.run([python, "-m", "pip", "--quiet", "uninstall", "--yes", "setuptools", "pip"], check=True)
    return str(python)


def sizes(site: Path) -> dict[str, int]:
    """The bytes of pykb, of the five largest other packages, and of everything. Bytecode is included."""
    found = {
        entry.name: sum(file.lstat().st_size for file in entry.rglob("*") if file.is_file())
        for entry in site.iterdir()
        if entry.is_dir() and not entry.name.endswith(".dist-info")
    }
    largest = sorted((name for name in found if name != "pykb"), key=found.__getitem__, reverse=True)[:5]
    return {name: found[name] for name in ("pykb", *largest)} | {"all packages": sum(found.values())}


if __name__ == "__main__":
    main()
