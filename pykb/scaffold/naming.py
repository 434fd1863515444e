"""Checks names from the command line, and finds built-in kinds by theirs. Findings say what to type instead."""

from __future__ import annotations

from dataclasses import replace

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes import cli as codes
from pykb.diagnostics.model import Code, Severity
from pykb.diagnostics.suggest import closest
from pykb.meta import names
from pykb.meta.names import pluralize
from pykb.project.resource import BUILTIN_GROUPS, Resource

PROJECT_NAME_LENGTH = names.LABEL_LENGTH - len("-controller-manager-metrics-service")
"""The maximum length of a prefix with which the longest Service name is still a DNS label."""

_LIBRARIES = frozenset(
    {
        *("aiohttp", "cookiecutter", "cryptography", "google", "httptools", "hypothesis", "jinja2", "kopf"),
        *("kubernetes", "mypy", "orjson", "prometheus_client", "pydantic", "pydantic_core", "pykb", "pytest"),
        *("pytest_asyncio", "re2", "rich", "ruamel", "ruff", "typer", "uvloop", "yaml"),
    }
)
_FOLDERS = frozenset({"bin", "build", "config", "dist", "docs", "hack", "test", "tests"})

_SCAFFOLDED_IMPORTS: dict[str, str] = {
    **dict.fromkeys(("Converter", "CustomResource", "Field", "GroupVersion", "Struct"), "pykb.api"),
    "Condition": "pykb.api.meta.v1",
    **dict.fromkeys(
        ("Client", "ControllerBuilder", "Manager", "ManagerOptions", "Reconciler", "Request", "Result"), "pykb.runtime"
    ),
    **dict.fromkeys(("Defaulter", "Validator", "Warnings", "WebhookBuilder"), "pykb.runtime"),
}
"""Names that the scaffolded modules import beside the kind."""

_OPERAND_IMPORTS: dict[str, str] = {
    **dict.fromkeys(("CEL", "Int32"), "pykb.api"),
    **dict.fromkeys(("Deployment", "DeploymentCondition", "DeploymentSpec", "DeploymentStatus"), "pykb.api.apps.v1"),
    **dict.fromkeys(("Capabilities", "Container", "ContainerPort", "Namespace", "Pod"), "pykb.api.core.v1"),
    **dict.fromkeys(("PodSecurityContext", "PodSpec", "PodTemplateSpec"), "pykb.api.core.v1"),
    **dict.fromkeys(("SeccompProfile", "SecurityContext"), "pykb.api.core.v1"),
    **dict.fromkeys(("LabelSelector", "ObjectMeta"), "pykb.api.meta.v1"),
    **dict.fromkeys(("ApiError", "NotControlled", "OperationResult"), "pykb.runtime"),
    **dict.fromkeys(("Annotated",), "typing"),
    "RecordedEvents": "pykb.testing",
}
"""Names that the modules of a kind that deploys an image import as well."""


_DNS_NAME, _DNS_LABEL = f"is not {names.A_DNS_NAME}", f"is not {names.A_DNS_LABEL}"


def _refuse(diagnostics: Diagnostics, code: Code, flag: str, value: str, why: str, better: str) -> None:
    """Report the value of an option, with one to type instead."""
    diagnostics.report(code, None, f"`{flag} {value}` {why}", f"`{flag} {better}`")


def check_domain(domain: str, diagnostics: Diagnostics) -> None:
    """Check the domain of a project."""
    if not domain:
        diagnostics.report(codes.FLAG_REQUIRED, None, "`--domain` is missing", "`--domain example.com`")
    elif not names.is_subdomain(domain):
        near = names.as_subdomain(domain) or "example.com"
        _refuse(diagnostics, codes.DOMAIN_NAME, "--domain", domain, _DNS_NAME, near)


def check_project_name(name: str, diagnostics: Diagnostics, *, from_directory: bool) -> None:
    """Check the name of a project, and the package name made from it."""
    source = f"the name of this directory, `{name}`," if from_directory else f"`--project-name {name}`"
    better, code = f"{name}-operator", codes.PROJECT_NAME
    notes: tuple[str, ...] = ()
    if not names.is_rfc_1035_label(name):
        better = names.as_label(name)[:PROJECT_NAME_LENGTH].rstrip("-") or "my-operator"
        problem, notes = _DNS_LABEL, ("it is the prefix of the name of every object that the project deploys",)
    elif names.is_yaml_word(name):
        problem = "is a word that YAML does not read as a string"
        notes = ("it is in every manifest, where an unquoted value would be a boolean or null",)
    elif len(name) > PROJECT_NAME_LENGTH:
        better = name[:PROJECT_NAME_LENGTH].rstrip("-")
        problem = f"has {len(name)} characters, at most {PROJECT_NAME_LENGTH} fit"
        notes = (f"the Service `{name}-controller-manager-metrics-service` may have at most {names.LABEL_LENGTH}",)
    elif taken := _package_taken(names.as_module_name(name)):
        code, problem = codes.PACKAGE_NAME, f"gives the Python package `{names.as_module_name(name)}`, {taken}"
    else:
        return
    diagnostics.report(code, None, f"{source} {problem}", f"`--project-name {better}`", notes=notes)


