"""Runs benchmarks, one after another. Single ones have options: ``python -m benchmarks.NAME --help``."""

from __future__ import annotations

import argparse
import importlib
import pkgutil

import benchmarks

NOT_BENCHMARKS = {"__main__", "measure"}

names = [
    module.name
    for module in pkgutil.iter_modules(benchmarks.__path__)
    if module.name not in NOT_BENCHMARKS and not module.ispkg
]
parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.replace("``", "`"))
parser.add_argument("names", nargs="*", metavar="NAME", help=f"defaults to all: {', '.join(names)}")
chosen = parser.parse_args().names
if unknown := [name for name in chosen if name not in names]:
    parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(names)}")
for name in chosen or names:
    print(f"\n== {name}")
    importlib.import_module(f"benchmarks.{name}").main()
