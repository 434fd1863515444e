"""``pykb generate docs``: an API reference from the types."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import click
import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, EXIT_USAGE, finish, report
from pykb.cli.memory import without_collection
from pykb.diagnostics.render import Format

_FORMATS = ("markdown", "html")


@without_collection()
def docs(
    paths: Annotated[
        list[str] | None,
        typer.Option("--paths", metavar="PATH", help="Files or folders to read.  [default: the whole project]"),
    ] = None,
    formats: Annotated[
        list[str] | None,
        typer.Option(
            "--format",
            click_type=click.Choice([*_FORMATS, *map(str, Format)]),
            help="What to write, `markdown` or `html`; the others say how findings are shown.  [default: both]",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", metavar="PATH", help="A folder for api.md and api.html, or one such file.  [default: docs]"
        ),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 with a diff when a file is out of date.")
    ] = False,
) -> None:
    """Write an API reference for the people who write manifests of your kinds.

    Groups, versions, kinds, their fields with types, defaults, constraints and rules, from the same types and markers
    as the CRDs. Examples are those of config/samples. The HTML page is one file that needs nothing else.

    Examples:
      pykb generate docs
      pykb generate docs --format html --output site/reference.html
      pykb generate docs --check
    """
    from pykb.cli.changes import write
    from pykb.cli.environment import hand_over
    from pykb.cli.project import find_root, settle

    root = find_root() or Path.cwd()
    hand_over(root)
    settle(root, writes=not check)

    from pykb.diagnostics import Diagnostics
    from pykb.files.plan import plan_of
    from pykb.gen.docs.generate import generate_docs
    from pykb.gen.docs.place import target_files
    from pykb.gen.output import check as output_check
    from pykb.gen.request import Given, make_request

    found = Diagnostics()
    request = make_request(root, Given(words=("crd",), paths=tuple(paths or ()), folder=Path.cwd()), found)
    wanted = tuple(name for name in _FORMATS if name in (formats or ()))
    targets = target_files(root, Path.cwd() / output if output else None, wanted, found)
    finish(found, code=EXIT_USAGE)
    texts, diagnostics = generate_docs(request.options, tuple(targets))
    if diagnostics.has_errors:
        report(diagnostics)
        console.say("nothing was written")
        raise typer.Exit(EXIT_FINDINGS)
    report(diagnostics)
    unplaced = Diagnostics()
    plan = plan_of(root, {targets[name]: text for name, text in texts.items()}, unplaced)
    finish(unplaced)
    if check:
        diff, stale = output_check(plan, command="pykb generate docs")
        if diff:
            console.out(diff.rstrip("\n"))
        finish(stale)
        return
    write(plan, seen_from=root)
