"""``pykb explain``: what the code in the brackets of a message means."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_USAGE, finish


def explain(
    code: Annotated[str, typer.Argument(help="The word in the brackets, as in error[unknown-marker].")] = "",
) -> None:
    """Explain a message by the code in its brackets; without a code, list them all.

    Examples:
      pykb explain anchor-missing
      pykb explain
    """
    from pykb.diagnostics.codes import all_codes
    from pykb.diagnostics.codes.cli import UNKNOWN_CODE
    from pykb.diagnostics.suggest import closest

    codes = all_codes()
    if not code:
        width = max(len(slug) for slug in codes)
        for slug, each in codes.items():
            console.out(f"{slug:<{width}}  {each.title}")
        return
    known = codes.get(code)
    if known is None:
        near = closest(code, codes)
        helps = (
            (f"a code with a similar name exists: `pykb explain {near}`",) if near else ("`pykb explain` lists them",)
        )
        finish([UNKNOWN_CODE.at(None, f"no message has the code `{code}`", help=helps)], code=EXIT_USAGE)
        return
    console.out(f"{known.severity}[{known.slug}]: {known.title}\n")
    for paragraph in known.explanation.split("\n\n"):
        console.out(paragraph if paragraph.startswith(" ") else textwrap.fill(paragraph, 100))