def module_hidden(package: str) -> str:
    """The module that a top-level package of a project would hide; empty for none."""
    if names.is_standard_module(package):
        return "which is a module of Python"
    return "which is a library that an operator uses" if package in _LIBRARIES else ""


def _package_taken(package: str) -> str:
    if hidden := module_hidden(package):
        return hidden
    if package in _FOLDERS:
        return "which is a folder of the project"
    if package.endswith("_"):
        return "since the name is a keyword of Python"
    return ""


def check_owner(owner: str, diagnostics: Diagnostics) -> None:
    """Check the owner of the copyright, which must be one line."""
    if not owner.isprintable():
        shown = " ".join(owner.split())
        message = "`--owner` has a line break or another control character"
        diagnostics.report(codes.OWNER_NAME, None, message, f'`--owner "{shown}"`')


def check_group(group: str, domain: str, diagnostics: Diagnostics) -> None:
    """Check the group of the project's resource, and its API group."""
    if group and not names.is_subdomain(group):
        _refuse(diagnostics, codes.GROUP_NAME, "--group", group, _DNS_NAME, names.as_subdomain(group) or "infra")
        return
    whole = ".".join(part for part in (group, domain) if part)
    if not whole:
        diagnostics.report(
            codes.FLAG_REQUIRED, None, "`--group` is missing, and the project has no domain", "`--group infra`"
        )
    elif len(whole) > names.SUBDOMAIN_LENGTH:
        message = f"the API group `{whole}` has {len(whole)} characters, at most {names.SUBDOMAIN_LENGTH} fit"
        diagnostics.report(codes.GROUP_NAME, None, message, "use a shorter `--group`")
    elif "." not in whole:
        message = f"the API group `{whole}` has no dot, but the API server requires one"
        helps = (f"`--group {group}.example`",) if not domain else ("give a group: `--group infra`",)
        diagnostics.report(codes.GROUP_NAME, None, message, *helps)
    elif domain and "." in domain and (group == domain or group.endswith(f".{domain}")):
        short = group.removesuffix(domain).rstrip(".")
        message = f"the API group is `{whole}`: `--group` already ends with the domain"
        helps = (f"`--group {short}`",) if short else ("leave `--group` out",)
        diagnostics.report(codes.GROUP_DOMAIN, None, message, *helps, severity=Severity.WARNING)


def check_version(version: str, diagnostics: Diagnostics) -> None:
    """Check the API version."""
    if not version:
        diagnostics.report(codes.FLAG_REQUIRED, None, "`--version` is missing", "`--version v1`")
    elif not names.is_version(version):
        better = names.as_version(version) or "v1"
        _refuse(diagnostics, codes.VERSION_NAME, "--version", version, f"is not {names.A_VERSION}", better)


def check_kind(kind: str, diagnostics: Diagnostics) -> None:
    """Check the kind, which becomes a class."""
    if not kind:
        diagnostics.report(codes.FLAG_REQUIRED, None, "`--kind` is missing", "`--kind Machine`")
    elif not names.is_kind(kind):
        why = _too_long(kind) or f"is not {names.A_KIND}"
        _refuse(diagnostics, codes.KIND_NAME, "--kind", kind, why, names.as_kind(kind) or "Machine")
    elif names.hides_python_name(kind):
        _refuse(
            diagnostics,
            codes.KIND_TAKEN,
            "--kind",
            kind,
            "is a name of Python itself, which the class would hide",
            f"My{kind}",
        )


def _too_long(name: str) -> str:
    """What is wrong with the length of a name; empty if nothing is."""
    is_long = len(name) > names.LABEL_LENGTH
    return f"has {len(name)} characters, at most {names.LABEL_LENGTH} fit" if is_long else ""


def check_own_kind(kind: str, diagnostics: Diagnostics, *, deploys: bool = False) -> None:
    """Check a kind that the project defines. Its class must not hide imports of the scaffolded modules.

    Args:
        kind: The kind.
        diagnostics: Takes the findings.
        deploys: Whether its controller deploys an image.
    """
    module = _SCAFFOLDED_IMPORTS.get(kind) or (_OPERAND_IMPORTS.get(kind) if deploys else None)
    if module:
        why = f"is the name of a class of `{module}` that the scaffolded code imports"
        _refuse(diagnostics, codes.KIND_TAKEN, "--kind", kind, why, f"My{kind}")


