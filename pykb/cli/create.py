"""``pykb create api``, and what every ``create`` ends with."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pykb.cli import console
from pykb.cli.errors import EXIT_FINDINGS, EXIT_USAGE, report, report_rendered
from pykb.cli.options import Diff, DryRun, Group, Kind, Make, Plugins, complete_versions, listed, plugin_args
from pykb.cli.project import own_pykb
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes import cli as usage_codes
from pykb.diagnostics.render import Format
from pykb.plugins import Style

if TYPE_CHECKING:
    from pykb.commands.create_api import ApiPlan, NewApi
    from pykb.files.plan import Plan
    from pykb.project.file import Project
    from pykb.project.resource import Resource


def api(
    group: Group = "",
    version: Annotated[
        str, typer.Option(help="API version: v1, v1beta1, v1alpha1.", autocompletion=complete_versions)
    ] = "",
    kind: Kind = "",
    plural: Annotated[str, typer.Option(help="The plural, if the default is wrong.")] = "",
    namespaced: Annotated[
        bool | None, typer.Option("--namespaced/--no-namespaced", help="Make the kind namespaced.  [default: yes]")
    ] = None,
    resource: Annotated[
        bool | None, typer.Option("--resource/--no-resource", help="Create types and a CRD.  [default: asks, else yes]")
    ] = None,
    controller: Annotated[
        bool | None,
        typer.Option("--controller/--no-controller", help="Create a controller.  [default: asks, else yes]"),
    ] = None,
    controller_name: Annotated[str, typer.Option(help="Name for a second controller of the same kind.")] = "",
    style: Annotated[Style, typer.Option(help="A Reconciler class, or plain kopf handlers.")] = Style.RECONCILER,
    from_version: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="VERSION",
            help="Copy the types and the sample of this version.",
            autocompletion=complete_versions,
        ),
    ] = "",
    external_api_path: Annotated[str, typer.Option(metavar="MODULE", help="Python module of an external type.")] = "",
    external_api_domain: Annotated[
        str, typer.Option(metavar="DOMAIN", help="Domain of the external type's group.")
    ] = "",
    image: Annotated[
        str, typer.Option(metavar="IMAGE", help="With --plugins deploy-image: the image that the controller deploys.")
    ] = "",
    image_container_command: Annotated[
        str, typer.Option(metavar="WORDS", help="Command of its container, with commas between the words.")
    ] = "",
    image_container_port: Annotated[
        int | None, typer.Option(metavar="PORT", min=1, max=65535, help="Port of its container.")
    ] = None,
    run_as_user: Annotated[
        int | None, typer.Option(metavar="UID", min=1, max=2**31 - 1, help="User id of its container; not 0, root.")
    ] = None,
    plugins: Plugins = "",
    make: Make = True,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite the files of the API. Keeps the old ones in .pykb/backup.")
    ] = False,
    dry_run: DryRun = False,
    diff: Diff = False,
) -> None:
    """Add a kind to the project: types, controller, sample, roles, tests.

    A type of Kubernetes itself or of another package gets a controller without a CRD.

    Examples:
      pykb create api --group infra --version v1 --kind Machine
      pykb create api --group infra --version v2 --kind Machine --from v1 --no-controller
      pykb create api --group cache --version v1 --kind Memcached --plugins deploy-image --image memcached:1.6
          --image-container-command memcached,--memory-limit=64,-v --image-container-port 11211 --run-as-user 1001
      pykb create api --group apps --version v1 --kind Deployment --no-resource
      pykb create api --group infra --version v1 --kind Machine --no-resource --controller-name machine-cleaner
      pykb create api --group cert-manager --version v1 --kind Issuer --no-resource --external-api-path certs.api
          --external-api-domain io
    """
    from pykb.cli.project import require_project
    from pykb.commands.create_api import NewApi, plan_api
    from pykb.project.resource import Operand, command_of

    root, project = require_project(writes=not (dry_run or diff))
    operand = Operand(image, command_of(image_container_command), image_container_port, run_as_user)
    if resource is None and (from_version or operand != Operand("")):
        resource = True
    if controller is None and operand != Operand(""):
        controller = True
    if controller is None and controller_name:
        controller = True  # a name implies a controller
    options = NewApi(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        namespaced=namespaced,
        resource=not external_api_path if resource is None else resource,
        from_version=from_version,
        controller=not _has_controller(project, group, kind) if controller is None else controller,
        controller_name=controller_name,
        style=style,
        operand=operand if operand != Operand("") else None,
        external_api_path=external_api_path,
        external_api_domain=external_api_domain,
        force=force,
        plugins=listed(plugins),
        args=plugin_args(console.settings.argv),
    )

    @cache  # `_asked` plans every answer, and one of these plans is used afterwards
    def plan(options: NewApi) -> tuple[ApiPlan | None, Diagnostics]:
        return plan_api(options, project, root)

    options = _asked(
        options,
        plan,
        about_resource=resource is None and not external_api_path,
        about_controller=controller is None,
    )
    planned, found = plan(options)
    report(from_working_directory(found, root))
    if planned is None:
        raise typer.Exit(exit_code(found))
    if create(planned.plan, f"`{planned.resource}`", root, options.plugins, dry_run=dry_run, diff=diff, make=make):
        _say_next(planned.resource, made=make)


def create(plan: Plan, what: str, root: Path, plugins: Sequence[str], *, dry_run: bool, diff: bool, make: bool) -> bool:
    """Apply or show a plan, then run the generator. Returns whether anything was written."""
    from pykb.cli.changes import carry_out

    wrote = carry_out(plan, dry_run=dry_run, diff=diff)
    if dry_run or diff:
        return False
    if not wrote:
        from pykb.diagnostics.codes.project import UNCHANGED

        report([UNCHANGED.at(None, f"nothing was changed: everything for {what} already exists")])
        return False
    if plugins:
        from pykb.plugins.external import trust

        trust(root, plugins)
    if make:
        _generate(root)
    _say_chart(plan, root)
    return True


def _say_chart(plan: Plan, root: Path) -> None:
    """Say that the project's Helm chart is out of date now, unless the plan has it."""
    from pykb.plugins.helm_v1 import HelmV1
    from pykb.project.file import read

    project, _ = read(root)
    folder = f"charts/{project.project_name}"
    is_written = any(change.path.startswith(f"{folder}/") for change in plan.changes)
    if str(HelmV1.key) in project.layout and (root / folder).is_dir() and not is_written:
        console.say(f"note: `{folder}` is older than this change: `pykb edit --plugins helm` brings it up to date")


