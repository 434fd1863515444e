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
    """Explain a message by the code in its brackets, or a marker by its name; without either, list all codes.

    Examples:
      pykb explain anchor-missing
      pykb explain +kubebuilder:printcolumn
      pykb explain markers
      pykb explain
    """
    from pykb.diagnostics.codes import all_codes
    from pykb.diagnostics.codes.cli import UNKNOWN_CODE
    from pykb.diagnostics.suggest import closest

    if code == "markers" or code.startswith("+"):
        _explain_marker(code)
        return
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


def _explain_marker(text: str) -> None:
    from pykb.diagnostics.codes.markers import MARKER_UNKNOWN
    from pykb.markers.parser import split_name
    from pykb.markers.reference import explain_marker, list_markers
    from pykb.markers.registry import builtin_registry

    registry = builtin_registry()
    if text == "markers":
        console.out(list_markers(registry).rstrip())
        return
    split = split_name(text)
    known = registry.look_up(split.whole, split.short)
    if known is not None:
        console.out(explain_marker(known).rstrip())
        return
    near = registry.suggest(split.whole)
    help_ = (
        f"a marker with a similar name exists: `pykb explain +{near}`" if near else "`pykb explain markers` lists them"
    )
    finish([MARKER_UNKNOWN.at(None, f"unknown marker `{text}`", help=(help_,))], code=EXIT_USAGE)
