"""Every kind of mistake that pykb reports, for `pykb explain` and the reference.

One module per area.
"""

from __future__ import annotations

from functools import cache

from pykb.diagnostics.model import Code


@cache
def all_codes() -> dict[str, Code]:
    """Return all codes by slug. The texts are imported only here, since most runs need none."""
    import importlib
    import pkgutil

    codes: dict[str, Code] = {}
    for module in pkgutil.iter_modules(__path__):
        for value in vars(importlib.import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, Code):
                codes[value.slug] = value
    return dict(sorted(codes.items()))
