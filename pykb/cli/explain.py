"""``pykb explain``: what the code in the brackets of a message means, and what a marker does."""

from __future__ import annotations

import textwrap
from typing import Annotated

import typer

from pykb.cli import candidates, console
from pykb.cli.errors import EXIT_USAGE, finish


def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="[CODE | +MARKER | markers]",
            autocompletion=candidates.explained,
            help="A code such as marker-unknown, a marker, or `markers` for all markers.",
        ),
    ] = "",
) -> None:
    """Explain a message by the code in its brackets, or a marker by its name. Without a name, list all codes.

    Examples:
      pykb explain anchor-missing
      pykb explain +kubebuilder:validation:MinLength
      pykb explain markers
    """
    if subject.startswith("+"):
        _marker(subject.lstrip("+").partition("=")[0])
    elif subject == "markers":
        from pykb.markers.reference import list_markers
        from pykb.markers.registry import builtin_registry

        registry = builtin_registry()
        if not console.data([{"name": each.name, "summary": each.summary} for each in registry]):
            console.raw(list_markers(registry))
    else:
        _code(subject)


def _marker(name: str) -> None:
    from pykb.diagnostics.codes.cli import UNKNOWN_CODE
    from pykb.markers.reference import explain_marker
    from pykb.markers.registry import builtin_registry

    registry = builtin_registry()
    definition = registry.get(name)
    if definition is None:
        near = registry.suggest(name)
        what = f"a marker with a similar name exists: `pykb explain +{near}`" if near else "`pykb explain markers`"
        finish([UNKNOWN_CODE.at(None, f"no marker has the name `+{name}`", help=(what,))], code=EXIT_USAGE)
        return
    console.raw(explain_marker(definition))


def _code(slug: str) -> None:
    from pykb.diagnostics.codes import all_codes
    from pykb.diagnostics.codes.cli import UNKNOWN_CODE
    from pykb.diagnostics.suggest import closest

    codes = all_codes()
    if not slug:
        rows = [{"code": c.slug, "severity": str(c.severity), "title": c.title} for c in codes.values()]
        if console.data(rows):
            return
        width = max(len(known) for known in codes)
        for known, code in codes.items():
            console.out(f"{known:<{width}}  {code.title}")
        return
    found = codes.get(slug)
    if found is None:
        near = closest(slug, codes)
        what = f"a code with a similar name exists: `pykb explain {near}`" if near else "`pykb explain` lists them"
        finish([UNKNOWN_CODE.at(None, f"no message has the code `{slug}`", help=(what,))], code=EXIT_USAGE)
        return
    whole = {"severity": str(found.severity), "title": found.title, "explanation": found.explanation}
    if console.data({"code": found.slug, **whole}):
        return
    console.out(f"{found.severity}[{found.slug}]: {found.title}\n")
    for paragraph in found.explanation.split("\n\n"):
        console.out(paragraph if paragraph.startswith(" ") else textwrap.fill(paragraph, 100))
