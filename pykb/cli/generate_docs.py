"""``pykb generate docs``: an API reference from the types."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pykb._lazy import without_collection
from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, EXIT_USAGE, finish, report


@without_collection()
def docs(
    paths: Annotated[
        list[str] | None,
        typer.Option("--paths", metavar="PATH", help="Files or folders to read.  [default: the whole project]"),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="PATH", help="A folder for api.md, or a Markdown file.  [default: docs]"),
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing. Exit 1 with a diff if a file is out of date.")
    ] = False,
) -> None:
    """Write an API reference for the people who write manifests of your kinds.

    Groups, versions, kinds, their fields with types, defaults, constraints and rules, from the same types and markers
    as the CRDs. Examples are those of config/samples. The page is Markdown, for GitHub and mkdocs.

    Examples:
      pykb generate docs
      pykb generate docs --output site/reference.md
      pykb generate docs --check
    """
    from pykb.cli.changes import write
    from pykb.cli.project import find_root, hand_over, settle

    root = find_root() or Path.cwd()
    hand_over(root)
    settle(root, writes=not check)

    from pykb.diagnostics import Diagnostics
    from pykb.files.plan import plan_of
    from pykb.gen.docs import generate_docs, target_file
    from pykb.gen.output import check as output_check
    from pykb.gen.request import Given, make_request

    found = Diagnostics()
    request = make_request(root, Given(words=("crd",), paths=tuple(paths or ()), folder=Path.cwd()), found)
    target = target_file(root, Path.cwd() / output if output else None, found)
    finish(found, code=EXIT_USAGE)
    page, diagnostics = generate_docs(request.options)
    if diagnostics.has_errors():
        report(diagnostics)
        console.say("nothing was written")
        raise typer.Exit(EXIT_FINDINGS)
    report(diagnostics)
    unplaced = Diagnostics()
    plan = plan_of(root, {target: page} if page else {}, unplaced)
    finish(unplaced)
    if check:
        diff, stale = output_check(plan, command="pykb generate docs")
        if diff:
            console.out(diff.rstrip("\n"))
        finish(stale)
        return
    write(plan, seen_from=root)
