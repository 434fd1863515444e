"""The code of webhooks: defaulter, validator, converters, their tests, and their registration in the package."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, Span
from pykb.diagnostics.codes.commands import WEBHOOK_MODULE
from pykb.plugins.python_v1 import storage_version
from pykb.plugins.rendering import Files, path_of, types_file
from pykb.plugins.request import DeleteRequest, WebhookRequest, earlier
from pykb.project.resource import Resource, Webhooks
from pykb.python_source.layout import Import, fitted, import_block
from pykb.python_source.source import CodeStyle, Source, is_same_code
from pykb.scaffold.insert import Fragment, FragmentKind, broken
from pykb.scaffold.plan import OnExists, PlanBuilder

# Adds webhooks to a module: text in, text out. The user's code is not changed.
#
# Places are found in the syntax tree. A class goes above the function that registers the webhooks, a call before the
# builder's `complete()`, and a name into the import of `pykb.runtime`.


@dataclass(frozen=True, slots=True)
class Addition:
    """A webhook that a module needs.

    Attributes:
        name: Its class.
        method: The builder's method.
        call: The full call of the method.
        imports: The names to import for it.
        code: The class with its marker; empty when the class is imported.
    """

    name: str
    method: str
    call: str
    imports: tuple[Import, ...]
    code: str = ""


def extend(
    text: str, additions: Sequence[Addition], *, path: str, function: str, style: CodeStyle, setup: str = ""
) -> tuple[str, Diagnostic | None]:
    """Add all additions. Returns the text unchanged, with a finding, when one cannot be made.

    Args:
        text: The module.
        additions: The webhooks that it needs. Existing ones are not changed.
        path: Its path in findings.
        function: The name of the function that registers the webhooks.
        style: The project's Python style.
        setup: That function without any webhook, and its imports, for a module without a builder.
    """
    try:
        source = Source.parse(text)
    except SyntaxError as error:
        return text, broken(Span(path, error.lineno or 1, error.offset or 1), path, error.msg)
    for addition in additions:
        is_there, is_called = _is_there(source, addition), _is_called(source, addition)
        if is_there and is_called:
            continue
        place = _complete(source, function)
        if place is None:
            return text, _unfit(path, additions, source, function, setup)
        if not is_called:
            source = _with_call(source, place, addition.call, style)
        if not is_there:
            source = _with_class(source, addition, function, style)
    return source.text, None


def reduce(
    text: str, gone: Sequence[Addition], variants: Sequence[Addition], style: CodeStyle
) -> tuple[str, list[int]]:
    """Take webhooks out of a module. Returns also the lines of those that were edited.

    Args:
        text: The module.
        gone: The webhooks.
        variants: The same webhooks as they may also have been written.
        style: The project's Python style.
    """
    source = Source.attempt(text)
    if source is None:
        return text, []
    before = source
    edited: list[int] = []
    for addition, variant in zip(gone, variants, strict=True):
        names = {addition.name} if addition.code else _imported(source, addition)
        source = _without_calls(source, addition.method, names)
        definition = source.find_class(addition.name) if addition.code else None
        if definition is not None:
            code = _code(source, definition)
            if not any(is_same_code(code, each.code.strip()) for each in (addition, variant)):
                original = before.find_class(addition.name)
                edited.append(original.lineno if original else 1)
            source = _without_class(source, definition)
        used = {node.id for node in ast.walk(source.tree) if isinstance(node, ast.Name)}
        for each in addition.imports:
            unused = tuple(name for name in each.names if name.rpartition(" as ")[2] not in used)
            source = source.without_import(replace(each, names=unused), style)
    return source.text, edited


def _without_class(source: Source, definition: ast.ClassDef) -> Source:
    """The module without a class, its comments, and the blank lines below it."""
    below = definition.end_lineno or definition.lineno
    return source.without_lines(_first(source, definition), below + _blanks(source, below))


def _imported(source: Source, addition: Addition) -> set[str]:
    return {called for module, _, called in source.aliases() if module == addition.imports[0].module}


def _first(source: Source, definition: ast.ClassDef) -> int:
    return min([source.start(definition), *source.comments_above(definition, blank=False)])


def _code(source: Source, definition: ast.ClassDef) -> str:
    return "".join(source.lines[_first(source, definition) : definition.end_lineno]).replace("\r\n", "\n").strip()


def _blanks(source: Source, at: int) -> int:
    """The number of blank lines from an index, two at most."""
    lines = source.lines[at : at + 2]
    return next((number for number, line in enumerate(lines) if line.strip()), len(lines))


def _without_calls(source: Source, method: str, names: set[str]) -> Source:
    """Remove the calls of a builder's method with these names: a statement, or a link of a chain."""
    while True:
        found = next((call for call in _calls(source.tree, method) if names & _names(call)), None)
        if found is None:
            return source
        statements = (node for node in ast.walk(source.tree) if isinstance(node, ast.Expr) and node.value is found)
        statement = next(statements, None)
        assert isinstance(found.func, ast.Attribute)  # noqa: S101 - by how it was found
        if statement is not None and isinstance(found.func.value, ast.Name):
            source = source.without_statement(statement)
        else:
            source = source.without_span(found.func.value, found)


