"""Regenerates pykb/api/*/v*.py from a stock API server.

`python -m hack.builtin_types [--kubernetes VERSION]` starts one of its own; `--kubeconfig FILE` asks a running one.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from hack.builtin_types.emit import write
from hack.builtin_types.model import build
from hack.builtin_types.source import read
from pykb.envtest import ControlPlane, get_assets
from pykb.envtest.cache import KUBERNETES
from pykb.envtest.rest import Rest

ROOT = Path(__file__).resolve().parents[2] / "pykb" / "api"


def main() -> None:
    """Read an API server, and write the package."""
    parser = argparse.ArgumentParser(prog="python -m hack.builtin_types", description=__doc__)
    parser.add_argument("--kubernetes", default=KUBERNETES, metavar="VERSION", help="exact, or a minor such as 1.36")
    parser.add_argument("--kubeconfig", type=Path, help="of a running server")
    parser.add_argument("--output", type=Path, default=ROOT)
    options = parser.parse_args()
    if options.kubeconfig is not None:
        source = read(Rest.from_kubeconfig(options.kubeconfig))
    else:
        with ControlPlane(assets=get_assets(options.kubernetes)) as control_plane:
            source = read(control_plane.rest())
    modules = build(source)
    write(modules, source.version, options.output)
    print(f"{source.version}: {len(modules)} modules, {sum(len(m.classes) for m in modules)} classes")


if __name__ == "__main__":
    main()
