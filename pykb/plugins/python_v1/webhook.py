"""The code of webhooks: defaulter, validator, converters, their tests, and their registration in the package."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pykb.plugins.python_v1 import storage_version
from pykb.plugins.python_v1.webhook_module import Addition, extend, reduce
from pykb.plugins.rendering import Files, path_of, types_file
from pykb.plugins.request import DeleteRequest, WebhookRequest, earlier
from pykb.project.resource import Resource, Webhooks
from pykb.python_source.layout import Import
from pykb.python_source.source import Source
from pykb.scaffold.insert import Fragment, FragmentKind
from pykb.scaffold.plan import OnExists, PlanBuilder


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
    try:
        taken = {called: module for module, name, called in Source.parse(text).aliases() if name == function}
    except SyntaxError:  # the insertion reports it
        return function
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