def _calls(tree: ast.AST, method: str) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == method
    ]


def _names(call: ast.Call) -> set[str]:
    """The names in the arguments of a call."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return {node.id for each in given for node in ast.walk(each) if isinstance(node, ast.Name)}


def _is_there(source: Source, addition: Addition) -> bool:
    if addition.code:
        return any(isinstance(node, ast.ClassDef) and node.name == addition.name for node in ast.walk(source.tree))
    return any(module == addition.imports[0].module for module, _, _ in source.aliases())


def _is_called(source: Source, addition: Addition) -> bool:
    """Whether the builder already gets the webhook. Several converters are distinguished by class."""
    calls = _calls(source.tree, addition.method)
    if addition.code:
        return bool(calls)
    names = _imported(source, addition)
    return any(names & _names(call) for call in calls)


def _complete(source: Source, function: str) -> ast.Call | None:
    """The call of the builder's ``complete()`` in the registering function."""
    definition = source.find_function(function)
    calls = _calls(definition, "complete") if definition is not None else ()
    return next((call for call in calls if not call.args), None)  # the `complete()` of a controller has an argument


def _with_class(source: Source, addition: Addition, function: str, style: CodeStyle) -> Source:
    """Add the class above the function and its comments, and add the imports."""
    function_definition = source.find_function(function)
    if addition.code and function_definition is not None:
        at = min([source.start(function_definition), *source.comments_above(function_definition, blank=False)])
        source = source.with_lines(at, *addition.code.strip().split("\n"), "", "")
    for each in addition.imports:
        source = source.with_import(each, style)
    return source


def _with_call(source: Source, place: ast.Call, call: str, style: CodeStyle) -> Source:
    """Add a statement before ``builder.complete()``, or in a chain, a call before the last one."""
    func = place.func
    assert isinstance(func, ast.Attribute)  # noqa: S101 - by how it was found
    receiver, lines = func.value, source.lines
    first, last = receiver.lineno - 1, (func.end_lineno or func.lineno) - 1
    if isinstance(receiver, ast.Name) and lines[first].strip().startswith(f"{receiver.id}.complete("):
        return source.with_lines(
            first, *fitted(f"{_indent(lines[first])}{receiver.id}.{call}", style.width).split("\n")
        )
    end, column = (receiver.end_lineno or receiver.lineno) - 1, receiver.end_col_offset or 0
    link = f".{call}" if end == last else f"{source.newline}{_indent(lines[last])}.{call}"
    return source.with_text(end, column, link)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _unfit(path: str, additions: Sequence[Addition], source: Source, function: str, setup: str) -> Diagnostic:
    absent = [each for each in additions if not (_is_there(source, each) and _is_called(source, each))]
    function_definition = source.find_function(function)
    reason = f"`{function}` calls no `complete()`" if function_definition else f"there is no function `{function}`"
    # Without a builder, paste the function. The next run of the command adds the rest to it.
    pasted = [setup.strip()] if setup and not _has_builder(source) else _to_paste(absent)
    return WEBHOOK_MODULE.at(
        Span(path, function_definition.lineno if function_definition else 1, 1),
        f"`{path}` cannot take another webhook: {reason}",
        "add these lines to it in the right places, then run the command again:\n" + "\n".join(pasted),
        notes=NOTHING_WRITTEN,
    )


def _has_builder(source: Source) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "WebhookBuilder" for node in ast.walk(source.tree))


def _to_paste(additions: Sequence[Addition]) -> list[str]:
    return [
        *import_block(each for addition in additions for each in addition.imports).splitlines(),
        *(addition.code.strip() for addition in additions if addition.code),
        *(f"builder.{addition.call}" for addition in additions),
    ]


def scaffold(request: WebhookRequest, plan: PlanBuilder) -> None:
    """Add the code of webhooks to the plan."""
    files = Files(request, plan)
    if request.named:
        _conversion(request, files)
    _module(request, files)
    _register(request, files)
    if (request.made.defaulting or request.made.validation) and not request.resource.external:
        # The test covers all webhooks of the kind, so the first one creates it.
        has_sample = plan.current(f"config/samples/{request.sample}") is not None
        template = "tests/webhooks/test_webhook.py.j2"
        files.own(_test(request, request.webhook_module), template, on_exists=OnExists.KEEP, has_sample=has_sample)


def _test(request: WebhookRequest, module: str) -> str:
    """The path of the test for a module, in a folder of the same name."""
    folder, _, name = path_of(module.removeprefix(f"{request.project.package}.")).rpartition("/")
    return f"tests/{folder}/test_{name}.py"


def _function(request: WebhookRequest) -> str:
    return f"setup_{request.resource.singular}_webhook"


