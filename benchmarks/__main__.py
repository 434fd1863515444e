"""Runs all benchmarks, one after another."""

from __future__ import annotations

import importlib
import pkgutil

import benchmarks

NOT_BENCHMARKS = {"__main__", "measure"}

for module in pkgutil.iter_modules(benchmarks.__path__):
    if module.name not in NOT_BENCHMARKS and not module.ispkg:
        print(f"\n== {module.name}")
        importlib.import_module(f"benchmarks.{module.name}").main()
