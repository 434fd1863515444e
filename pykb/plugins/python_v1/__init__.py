"""``base.python.pykb.dev/v1``: the code of an operator, its tests, and the files around them."""

from __future__ import annotations

from tokenize import TokenError

from pykb.plugins import Style
from pykb.plugins.kustomize_v1 import FOLDER
from pykb.plugins.plugin import PluginKey
from pykb.plugins.python_v1 import storage_version, webhook
from pykb.plugins.rendering import Files, copied_types, path_of, types_file
from pykb.plugins.request import ApiRequest, Controller, DeleteRequest, InitRequest, WebhookRequest
from pykb.python_source.layout import laid_out, line_length
from pykb.python_source.source import Source
from pykb.scaffold.insert import Fragment, FragmentKind
from pykb.scaffold.plan import OnExists, PlanBuilder


class PythonV1:
    """The package of the project: manager, types, controllers, tests; Makefile, Dockerfile, pyproject.toml."""

    key = PluginKey("base.python.pykb.dev", "v1")
    summary = "the operator's code"

    def init(self, request: InitRequest, plan: PlanBuilder) -> None:
        """Add all files of the template except ``config``."""
        settings = request.files.get("pyproject.toml")
        width = line_length(settings.content if settings else None)
        for path, file in request.files.items():
            if path.startswith(FOLDER):
                continue
            present, content = plan.current(path), file.content
            if width and path.endswith(".py"):
                content = _formatted(content, width)
            if present is not None and path in IGNORES:
                plan.update(path, _joined(present, file.content))
            else:
                plan.create(
                    path, content, on_exists=OnExists.KEEP if path in YOURS else OnExists.REFUSE, mode=file.mode
                )

    def create_api(self, request: ApiRequest, plan: PlanBuilder) -> None:
        """Add types, controller and test, and register them in the package."""
        if request.make_resource:
            _types(request, plan)
        if request.controller:
            _controller(request, request.controller, plan)

    def create_webhook(self, request: WebhookRequest, plan: PlanBuilder) -> None:
        """Add webhooks, converters and tests, and register them in the package."""
        webhook.scaffold(request, plan)

    def delete(self, request: DeleteRequest, plan: PlanBuilder) -> None:
        """Choose the storage versions again, and take webhooks out of modules that keep others."""
        for kind in request.kinds:
            storage_version.choose_again(request, kind, plan)
        for resource in request.project.resources:
            webhook.withdraw(request, resource, plan)


YOURS = frozenset({"README.md", "LICENSE", "AGENTS.md"})
"""Files that a new repository often already has. They are not changed."""

IGNORES = frozenset({".gitignore", ".dockerignore"})
"""Files with one rule per line. Missing rules are added, and existing ones are kept."""


def _formatted(content: bytes, width: int) -> bytes:
    """Format Python in the project's style. The file of a user's template may not be Python."""
    try:
        return laid_out(content.decode(), width).encode()
    except (UnicodeDecodeError, SyntaxError, TokenError):  # the plan reports it
        return content


def _joined(present: bytes, wanted: bytes) -> bytes:
    """The existing rules, followed by the missing ones."""
    known = {line.strip() for line in present.splitlines()}
    missing = [line for line in wanted.splitlines() if line.strip() and line.strip() not in known]
    if not any(not line.startswith(b"#") for line in missing):
        return present
    separator = b"" if not present or present.endswith(b"\n") else b"\n"
    return present + separator + b"\n".join([b"", *missing, b""])


def _types(request: ApiRequest, plan: PlanBuilder) -> None:
    resource, files = request.resource, Files(request, plan)
    folder = path_of(resource.path)
    files.once(f"{path_of(request.project.package)}/api/__init__.py", "api/__init__.py.j2")
    if request.project.multigroup:
        files.once(f"{folder.rpartition('/')[0]}/__init__.py", "api/group__init__.py.j2")
    files.once(f"{folder}/__init__.py", "api/version/__init__.py.j2")
    files.once(f"{folder}/groupversion.py", "api/version/groupversion.py.j2")
    types = types_file(resource)
    was_stored = storage_version.is_marked((plan.current(types) or b"").decode("utf-8", "replace"), resource.kind)
    if request.source is None:
        files.own(types, f"api/version/{'operand_' if resource.operand else ''}types.py.j2")
    elif (copied := copied_types(request, plan, request.source, files.style)) is not None:
        files.create(types, copied)
    if was_stored:  # a new file must keep the marker
        storage_version.move(plan, types, [], resource.kind)
    line = f"from {resource.path}.{resource.singular}_types import {resource.kind} as {resource.kind}"
    files.insert(f"{folder}/__init__.py", Fragment("kinds", line, FragmentKind.IMPORT))
    others = request.project.other_versions(resource)
    if others and not was_stored:
        storage_version.mark(plan, [types_file(r) for r in others], resource.kind)