def _module(request: WebhookRequest, files: Files) -> None:
    """Create the module of webhooks, or add missing webhooks to it."""
    plan, module = files.plan, path_of(request.webhook_module)
    path, folder = f"{module}.py", module.rpartition("/")[0]
    files.once(f"{request.project.package}/webhooks/__init__.py", "webhooks/__init__.py.j2")
    if request.project.multigroup:
        files.once(f"{folder.rpartition('/')[0]}/__init__.py", "webhooks/group__init__.py.j2")
    files.once(f"{folder}/__init__.py", "webhooks/version__init__.py.j2")
    is_new = plan.current(path) is None or request.force
    text = files.text("webhooks/webhook.py.j2") if is_new else plan.text(path)
    if text is None:
        return
    after, problem = extend(
        text,
        list(_additions(request, files, text)),
        path=path,
        function=_function(request),
        style=files.style,
        setup=files.text("webhooks/setup.py.j2"),
    )
    if problem is not None:
        plan.diagnostics.add(problem)
    elif is_new:
        plan.create(path, after.encode(), on_exists=OnExists.OVERWRITE)
    else:
        plan.update(path, after.encode())


def _additions(request: WebhookRequest, files: Files, text: str) -> Iterator[Addition]:
    """The webhooks that the module needs."""
    for wanted, name, path, names in (
        (request.made.defaulting, "Defaulter", request.all.defaulting_path, ("Defaulter",)),
        (request.made.validation, "Validator", request.all.validation_path, ("Validator", "Warnings")),
    ):
        if wanted:
            class_name, method = f"{request.resource.kind}{name}", f"with_{name.lower()}"
            arguments = f'{class_name}(), path="{path}"' if path else f"{class_name}()"
            code = files.text(f"webhooks/{name.lower()}.py.j2")
            yield Addition(class_name, method, f"{method}({arguments})", (Import("pykb.runtime", names),), code)
    converter = f"{request.resource.kind}Converter"
    has_one = converter in text
    for number, spoke in enumerate(request.spokes):
        # Converters after the first have the version in their names.
        name = converter if not number and not has_one else f"{spoke.version.title()}{converter}"
        imported = Import(spoke.module, (converter if name == converter else f"{converter} as {name}",))
        yield Addition(name, "with_converter", f"with_converter({name}())", (imported,))


def _conversion(request: WebhookRequest, files: Files) -> None:
    """Add a converter and its test for each spoke. The hub becomes the storage version."""
    for spoke in (each for each in request.spokes if each.version in request.named):
        files.own(f"{path_of(spoke.module)}.py", "api/version/conversion.py.j2", spoke=spoke)
        files.own(_test(request, spoke.module), "tests/api/test_conversion.py.j2", spoke=spoke)
    resource = request.resource
    types = {each.version: types_file(each) for each in request.project.versions(resource)}
    hub = types.pop(resource.version)
    storage_version.move(files.plan, hub, list(types.values()), resource.kind)


def _register(request: WebhookRequest, files: Files) -> None:
    """Register the webhooks in the manager."""
    main, function = f"{request.project.package}/__main__.py", _function(request)
    name = _unique(request, files.plan.text(main) or "", function)
    line = Import(request.webhook_module, (function if name == function else f"{function} as {name}",)).text
    files.insert(main, Fragment("imports", line, FragmentKind.IMPORT))
    files.insert(main, Fragment("builder", f"{name}(manager)", FragmentKind.STATEMENT, key=name))


def _unique(request: WebhookRequest, text: str, function: str) -> str:
    """The name to import as. It must not hide the webhooks of another version or group."""
    source = Source.attempt(text)
    aliases = source.aliases() if source is not None else ()
    taken = {called: module for module, name, called in aliases if name == function}
    for name, module in taken.items():
        if module == request.webhook_module:
            return name
    *_, group, version, stem = request.webhook_module.split(".")
    by_version, by_group = f"setup_{version}_{stem}", f"setup_{group}_{stem}"
    candidates = [function, by_version]
    if request.project.multigroup:
        in_group = any(f".{group}." in module for module in taken.values())
        candidates = [function, by_version if in_group else by_group, f"setup_{group}_{version}_{stem}"]
    return next((name for name in candidates if name not in taken), candidates[-1])


def withdraw(request: DeleteRequest, resource: Resource, plan: PlanBuilder) -> None:
    """Take the webhooks that go out of a module that keeps others."""
    kept = request.after.find(resource)
    if not resource.webhooks or not kept or not kept.webhooks or kept.webhooks == resource.webhooks:
        return
    gone = WebhookRequest(
        project=request.project,
        resource=resource,
        boilerplate=request.boilerplate,
        force=False,
        made=_difference(resource.webhooks, kept.webhooks),
        named=(),
    )
    path = f"{path_of(gone.webhook_module)}.py"
    text = plan.text(path)
    if text is None:
        return
    requests = [replace(gone, project=project) for project in earlier(request.project, resource)]
    known = [list(_additions(each, Files(each, plan), text)) for each in requests]
    after, edited = reduce(text, known[0], known[1], Files(gone, plan).style)
    plan.update(path, after.encode())
    for line in edited:
        plan.lose(path, line)


def _difference(before: Webhooks, after: Webhooks) -> Webhooks:
    """The webhooks that go."""
    return replace(
        before,
        defaulting=before.defaulting and not after.defaulting,
        validation=before.validation and not after.validation,
        conversion=before.conversion and not after.conversion,
        spoke=tuple(version for version in before.spoke if version not in after.spoke),
    )