def _asked(
    options: NewApi,
    plan: Callable[[NewApi], tuple[ApiPlan | None, Diagnostics]],
    *,
    about_resource: bool,
    about_controller: bool,
) -> NewApi:
    """The options, with the user's answers to questions that they leave open.

    Asks nothing if every answer leads to an error.
    """
    resources = (options.resource, not options.resource) if about_resource else (options.resource,)
    controllers = (options.controller, not options.controller) if about_controller else (options.controller,)
    answers = (replace(options, resource=r, controller=c) for r in resources for c in controllers)
    if not about_resource and not about_controller:
        return options
    if all(plan(answer)[0] is None for answer in answers):
        return options
    if about_resource:
        wanted = console.confirm("Create the resource: types and CRD?", default=options.resource)
        options = replace(options, resource=wanted)
    if about_controller:
        wanted = console.confirm("Create a controller?", default=options.controller)
        options = replace(options, controller=wanted)
    return options


def _has_controller(project: Project, group: str, kind: str) -> bool:
    """Whether another version of the kind has a controller, which then serves all of them."""
    return any(r.group == group and r.kind == kind and r.has_controller for r in project.resources)


def exit_code(found: Diagnostics) -> int:
    """The exit code of a refused command: for usage if only names are wrong, else for findings."""
    about_usage = {value.slug for value in vars(usage_codes).values() if hasattr(value, "slug")}
    only_words = all(d.code.slug in about_usage | {"nothing-to-do", "plugin-unknown"} for d in found)
    return EXIT_USAGE if only_words else EXIT_FINDINGS


def from_working_directory(found: Diagnostics, root: Path) -> Diagnostics:
    """Findings with paths relative to the working directory."""
    prefix = os.path.relpath(root)
    if prefix == ".":
        return found
    moved = (
        replace(d, span=replace(d.span, path=f"{prefix}/{d.span.path}")) if d.span is not None else d for d in found
    )
    return Diagnostics(moved)


def _generate(root: Path) -> None:
    """Run the generator, with the project's own pykb if it is installed. Installs nothing."""
    program = own_pykb(root) or (sys.executable, "-P", "-m", "pykb")
    sys.stdout.flush()
    style = console.settings.format
    kept = subprocess.PIPE if style is Format.JSON else None  # merged with the findings of this process
    words = (*program, "generate", "--format", style)
    done = subprocess.run(words, cwd=root, stdin=subprocess.DEVNULL, stderr=kept, check=False, encoding="utf-8")
    if done.stderr:
        report_rendered(done.stderr)
    if done.returncode != 0:
        from pykb.diagnostics.codes.scaffold import GENERATE_FAILED

        report(
            [
                GENERATE_FAILED.at(
                    None,
                    "the files were written, but the manifests could not be generated",
                    help=("see above; then: `pykb generate`",),
                )
            ]
        )
        raise typer.Exit(EXIT_FINDINGS)


def _say_next(resource: Resource, *, made: bool) -> None:
    if not resource.api:
        console.say(f"\nNext: write the reconcile logic of {resource.kind} in its controller")
        return
    console.say(
        f"\nNext: define the fields of {resource.kind} in "
        f"{resource.path.replace('.', '/')}/{resource.singular}_types.py, then"
    )
    console.say("  make install run" if made else "  make manifests install run")
