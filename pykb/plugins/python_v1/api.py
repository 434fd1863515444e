"""The code of an API: types, controller, test, and their places in the package."""

from __future__ import annotations

from pykb.plugins import version_source
from pykb.plugins.python_v1 import storage_version
from pykb.plugins.request import ApiContext, ApiRequest
from pykb.plugins.style import Style
from pykb.project.resource import Resource
from pykb.reading import python_text
from pykb.scaffold.insert import Fragment, FragmentKind
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render

WIDTH = 120


def scaffold(request: ApiRequest, plan: PlanBuilder) -> None:
    """Put an API's code into the plan."""
    if request.make_resource:
        _types(request, plan)
    if request.make_controller:
        _controller(request, plan)


def _types(request: ApiRequest, plan: PlanBuilder) -> None:
    context = request.context
    folder = context.api_module.replace(".", "/")
    _once(plan, f"{context.package}/api/__init__.py", "api/__init__.py.j2", context)
    if context.multigroup:
        _once(plan, f"{folder.rpartition('/')[0]}/__init__.py", "api/group__init__.py.j2", context)
    _once(plan, f"{folder}/__init__.py", "api/version/__init__.py.j2", context)
    _once(plan, f"{folder}/groupversion.py", "api/version/groupversion.py.j2", context)
    types = _types_file(context.api_module, context.kind)
    was_stored = storage_version.is_marked((plan.current(types) or b"").decode("utf-8", "replace"), context.kind)
    if request.source is None:
        _own(plan, types, "api/version/types.py.j2", request)
    elif (copied := version_source.types(request, plan, request.source)) is not None:
        plan.create(types, copied, on_exists=_on_exists(request))
    if was_stored:  # written again, it still is
        storage_version.move(plan, types, [], context.kind)
    module = f"{context.api_module}.{context.singular}_types"
    line = _import(module, f"{context.kind} as {context.kind}")
    plan.insert(f"{folder}/__init__.py", Fragment("kinds", line, FragmentKind.IMPORT))
    others = [r for r in request.project.resources if r.api and _same_kind(r, request) and r.version != context.version]
    if others and not was_stored:
        storage_version.mark(plan, [_types_file(r.path, r.kind) for r in others], context.kind)


def _same_kind(resource: Resource, request: ApiRequest) -> bool:
    return (resource.api_group, resource.kind) == (request.context.api_group, request.context.kind)


def _types_file(module: str, kind: str) -> str:
    return f"{module.replace('.', '/')}/{kind.lower()}_types.py"


def _controller(request: ApiRequest, plan: PlanBuilder) -> None:
    context = request.context
    package, _, module = context.controller_module.rpartition(".")
    folder = package.replace(".", "/")
    _once(plan, f"{context.package}/controllers/__init__.py", "controllers/__init__.py.j2", context)
    if context.multigroup:
        _once(plan, f"{folder}/__init__.py", "controllers/group__init__.py.j2", context)
    source = "controller" if context.style == Style.RECONCILER else "handlers"
    _own(plan, f"{folder}/{module}.py", f"controllers/{source}.py.j2", request)
    if not context.external:
        below = folder.removeprefix(f"{context.package}/")
        _own(plan, f"tests/{below}/test_{module}.py", f"tests/controllers/test_{source}.py.j2", request)
    main = f"{context.package}/__main__.py"
    if context.style == Style.HANDLERS:
        # kopf's decorators register when the module is imported; `as` the same name says that this is the purpose.
        name = _unique(plan, main, package, module, context)
        line = _import(package, f"{module} as {name}", "" if name == module else "  # noqa: F401")
        plan.insert(main, Fragment("imports", line, FragmentKind.IMPORT))
        return
    name = _unique(plan, main, context.controller_module, context.reconciler, context)
    alias = f"{context.reconciler} as {name}" if name != context.reconciler else name
    plan.insert(main, Fragment("imports", _import(context.controller_module, alias), FragmentKind.IMPORT))
    plan.insert(main, Fragment("builder", f"{name}(manager.client).setup(manager)", FragmentKind.STATEMENT, key=name))


def _unique(plan: PlanBuilder, path: str, module: str, name: str, context: ApiContext) -> str:
    """The name to import as: another group's kind of the same name must not be hidden."""
    import ast

    text = (plan.current(path) or b"").decode("utf-8", "replace")
    try:
        tree = python_text.parse(text)
    except SyntaxError:  # the insertion reports it
        return name
    taken = any(
        isinstance(node, ast.ImportFrom) and node.module != module and (alias.asname or alias.name) == name
        for node in ast.walk(tree)
        for alias in getattr(node, "names", ())
    )
    group = context.controller_module.split(".")[-2]
    if not taken:
        return name
    if name.islower():
        return f"{group}_{name}"
    stem = group.title().replace("_", "")
    return f"{stem}{name}" if stem[0].isalpha() else f"{name}{stem}"  # a group may begin with a digit, a class may not


def _import(module: str, name: str, remark: str = "") -> str:
    """An import as the formatter writes it."""
    line = f"from {module} import {name}"
    return f"{line}{remark}" if len(line) <= WIDTH else f"from {module} import (\n    {name},{remark}\n)"


def _once(plan: PlanBuilder, path: str, template: str, context: ApiContext) -> None:
    """A file that several APIs share: made by the first, then left alone."""
    if plan.current(path) is None:
        plan.create(path, render(template, context.as_dict()))


def _own(plan: PlanBuilder, path: str, template: str, request: ApiRequest) -> None:
    plan.create(path, render(template, request.context.as_dict()), on_exists=_on_exists(request))


def _on_exists(request: ApiRequest) -> OnExists:
    return OnExists.OVERWRITE if request.force else OnExists.REFUSE
