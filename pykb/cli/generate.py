"""``pykb generate``: writes manifests from the code; and ``pykb generate docs``: an API reference from the types."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pykb._lazy import without_collection
from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, EXIT_USAGE, finish, report
from pykb.cli.options import Preview, taking, with_options_for
from pykb.gen.options import OPTIONS, Option
from pykb.project.options import option

if TYPE_CHECKING:
    from pykb.diagnostics import Diagnostic
    from pykb.files.plan import Plan
    from pykb.gen.request import Request
    from pykb.gen.run import GenerateResult


def _annotation(option: Option) -> Any:
    return Annotated[
        (list[str] if option.kind is list else option.kind) | None,
        typer.Option(
            f"--{option.name}/--no-{option.name}" if option.kind is bool else f"--{option.name}",
            help=option.help,
            metavar=option.metavar,
            min=option.minimum,
            show_default=False,
        ),
    ]


@dataclass(frozen=True, slots=True)
class How(Preview):
    """What `generate` does with the manifests."""

    stdout: bool = option("Print the manifests and write nothing.", default=False)
    check: bool = option("Write nothing. Exit 1 with a diff if a file is out of date.", default=False)
    strict: bool = option("Exit 1 if there is a warning. Writes the manifests.", default=False)
    allow_outside: bool = option(
        "Allow output directories outside the project, such as `../charts/app/crds`.", default=False
    )
    fix: bool = option("First correct mistakes in the source that have only one correction.", default=False)
    dry_run: bool = option("With `--fix`: only list the files that it would change.", default=False)
    diff: bool = option("With `--fix`: only show its changes, as a diff.", default=False)
    prune: bool = option("Remove output for kinds and markers that no longer exist.", default=True, has_opposite=True)
    check_compat: str | None = option(
        "Write nothing. Exit 1 if a change since this git revision breaks objects or clients.", "REV", default=None
    )


@taking(How, "how")
@with_options_for(
    "options",
    {option.variable: (_annotation(option), None) for option in OPTIONS},
    lambda values: {option.name: values[option.variable] for option in OPTIONS},
)
@without_collection()
def generate(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[crd] [rbac] [webhook]",
            help="What to generate. All three by default. Also accepts controller-gen's arguments.",
            show_default=False,
        ),
    ] = None,
    *,
    how: How,
    options: Any,
) -> None:
    """Write CRDs, RBAC and webhook manifests from the types and markers of the project.

    Imports the modules of ``api`` packages in the project's own environment, because schemas come
    from the Python types. Writes nothing if there is an error. Defaults can be set in
    ``[tool.pykb.generate]`` of pyproject.toml.

    Examples:
      pykb generate
      pykb generate crd --paths sealvm/api --output-dir out
      pykb generate --check
      pykb generate --check-compat origin/main
      pykb generate --fix --diff
      pykb generate rbac:roleName=manager-role crd webhook paths=./... output:crd:artifacts:config=config/crd/bases
    """
    from pykb.cli.project import hand_over, settle
    from pykb.project import find_root

    root = find_root() or Path.cwd()
    hand_over(root)
    _refuse_go(root)
    shows = "--diff" if how.diff else "--dry-run" if how.dry_run else ""
    reads = "--check" if how.check else "--check-compat" if how.check_compat is not None else ""
    if how.fix or shows:
        from pykb.cli.changes import check_options

        check_options(fix=how.fix, shows=shows, reads=reads)
    settle(root, writes=(how.fix and how.writes) or not (how.stdout or reads or shows))

    from pykb.diagnostics import Diagnostics
    from pykb.gen.request import Given, make_request

    given = Given(
        words=tuple(what or ()),
        options=options,
        folder=Path.cwd(),
        stdout=how.stdout,
        check=how.check,
        allow_outside=how.allow_outside,
    )
    diagnostics = Diagnostics()
    request = make_request(root, given, diagnostics)
    finish(diagnostics, code=2)
    result = _run(request, root)
    if how.fix:
        from pykb.cli.changes import fixed, show_fixes

        if shows:
            show_fixes(root, result, how)
        result = fixed(root, result, lambda: _run(request, root))
    _stop_at_errors(result, fixing=how.fix)
    if how.check_compat is not None:
        _compare(root, how.check_compat, request, result)
        if not how.check:
            return
    plan = _plan(root, request, result, writes=not how.check, prune=how.prune)
    if how.check_compat is None:
        from pykb.gen.compat import with_last_commit

        result.diagnostics.extend(with_last_commit(plan, root, request, result))
    if how.check:
        _check(plan, result)
    else:
        _write(plan, root, request, result, strict=how.strict)


def _refuse_go(root: Path) -> None:
    """End the command in a project of kubebuilder."""
    from pykb.project import content

    if b".kubebuilder.io/" not in content(root):  # saves loading the YAML parser in projects of pykb
        return
    from pykb.diagnostics.codes.project import PROJECT_LAYOUT
    from pykb.project.file import check, read

    project, _ = read(root)
    if project.layout:
        finish(found for found in check(project) if found.code is PROJECT_LAYOUT)


def _run(request: Request, root: Path) -> GenerateResult:
    """Run the generators."""
    from pykb.gen.request import FROM_CLUSTER
    from pykb.gen.run import generate as run

    options = request.options
    if options.builtin_descriptions == FROM_CLUSTER:
        options = replace(options, builtin_descriptions=_fetch_openapi(root))
    return run(options)


def _stop_at_errors(result: GenerateResult, *, fixing: bool) -> None:
    """If there is an error, report all findings and end the command."""
    if not result.diagnostics.has_errors():
        return
    report(result.diagnostics)
    console.say("no manifests were written" if fixing else "nothing was written")
    if not fixing and (count := sum(bool(each.fix) for each in result.diagnostics)):
        console.say(f"`pykb generate --fix` corrects {count} finding{'s' if count > 1 else ''}")
    raise typer.Exit(EXIT_FINDINGS)


def _check(plan: Plan, result: GenerateResult) -> None:
    """Show what differs from the files. End the command with a finding if anything does."""
    from pykb.diagnostics import Diagnostics
    from pykb.gen import output

    diff, differing = output.check(plan)
    if diff:
        console.out(diff.rstrip("\n"))
    judged = Diagnostics(_judged(result.diagnostics))
    report([*judged, *differing])
    if judged.has_errors() or differing.has_errors():
        raise typer.Exit(EXIT_FINDINGS)


def _write(plan: Plan, root: Path, request: Request, result: GenerateResult, *, strict: bool) -> None:
    """Report warnings, print what goes to stdout, and write the rest to files."""
    from pykb.cli.changes import write
    from pykb.diagnostics import Diagnostics
    from pykb.gen import output

    judged = Diagnostics(_judged(result.diagnostics) if strict else result.diagnostics)
    report(judged)
    if result.diagnostics.has_errors():
        raise typer.Exit(EXIT_FINDINGS)
    text = output.printed(result.artifacts, request.rules)
    if text:
        console.out(text.removesuffix("\n"))
    write(plan, seen_from=root)
    if judged.has_errors():
        raise typer.Exit(EXIT_FINDINGS)


def _judged(diagnostics: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    """For ``--check`` and ``--strict``: each warning is an error.

    A breaking change since the last commit stays a warning. It may be meant, and nobody has it yet. ``--check-compat``
    compares with what others have.
    """
    from pykb.diagnostics import Severity
    from pykb.diagnostics.codes.generate import BREAKING_CHANGE

    return (
        replace(each, severity=Severity.ERROR)
        if each.severity is Severity.WARNING and each.code is not BREAKING_CHANGE
        else each
        for each in diagnostics
    )


def _compare(root: Path, revision: str, request: Request, result: GenerateResult) -> None:
    from pykb.diagnostics import Diagnostics
    from pykb.gen.compat import with_revision

    finish(Diagnostics(with_revision(root, revision, request, result)))
    console.say(f"no breaking changes since `{revision}`")


def _plan(root: Path, request: Request, result: GenerateResult, *, writes: bool, prune: bool) -> Plan:
    from pykb.cli.project import settle
    from pykb.files.plan import plan_of
    from pykb.gen.output import common_folder, moved, texts

    below = common_folder(root, request.rules, request.options.generators)
    if below != root.resolve():
        settle(below, writes=writes)
    files: dict[str, str | None] = {**texts(root, result.artifacts, request.rules, below=below)}
    if prune and request.options.is_whole:
        from pykb.gen.prune import stale_files

        gone = stale_files(root, request.options, request.rules, result, result.diagnostics)
        files |= {moved(path, root, below): text for path, text in gone.items()}
    return plan_of(below, files, result.diagnostics)


_OPENAPI = "openapi.json"


def _fetch_openapi(root: Path) -> str:
    """Save the cluster's OpenAPI in the project's git-ignored folder.

    Returns the file's absolute path.

    Raises:
        EnvironmentProblem: kubectl is not installed, or cannot reach the cluster.
    """
    from pykb.files.state import opened
    from pykb.tools.kubectl import Kubectl

    text = Kubectl.find()("get", "--raw", "/openapi/v2")
    with opened(root) as state:
        state.put(_OPENAPI, text.encode(), mode=0o644)
        return str(state.path / _OPENAPI)


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
    from pykb.cli.project import hand_over, settle
    from pykb.project import find_root

    root = find_root() or Path.cwd()
    hand_over(root)
    settle(root, writes=not check)

    from pykb.diagnostics import Diagnostics
    from pykb.files.plan import plan_of
    from pykb.gen.docs import generate_docs, target_file
    from pykb.gen.output import check as output_check
    from pykb.gen.request import Given, make_request

    findings = Diagnostics()
    request = make_request(root, Given(("crd",), {"paths": paths}, Path.cwd()), findings)
    target = target_file(root, Path.cwd() / output if output else None, findings)
    finish(findings, code=EXIT_USAGE)
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
