"""Packages whose names are loaded when they are used. Each name stands once: in the package's stub.

``__init__.pyi`` is what type checkers read, and it says which module has which name: the idea of Scientific Python's
SPEC 1. Source: https://scientific-python.org/specs/spec-0001/
"""

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

_IMPORT = re.compile(r"^from (\S+) import (\(.*?\)|.*?$)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"(\w+) as \1\b")


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, the ``__dir__`` and the ``__all__`` of a package.

    Python suggests names of ``__dir__`` for one that is not there, and consoles complete them.

    Args:
        package: Its name.
        file: Its ``__init__.py``; the stub lies beside it.
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    homes = {name: module for module, names in _IMPORT.findall(stub) for name in _NAME.findall(names)}

    def load(name: str) -> Any:
        module = homes.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        with without_collection():
            return getattr(import_module(module), name)

    names = sorted(homes)
    return load, lambda: names, names


@contextmanager
def without_collection() -> Iterator[None]:
    """Disable the garbage collector for a block that makes many objects and no garbage.

    Scanning takes a tenth of the time of imports, and a third of the time in which a million schemas are made.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
