"""The code of webhooks: defaulter, validator, converters, their tests, and their places in the package."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pykb.plugins.python_v1 import storage_version
from pykb.plugins.python_v1.webhook_module import Addition, extend
from pykb.plugins.request import Spoke, WebhookContext, WebhookRequest
from pykb.reading import python_text
from pykb.scaffold.insert import Fragment, FragmentKind
from pykb.scaffold.plan import OnExists, PlanBuilder
from pykb.scaffold.template import render

WIDTH = 120


@dataclass(frozen=True, slots=True)
class _Import:
    """One imported name, and what it is called here."""

    module: str
    name: str
    called: str = ""

    @property
    def key(self) -> tuple[list[tuple[bool, int, str]], str]:
        """How the formatter sorts imports: by module, numbers by their value, then by name."""
        parts = re.findall(r"\d+|\D+", self.module.casefold())
        return [(not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts], self.name.casefold()

    @property
    def lines(self) -> str:
        """The import as the formatter writes it."""
        name = f"{self.name} as {self.called}" if self.called not in ("", self.name) else self.name
        line = f"from {self.module} import {name}"
        return line if len(line) <= WIDTH else f"from {self.module} import (\n    {name},\n)"


@dataclass(frozen=True, slots=True)
class _Converter:
    """A converter as the module of webhooks uses it."""

    imported: _Import

    @property
    def call(self) -> str:
        return f"with_converter({self.imported.called}())"


def scaffold(request: WebhookRequest, plan: PlanBuilder) -> None:
    """Put the code of webhooks into the plan."""
    context = request.context
    if request.spokes:
        _conversion(request, plan)
    _module(request, plan)
    _register(context, plan)
    if (context.defaulting or context.validation) and not context.external:
        below = _file(context.webhook_module).removeprefix(f"{context.package}/").rpartition("/")[0]
        test = f"tests/{below}/test_{context.singular}_webhook.py"
        # It is about all webhooks of the kind, so the first of them brings it.
        on_exists = OnExists.OVERWRITE if request.force else OnExists.KEEP
        values = context.as_dict() | {"has_sample": plan.current(f"config/samples/{context.sample}") is not None}
        plan.create(test, render("tests/webhooks/test_webhook.py.j2", values), on_exists=on_exists)


def _module(request: WebhookRequest, plan: PlanBuilder) -> None:
    """The module of webhooks: made, or what it lacks put into it."""
    context = request.context
    path = _file(context.webhook_module)
    folder = path.rpartition("/")[0]
    _once(plan, f"{context.package}/webhooks/__init__.py", "webhooks/__init__.py.j2", context)
    if context.multigroup:
        _once(plan, f"{folder.rpartition('/')[0]}/__init__.py", "webhooks/group__init__.py.j2", context)
    _once(plan, f"{folder}/__init__.py", "webhooks/version__init__.py.j2", context)
    if plan.current(path) is None or request.force:
        plan.create(path, _rendered(context), on_exists=OnExists.OVERWRITE)
        return
    present = plan.text(path)
    if present is None:
        return
    function = f"setup_{context.singular}_webhook"
    additions = list(_additions(context, present))
    text, problem = extend(present, additions, path=path, function=function, setup=_setup(context, function))
    if problem is not None:
        plan.diagnostics.add(problem)
    else:
        plan.update(path, text.encode())


def _rendered(context: WebhookContext) -> bytes:
    converters = [
        _Converter(_converter(context, spoke, first=not number)) for number, spoke in enumerate(context.spokes)
    ]
    runtime = _runtime_names(context)
    others = [_Import(context.api_module, context.kind), *(converter.imported for converter in converters)]
    others.sort(key=lambda each: each.key)
    own = [each for each in others if each.module.partition(".")[0] == context.package]
    library = [each for each in others if each not in own]
    values = {
        "runtime": runtime,
        "before": [each.lines for each in library if each.module < "pykb.runtime"],
        "after": [each.lines for each in library if each.module >= "pykb.runtime"],
        "first_party": [each.lines for each in own],
        "converters": [converter.call for converter in converters],
    }
    return render("webhooks/webhook.py.j2", {**context.as_dict(), **values})


def _runtime_names(context: WebhookContext) -> list[str]:
    wanted = {
        "Defaulter": context.defaulting,
        "Manager": True,
        "Validator": context.validation,
        "Warnings": context.validation,
        "WebhookBuilder": True,
    }
    return [name for name, is_wanted in wanted.items() if is_wanted]


def _setup(context: WebhookContext, function: str) -> str:
    """The function that registers, with nothing registered yet, and what it needs."""
    return (
        f"from pykb.runtime import Manager, WebhookBuilder\n"
        f"{_Import(context.api_module, context.kind).lines}\n\n\n"
        f"def {function}(manager: Manager) -> None:\n"
        f'    """Register with the manager."""\n'
        f"    builder = WebhookBuilder(manager).for_({context.kind})\n"
        f"    builder.complete()"
    )


def _additions(context: WebhookContext, text: str) -> Iterator[Addition]:
    """What an existing module has to have."""
    values = context.as_dict()
    if context.defaulting:
        yield Addition(
            class_name=f"{context.kind}Defaulter",
            class_text=render("webhooks/defaulter.py.j2", values).decode(),
            method="with_defaulter",
            call=_with("with_defaulter", f"{context.kind}Defaulter", context.defaulting_path),
            names=("Defaulter",),
        )
    if context.validation:
        yield Addition(
            class_name=f"{context.kind}Validator",
            class_text=render("webhooks/validator.py.j2", values).decode(),
            method="with_validator",
            call=_with("with_validator", f"{context.kind}Validator", context.validation_path),
            names=("Validator", "Warnings"),
        )
    has_one = f"{context.kind}Converter" in text
    for number, spoke in enumerate(context.spokes):
        imported = _converter(context, spoke, first=not has_one and not number)
        call = _Converter(imported).call
        yield Addition("", "", "with_converter", call, (), imports=(imported.lines,), module=spoke.module)


def _with(method: str, class_name: str, path: str) -> str:
    return f'{method}({class_name}(), path="{path}")' if path else f"{method}({class_name}())"


def _converter(context: WebhookContext, spoke: Spoke, *, first: bool) -> _Import:
    """The import of a converter; those behind the first are told apart by their versions."""
    name = f"{context.kind}Converter"
    return _Import(spoke.module, name, name if first else f"{spoke.version.title()}{name}")


def _conversion(request: WebhookRequest, plan: PlanBuilder) -> None:
    """A converter and its test for each spoke; the hub is the version in which objects are stored."""
    context = request.context
    on_exists = OnExists.OVERWRITE if request.force else OnExists.REFUSE
    for spoke in request.spokes:
        values = {**context.as_dict(), "spoke": spoke.version, "module": spoke.module}
        first, second = sorted((context.version, spoke.version), key=lambda each: _Import(each, "").key)
        values |= {"first": first, "second": second}
        path = _file(spoke.module)
        plan.create(path, render("api/version/conversion.py.j2", values), on_exists=on_exists)
        below = path.removeprefix(f"{context.package}/").rpartition("/")[0]
        test = f"tests/{below}/test_{context.singular}_conversion.py"
        plan.create(test, render("tests/api/test_conversion.py.j2", values), on_exists=on_exists)
    kinds = [r for r in request.project.resources if r.api]
    alike = [r for r in kinds if (r.api_group, r.kind) == (context.api_group, context.kind)]
    files = {r.version: f"{r.path.replace('.', '/')}/{r.singular}_types.py" for r in alike}
    hub = files.pop(context.version)
    storage_version.move(plan, hub, list(files.values()), context.kind)


def _register(context: WebhookContext, plan: PlanBuilder) -> None:
    """The manager sets the webhooks up."""
    main = f"{context.package}/__main__.py"
    function = f"setup_{context.singular}_webhook"
    name = _unique(plan, main, context, function)
    line = _Import(context.webhook_module, function, name).lines
    plan.insert(main, Fragment("imports", line, FragmentKind.IMPORT))
    plan.insert(main, Fragment("builder", f"{name}(manager)", FragmentKind.STATEMENT, key=name))


def _unique(plan: PlanBuilder, path: str, context: WebhookContext, function: str) -> str:
    """The name to import as: the webhooks of another version or group must not be hidden."""
    try:
        tree = python_text.parse(plan.text(path) or "")
    except SyntaxError:  # the insertion reports it
        return function
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    called = {
        alias.asname or alias.name: node.module for node in imports for alias in node.names if alias.name == function
    }
    for name, module in called.items():
        if module == context.webhook_module:
            return name
    *_, group, version, _ = context.webhook_module.split(".")
    stem = f"{context.singular}_webhook"
    by_version, by_group = f"setup_{version}_{stem}", f"setup_{group}_{stem}"
    candidates = [function, by_version]
    if context.multigroup:
        in_group = any(f".{group}." in (module or "") for module in called.values())
        candidates = [function, by_version if in_group else by_group, f"setup_{group}_{version}_{stem}"]
    return next((name for name in candidates if name not in called), candidates[-1])


def _file(module: str) -> str:
    return f"{module.replace('.', '/')}.py"


def _once(plan: PlanBuilder, path: str, template: str, context: WebhookContext) -> None:
    """A file that several webhooks share: made by the first, then left alone."""
    if plan.current(path) is None:
        plan.create(path, render(template, context.as_dict()))
