"""`python -m hack.builtin_types --kubeconfig FILE [--kubectl PATH]`: regenerate pykb/api/*/v*.py."""

from __future__ import annotations

import argparse
from pathlib import Path

from hack.builtin_types.emit import write
from hack.builtin_types.model import build
from hack.builtin_types.source import read

ROOT = Path(__file__).resolve().parents[2] / "pykb" / "api"


def main() -> None:
    """Read a server, write the package."""
    parser = argparse.ArgumentParser(prog="python -m hack.builtin_types", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True, help="of a stock API server of the wanted version")
    parser.add_argument("--kubectl", default="kubectl")
    parser.add_argument("--output", type=Path, default=ROOT)
    options = parser.parse_args()
    source = read(options.kubectl, options.kubeconfig)
    modules = build(source)
    write(modules, source.version, options.output)
    print(f"{source.version}: {len(modules)} modules, {sum(len(m.classes) for m in modules)} classes")


if __name__ == "__main__":
    main()