def check_plural(plural: str, kind: str, diagnostics: Diagnostics) -> None:
    """Check the plural, given or made from the kind."""
    if plural and not names.is_rfc_1035_label(plural):
        near = names.as_label(plural) or (pluralize(kind) if names.is_kind(kind) else "machines")
        _refuse(diagnostics, codes.PLURAL_NAME, "--plural", plural, _too_long(plural) or _DNS_LABEL, near)
    elif not plural and names.is_kind(kind) and not names.is_rfc_1035_label(pluralize(kind)):
        message = f"the plural of `{kind}`, `{pluralize(kind)}`, is longer than {names.LABEL_LENGTH} characters"
        diagnostics.report(codes.PLURAL_NAME, None, message, f"`--plural {kind.lower()[:20]}s`")


def check_controller_name(name: str, diagnostics: Diagnostics) -> None:
    """Check the name of a second controller."""
    if name and not names.is_rfc_1035_label(name):
        near = names.as_label(name) or "machine-cleaner"
        _refuse(diagnostics, codes.CONTROLLER_NAME, "--controller-name", name, _DNS_LABEL, near)


_PYTHON_TYPES = (
    "make Python types from the CRDs: `pykb import crd FILE --output PACKAGE/external`",
    "then name their module: `--external-api-path PACKAGE.external.GROUP.VERSION`",
)


def check_import_path(path: str, diagnostics: Diagnostics) -> None:
    """Check the module of an external type."""
    if path and not all(names.is_module_name(part) for part in path.split(".")):
        message = f"`--external-api-path {path}` is not a Python module"
        if "." in path.partition("/")[0] and "/" in path:
            diagnostics.report(codes.IMPORT_PATH, None, f"{message} but a Go import path", *_PYTHON_TYPES)
            return
        near = ".".join(names.as_module_name(part) for part in path.replace("/", ".").split(".") if part)
        diagnostics.report(codes.IMPORT_PATH, None, message, f"`--external-api-path {near}`")


def check_external_group(group: str, domain: str, diagnostics: Diagnostics) -> None:
    """Check the API group of an external type. As in every CRD, it must have a dot."""
    if "." in group or domain:
        check_group(group, domain, diagnostics)
        return
    message = f"the API group `{group}` of the external type has no dot: its domain is missing"
    if not group:
        message = "the API group of the external type is missing"
    diagnostics.report(codes.GROUP_NAME, None, message, "`--external-api-domain example.com`")


def check_external_domain(domain: str, diagnostics: Diagnostics) -> None:
    """Check the domain of an external type."""
    if domain and not names.is_subdomain(domain):
        near = names.as_subdomain(domain) or "example.com"
        _refuse(diagnostics, codes.DOMAIN_NAME, "--external-api-domain", domain, "is not a DNS name", near)


def short_group(group: str) -> str:
    """The short name of a built-in group: ``networking`` for ``networking.k8s.io``."""
    short = group.removesuffix(".k8s.io")
    return short if BUILTIN_GROUPS.get(short) == "k8s.io" else group


def is_called_as_builtin(group: str, version: str, kind: str) -> bool:
    """Whether Kubernetes has a kind of this name in a group of this name."""
    short = short_group(group)
    if short not in BUILTIN_GROUPS:
        return False
    looked_up = Resource(short, BUILTIN_GROUPS[short], version, kind, plural="", core=True)
    return find_builtin(looked_up, Diagnostics()) is not None


def find_builtin(resource: Resource, diagnostics: Diagnostics) -> Resource | None:
    """Complete the resource from pykb's built-in types. Reports an unknown kind."""
    from pykb.api.builtin_table import TABLE

    versions = {version: kinds for (group, version), (_, kinds) in TABLE.items() if group == resource.api_group}
    if not versions:
        message = f"pykb has no types for the built-in group `{resource.group}`"
        helps = ("name the module that has them: `--external-api-path some.module`",)
        diagnostics.report(codes.GROUP_NAME, None, message, *helps)
        return None
    if resource.version not in versions:
        known = ", ".join(f"`{version}`" for version in versions)
        message = f"`--version {resource.version}`: the built-in group `{resource.group}` has {known}"
        diagnostics.report(codes.VERSION_NAME, None, message, f"`--version {next(iter(versions))}`")
        return None
    kinds = versions[resource.version]
    if resource.kind not in kinds:
        near = closest(resource.kind, kinds)
        message = f"`--kind {resource.kind}`: {resource.api_version} of Kubernetes has no such kind"
        helps = (f"`--kind {near}`",) if near else ("it has " + ", ".join(kinds),)
        diagnostics.report(codes.KIND_NAME, None, message, *helps)
        return None
    from pykb.api.builtin import find_class
    from pykb.meta.gvk import GroupVersionKind

    module, _ = TABLE[resource.api_group, resource.version]
    known_class = find_class(GroupVersionKind(resource.api_group, resource.version, resource.kind))
    info = getattr(known_class, "resource", None)
    if info is None:
        return replace(resource, path=module)
    return replace(resource, path=module, plural=info.plural, namespaced=info.namespaced)