def _controller(request: ApiRequest, controller: Controller, plan: PlanBuilder) -> None:
    package, files = request.project.package, Files(request, plan)
    folder, is_handlers = path_of(controller.package), controller.style is Style.HANDLERS
    files.once(f"{package}/controllers/__init__.py", "controllers/__init__.py.j2")
    if request.project.multigroup:
        files.once(f"{folder}/__init__.py", "controllers/group__init__.py.j2")
    source = "handlers" if is_handlers else "operand" if request.resource.operand else "controller"
    files.own(f"{folder}/{controller.file}.py", f"controllers/{source}.py.j2", controller=controller)
    if not request.resource.external:
        test = f"tests/{folder.removeprefix(f'{package}/')}/test_{controller.file}.py"
        files.own(test, f"tests/controllers/test_{source}.py.j2", controller=controller)
    if not (is_handlers or request.resource.core or request.resource.external):
        _faults(request, folder, files)
    register = _register_handlers if is_handlers else _register_reconciler
    register(f"{package}/__main__.py", controller, files)


def _register_handlers(main: str, controller: Controller, files: Files) -> None:
    """Import the module: kopf's decorators register then. The alias of the same name marks the import as intended."""
    name = _unique(files.plan, main, controller.package, controller.file, controller)
    remark = "" if name == controller.file else "  # noqa: F401"
    line = f"from {controller.package} import {controller.file} as {name}{remark}"
    files.insert(main, Fragment("imports", line, FragmentKind.IMPORT))
    _relax_types(controller, files)


def _register_reconciler(main: str, controller: Controller, files: Files) -> None:
    name = _unique(files.plan, main, controller.module, controller.reconciler, controller)
    alias = f"{controller.reconciler} as {name}" if name != controller.reconciler else name
    line = f"from {controller.module} import {alias}"
    files.insert(main, Fragment("imports", line, FragmentKind.IMPORT))
    call = f"{name}(manager.client).setup(manager)"
    files.insert(main, Fragment("builder", call, FragmentKind.STATEMENT, key=name))


_SETTINGS = "pyproject.toml"


def _relax_types(controller: Controller, files: Files) -> None:
    """Let mypy accept handlers without types. Settings without the anchor are the user's own."""
    fragment = Fragment("handlers", f"*.{controller.file}", FragmentKind.TEXT_ITEM)
    settings = files.plan.current(_SETTINGS)
    if settings is not None and b"+pykb:scaffold:handlers" in settings:
        files.insert(_SETTINGS, fragment)


def _faults(request: ApiRequest, controllers: str, files: Files) -> None:
    """The explorer's test. Controllers of the same kind share it."""
    folder = controllers.removeprefix(f"{request.project.package}/")
    path = f"tests/{folder}/test_{request.resource.singular}_faults.py"
    files.own(path, "tests/controllers/test_faults.py.j2", on_exists=OnExists.KEEP)


def _unique(plan: PlanBuilder, path: str, module: str, name: str, controller: Controller) -> str:
    """The name to import as: the present one, or one that does not hide the same kind of another group."""
    source = Source.attempt((plan.current(path) or b"").decode("utf-8", "replace"))
    aliases = [*source.aliases()] if source is not None else []
    present = next((called for other, imported, called in aliases if (other, imported) == (module, name)), None)
    if present or not any(called == name and other != module for other, _, called in aliases):
        return present or name
    group = controller.package.rpartition(".")[2]
    if name.islower():
        return f"{group}_{name}"
    stem = group.title().replace("_", "")
    return f"{stem}{name}" if stem[0].isalpha() else f"{name}{stem}"  # a class name cannot begin with a digit
