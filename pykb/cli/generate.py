"""``pykb generate``: CRDs, RBAC and webhook manifests from the code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, finish, report
from pykb.cli.memory import without_collection

if TYPE_CHECKING:
    from pykb.diagnostics import Diagnostic
    from pykb.files.plan import Plan
    from pykb.gen.request import Request
    from pykb.gen.run import GenerateResult


@without_collection()
def generate(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[crd] [rbac] [webhook]",
            help="What to generate; all three by default. Arguments in controller-gen's form are understood too.",
            show_default=False,
        ),
    ] = None,
    paths: Annotated[
        list[str] | None,
        typer.Option("--paths", metavar="PATH", help="Files or folders to read.  [default: the whole project]"),
    ] = None,
    output_dir: Annotated[
        str | None,
        typer.Option(
            "--output-dir",
            metavar="DIR",
            help="One folder for all files.  [default: config/crd/bases, config/rbac, config/webhook]",
        ),
    ] = None,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print the manifests, write nothing.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 with a diff when a file is out of date.")
    ] = False,
    allow_outside: Annotated[
        bool,
        typer.Option("--allow-outside", help="Let output directories be outside of the project: `../charts/app/crds`."),
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune/--no-prune", help="Remove what was generated for kinds and markers that are gone.")
    ] = True,
    allow_breaking: Annotated[
        bool | None,
        typer.Option(
            "--allow-breaking/--no-allow-breaking",
            help="Do not warn of changes that stored objects or clients suffer from.",
            show_default=False,
        ),
    ] = None,
    check_compat: Annotated[
        str | None,
        typer.Option(
            "--check-compat",
            metavar="REV",
            help="Write nothing; exit 1 when a change since this revision of git breaks objects or clients.",
        ),
    ] = None,
    role_name: Annotated[
        str | None, typer.Option("--role-name", metavar="NAME", help="Name of the role.  [default: manager-role]")
    ] = None,
    header_file: Annotated[
        str | None, typer.Option("--header-file", metavar="FILE", help="Text to put on top of each file.")
    ] = None,
    year: Annotated[str | None, typer.Option("--year", metavar="YEAR", help="Replaces ` YEAR` in it.")] = None,
    max_desc_len: Annotated[
        int | None,
        typer.Option("--max-desc-len", metavar="BYTES", min=0, help="Cut descriptions; 0 leaves them out."),
    ] = None,
    allow_dangerous_types: Annotated[
        bool | None, typer.Option("--allow-dangerous-types/--no-allow-dangerous-types", help="Let floats through.")
    ] = None,
    generate_embedded_object_meta: Annotated[
        bool | None,
        typer.Option(
            "--generate-embedded-object-meta/--no-generate-embedded-object-meta",
            help="Give an embedded ObjectMeta its known fields.  [default: yes]",
        ),
    ] = None,
    ignore_unexported_fields: Annotated[
        bool | None,
        typer.Option(
            "--ignore-unexported-fields/--no-ignore-unexported-fields",
            help="For command lines of controller-gen: Python has no unexported fields.",
            show_default=False,
        ),
    ] = None,
    crd_versions: Annotated[
        list[str] | None,
        typer.Option("--crd-versions", metavar="v1", help="For command lines of controller-gen: there is only one."),
    ] = None,
    preserve_unknown_fields: Annotated[
        bool | None,
        typer.Option(
            "--preserve-unknown-fields/--no-preserve-unknown-fields",
            help="Write the deprecated `preserveUnknownFields: false` into CRDs, where an old one had `true`.",
            show_default=False,
        ),
    ] = None,
    rbac_file_name: Annotated[
        str | None, typer.Option("--rbac-file-name", metavar="NAME", help="File of roles.  [default: role.yaml]")
    ] = None,
    builtin_descriptions: Annotated[
        str | None,
        typer.Option(
            "--builtin-descriptions",
            metavar="FILE|cluster",
            help="Describe built-in types by the OpenAPI of a cluster, or by a file with it.",
        ),
    ] = None,
    compat: Annotated[
        str | None,
        typer.Option("--compat", metavar="controller-gen=VERSION", help="Claim that version in an annotation of CRDs."),
    ] = None,
) -> None:
    """Write CRDs, RBAC and webhook manifests from the types and markers of the project.

    Schemas come from the real types: the modules of ``api`` packages are imported, in the project's own environment.
    Nothing is written when anything is wrong. Defaults can be set in ``[tool.pykb.generate]`` of pyproject.toml.

    Examples:
      pykb generate
      pykb generate crd --paths sealvm/api --output-dir out
      pykb generate --check
      pykb generate --check-compat origin/main
      pykb generate rbac:roleName=manager-role crd webhook paths=./... output:crd:artifacts:config=config/crd/bases
    """
    from pykb.cli.changes import write
    from pykb.cli.environment import hand_over
    from pykb.cli.project import find_root, settle

    root = find_root() or Path.cwd()
    hand_over(root)
    settle(root, writes=not (check or stdout or check_compat is not None))

    from pykb.diagnostics import Diagnostics
    from pykb.gen.request import FROM_CLUSTER, Given, make_request

    given = Given(
        words=tuple(what or ()),
        paths=tuple(paths or ()),
        output_dir=output_dir,
        stdout=stdout,
        role_name=role_name,
        header_file=header_file,
        year=year,
        max_description=max_desc_len,
        allow_dangerous_types=allow_dangerous_types,
        embedded_metadata=generate_embedded_object_meta,
        compat=compat,
        crd_versions=tuple(crd_versions or ()),
        preserve_unknown_fields=preserve_unknown_fields,
        rbac_file_name=rbac_file_name,
        builtin_descriptions=builtin_descriptions,
        folder=Path.cwd(),
        check=check,
        allow_breaking=allow_breaking,
        allow_outside=allow_outside,
    )
    del ignore_unexported_fields  # Python has none
    found = Diagnostics()
    request = make_request(root, given, found)
    finish(found, code=2)
    options = request.options
    if options.builtin_descriptions == FROM_CLUSTER:
        from pykb.cli.openapi import fetch_openapi

        options = replace(options, builtin_descriptions=fetch_openapi(root))

    from pykb.gen import output
    from pykb.gen.run import generate as run

    result = run(options)
    if result.diagnostics.has_errors:
        report(result.diagnostics)
        console.say("nothing was written")
        raise typer.Exit(EXIT_FINDINGS)
    if check_compat is not None:
        _compare(root, check_compat, request, result)
        if not check:
            return
    below = output.common_folder(root, request.rules, options.generators)
    if below != root.resolve():
        settle(below, writes=not check)
    plan = _plan(root, below, request, result, prune=prune)
    if not check and not request.allow_breaking:
        from pykb.cli.compatibility import replaced

        result.diagnostics.extend(replaced(below, plan.changes, result))
    if check:
        diff, differing = output.check(plan)
        if diff:
            console.out(diff.rstrip("\n"))
        finish([*_judged(result.diagnostics), *differing])
        return
    finish(result.diagnostics)
    text = output.printed(result.artifacts, request.rules)
    if text:
        console.out(text.removesuffix("\n"))
    write(plan, seen_from=root)


def _judged(found: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    """Findings as a check has them: a sample that the API server would refuse must not be merged."""
    from pykb.diagnostics import Severity
    from pykb.diagnostics.codes.crd import SAMPLE_REFUSED

    return (replace(each, severity=Severity.ERROR) if each.code is SAMPLE_REFUSED else each for each in found)


def _compare(root: Path, revision: str, request: Request, result: GenerateResult) -> None:
    from pykb.cli.compatibility import since
    from pykb.diagnostics import Diagnostics

    finish(Diagnostics(since(root, revision, request, result)))
    console.say(f"nothing breaks what `{revision}` defines")


def _plan(root: Path, below: Path, request: Request, result: GenerateResult, *, prune: bool) -> Plan:
    from pykb.files.plan import plan_of
    from pykb.gen.output import moved, texts

    files: dict[str, str | None] = {**texts(root, result.artifacts, request.rules, below=below)}
    if prune and request.is_whole_project:
        from pykb.gen.prune import stale_files

        gone = stale_files(root, request.options, request.rules, result, result.diagnostics)
        files |= {moved(path, root, below): text for path, text in gone.items()}
    return plan_of(below, files, result.diagnostics)
