"""Every kind of mistake that pykb can report, one module an area; `pykb explain` and the reference read them here."""

from __future__ import annotations

from functools import cache

from pykb.diagnostics.model import Code


@cache
def all_codes() -> dict[str, Code]:
    """All codes by slug. Imported on demand: a run without findings never pays for the texts."""
    import importlib
    import pkgutil

    codes: dict[str, Code] = {}
    for module in pkgutil.iter_modules(__path__):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, Code):
                codes[value.slug] = value
    return dict(sorted(codes.items()))
