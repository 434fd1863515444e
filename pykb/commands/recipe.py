"""The commands that make a project again, from PROJECT: `init`, `create api`, `create webhook`, `edit`.

PROJECT does not record all options and no order. So the result may differ from what the user once had. But two releases
that carry out the same recipe differ only in what changed between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pykb.commands.requests import controllers
from pykb.diagnostics import Diagnostics
from pykb.plugins.registry import DEFAULT
from pykb.project.file import Project
from pykb.project.resource import Operand, Resource
from pykb.scaffold import license  # noqa: A004 - our module of that name
from pykb.scaffold.release import HEADER, Recipe, Step


def recipe(project: Project, root: Path, header: str) -> Recipe:
    """The commands. The licence header is that of the project."""
    steps = [Step(("init",), tuple(_init(project, header)))]
    for resource in project.resources:
        steps += _api(resource, project, root)
    for resource in project.resources:  # a conversion needs all versions
        steps += _webhook(resource, project)
    if project.shards:
        steps.append(Step(("edit",), (), (f"--shards={project.shards}",), is_newer=True))
    return Recipe(tuple(steps), header)


def own_plugins(layout: Sequence[str]) -> list[str]:
    """The plugins of a layout that are pykb's and scaffold a project. Others are not part of a recipe."""
    own = (DEFAULT, *DEFAULT.parts)
    return [key for key in layout if any(plugin.key.answers_to(key) for plugin in own)]


def _init(project: Project, header: str) -> Iterator[str]:
    plugins = own_plugins(project.layout)
    if plugins not in ([], [str(DEFAULT.key)]):
        yield f"--plugins={','.join(plugins)}"
    yield f"--domain={project.domain}"
    yield f"--project-name={project.project_name}"
    yield from _flags(multigroup=project.multigroup, namespaced=project.namespaced)
    owner = license.owner(header)
    if not header:
        yield "--license=none"
    elif header == license.header(license.License.APACHE2, owner=owner, file=None, year="", found=Diagnostics()):
        yield from ("--license=apache2", f"--owner={owner}")
    else:
        yield f"--license-file={HEADER}"


def _api(resource: Resource, project: Project, root: Path) -> Iterator[Step]:
    """A command for types and the first controller, and one for each other controller."""
    named = [(name * (name != resource.singular), style) for name, style in controllers(resource, project, root)]
    first = named.pop(0) if resource.api and named and not named[0][0] else None
    words = ("create", "api")
    if resource.api:
        of_types = (f"--plural={resource.plural}", "--resource", *_flags(namespaced=resource.namespaced))
        of_controller = ("--controller", f"--style={first[1]}") if first else ("--no-controller",)
        yield Step(
            words,
            (*_names(resource), *of_types, *of_controller, *_image(resource.operand if first else None), "--no-make"),
        )
    for name, style in named:
        own = (f"--controller-name={name}",) if name else ()
        options = ("--no-resource", "--controller", *own, f"--style={style}", *_external(resource))
        yield Step(words, (*_names(resource), *options, "--no-make"))


def _webhook(resource: Resource, project: Project) -> Iterator[Step]:
    webhooks = resource.webhooks
    if webhooks is None:
        return
    options = [*_names(resource), *_external(resource), "--no-make"]
    options += ["--defaulting"] * webhooks.defaulting
    options += ["--programmatic-validation"] * webhooks.validation
    options += ["--conversion"] * webhooks.conversion
    options += [f"--spoke={version}" for version in webhooks.spoke]
    options += [f"--defaulting-path={webhooks.defaulting_path}"] if webhooks.defaulting_path else []
    options += [f"--validation-path={webhooks.validation_path}"] if webhooks.validation_path else []
    yield Step(("create", "webhook"), tuple(options), (f"--certificates={project.issuer}",))


def _names(resource: Resource) -> tuple[str, str, str]:
    return f"--group={resource.group}", f"--version={resource.version}", f"--kind={resource.kind}"


def _external(resource: Resource) -> tuple[str, ...]:
    if not resource.external:
        return ()
    return f"--external-api-path={resource.path}", f"--external-api-domain={resource.domain}"


def _image(operand: Operand | None) -> Iterator[str]:
    if operand is not None:
        yield from ("--plugins=deploy-image", f"--image={operand.image}")
        yield from ([f"--image-container-command={','.join(operand.command)}"] if operand.command else [])
        yield from ([f"--image-container-port={operand.port}"] if operand.port else [])
        yield from ([f"--run-as-user={operand.user}"] if operand.user else [])


def _flags(**values: bool) -> tuple[str, ...]:
    return tuple(f"--{name}" if value else f"--no-{name}" for name, value in values.items())
