"""Webhook configurations from ``+kubebuilder:webhook`` markers, and checks of the markers as the API server would.

A marker's ``patch`` is a strategic merge patch as JSON. Source of its fields: admissionregistration.k8s.io/v1. The
lists of a webhook that a marker can set have no merge key, so a patch replaces them. A null removes a field.
``$patch: replace`` and ``$patch: delete`` work on objects. The checks follow the API server's validation of webhook
configurations and of label selectors.
"""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from pykb.diagnostics import Diagnostic, Diagnostics, Label, Severity, Span
from pykb.diagnostics.codes.generate import (
    WEBHOOK_CLIENT,
    WEBHOOK_CONFIGURATION,
    WEBHOOK_DUPLICATE,
    WEBHOOK_NAME,
    WEBHOOK_PATCH,
    WEBHOOK_PATH,
    WEBHOOK_REVIEW,
    WEBHOOK_RULE,
    WEBHOOK_SIDE_EFFECTS,
)
from pykb.diagnostics.suggest import closest
from pykb.gen._since import missing, report
from pykb.gen.cel.resolve import in_scope
from pykb.gen.cel.syntax import CelSyntaxError, parse
from pykb.gen.cel.types import DYN
from pykb.gen.checks.form import INTEGER, TEXT, TEXT_MAP, TEXTS, Many, Object, unknown_fields
from pykb.gen.output import Artifact
from pykb.markers.model import Marker, SourceFile
from pykb.meta.gvk import MUTATE, VALIDATE
from pykb.meta.names import is_label, is_label_value, is_qualified_name, is_rfc_1035_label, is_subdomain
from pykb.project.settings import Minor
from pykb.reading import mapping

_SELECTOR = Object(
    {
        "matchLabels": TEXT_MAP,
        "matchExpressions": Many(
            "a list of expressions", list, Object({"key": TEXT, "operator": TEXT, "values": TEXTS})
        ),
    }
)
_WEBHOOK = Object(
    {
        **dict.fromkeys(("name", "failurePolicy", "matchPolicy", "sideEffects"), TEXT),
        "clientConfig": Object(
            {
                "url": TEXT,
                "service": Object({"name": TEXT, "namespace": TEXT, "path": TEXT, "port": INTEGER}),
                "caBundle": TEXT,
            }
        ),
        "rules": Many(
            "a list of rules",
            list,
            Object({**dict.fromkeys(("operations", "apiGroups", "apiVersions", "resources"), TEXTS), "scope": TEXT}),
        ),
        "namespaceSelector": _SELECTOR,
        "objectSelector": _SELECTOR,
        "timeoutSeconds": INTEGER,
        "admissionReviewVersions": TEXTS,
        "matchConditions": Many("a list of conditions", list, Object({"name": TEXT, "expression": TEXT})),
    }
)
_MUTATING = Object({**_WEBHOOK.fields, "reinvocationPolicy": TEXT})


class _WrongPatchError(Exception):
    def __init__(self, message: str, help_: str = "") -> None:
        super().__init__(message)
        self.help = help_


def _apply_patch(
    webhook: dict[str, object], marker: Marker, oldest: Minor | None, diagnostics: Diagnostics
) -> dict[str, object]:
    """Apply the marker's patch. Returns the webhook unchanged when there is no patch or it is invalid."""
    text = str(marker.arguments.get("patch", ""))
    if not text:
        return webhook
    try:
        patch, form = _parse(text), _MUTATING if marker.arguments.get("mutating") else _WEBHOOK
        _check_names(patch, form)
        patched = _merge(webhook, patch)
        _check_result(webhook, patched, form)
    except _WrongPatchError as error:
        diagnostics.report(
            WEBHOOK_PATCH, marker.span_of("patch"), str(error), error.help, label="the patch is not applied"
        )
        return webhook
    diagnostics.extend(check_conditions(patched, oldest, marker.span_of("patch")))
    return patched


def _parse(text: str) -> dict[str, object]:
    def pairs(found: list[tuple[str, object]]) -> dict[str, object]:
        keys = [k for k, _ in found]
        for key in keys:
            if keys.count(key) > 1:
                raise _WrongPatchError(f"the key `{key}` appears twice in one object of the patch")
        return dict(found)

    try:
        patch = json.loads(text, object_pairs_hook=pairs)
    except (ValueError, RecursionError) as error:
        raise _WrongPatchError(
            f"expected a JSON object as patch, found text that is not JSON: {error}",
            'write the patch in back-ticks: patch=`{"matchPolicy":"Exact"}`',
        ) from None
    if not isinstance(patch, dict):
        raise _WrongPatchError(f"expected a JSON object as patch, found `{text}`")
    return patch


def _check_names(patch: Mapping[str, object], form: Object) -> None:
    for path, name, known in unknown_fields(patch, form):
        if name != "$patch" or "[" in path:  # a patch replaces lists, and does not look into them
            where = f" of `{path.removesuffix('.')}`" if path else ""
            nearest = closest(name, known)
            raise _WrongPatchError(
                f"a webhook has no field `{name}`{where}",
                f"a field with a similar name exists: `{nearest}`" if nearest else "",
            )


def _merge(original: Mapping[str, object], patch: Mapping[str, object]) -> dict[str, object]:
    directive = patch.get("$patch")
    if "$patch" in patch and directive not in ("replace", "delete"):
        raise _WrongPatchError(f"expected `replace` or `delete` for `$patch`, found `{json.dumps(directive)}`")
    if directive == "delete":
        return {}
    merged = {} if directive == "replace" else dict(original)
    for key, value in patch.items():
        if key == "$patch":
            continue
        before = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = _merge(before if isinstance(before, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def _check_result(before: Mapping[str, object], after: Mapping[str, object], form: Object) -> None:
    for fault in form.faults(after, ""):
        raise _WrongPatchError(f"after the patch, `{fault.path}` has the wrong form: {fault.message}")
    known = set(problems(before))  # problems of the marker itself are reported elsewhere
    for problem in problems(after):
        if problem not in known:
            raise _WrongPatchError(problem)


WEBHOOK = "kubebuilder:webhook"
FILE_NAME = "manifests.yaml"
CONFIGURATION = "kubebuilder:webhookconfiguration"
_API_VERSION = "admissionregistration.k8s.io/v1"
_KINDS = {True: "MutatingWebhookConfiguration", False: "ValidatingWebhookConfiguration"}
_NAMES = {True: "mutating-webhook-configuration", False: "validating-webhook-configuration"}
_CHOICES = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Exact", "Equivalent"),
    "reinvocationPolicy": ("Never", "IfNeeded"),
    "sideEffects": ("None", "NoneOnDryRun"),
}
_SPELLINGS = {word.lower(): word for words in _CHOICES.values() for word in words}


def generate_webhook(
    sources: Sequence[SourceFile],
    *,
    header: str = "",
    oldest: Minor | None = None,
    diagnostics: Diagnostics,
) -> list[Artifact]:
    """Generate the manifest: the MutatingWebhookConfiguration, then the ValidatingWebhookConfiguration.

    Args:
        sources: The files to read markers from.
        header: Text before the first document.
        oldest: The oldest Kubernetes that must accept it, if the project names one.
        diagnostics: Takes what is wrong with the markers.

    Returns:
        One artifact, or none when there are no webhooks.
    """
    webhooks: dict[bool, list[Marker]] = defaultdict(list)
    configurations: list[Marker] = []
    for source in sources:
        for marker in source.package_markers:
            if marker.name == WEBHOOK:
                diagnostics.extend(check_marker(marker))
                webhooks[bool(marker.arguments["mutating"])].append(marker)
            elif marker.name == CONFIGURATION:
                configurations.append(marker)
    names = {bool(m.arguments["mutating"]): str(m.arguments.get("name", "")) for m in reversed(configurations)}
    diagnostics.extend(_check_configurations(configurations, webhooks))
    diagnostics.extend(_check_duplicates(webhooks))
    documents: list[Mapping[str, object]] = []
    for mutating in (True, False):
        markers = sorted(webhooks[mutating], key=lambda m: str(m.arguments["name"]))
        if markers:
            documents.append(
                {
                    "apiVersion": _API_VERSION,
                    "kind": _KINDS[mutating],
                    "metadata": {"name": names.get(mutating) or _NAMES[mutating]},
                    "webhooks": [_apply_patch(_webhook(m), m, oldest, diagnostics) for m in markers],
                }
            )
    return [Artifact(FILE_NAME, tuple(documents), header)] if documents else []


def _webhook(marker: Marker) -> dict[str, object]:
    given = marker.arguments
    webhook: dict[str, object] = {
        "name": given["name"],
        "admissionReviewVersions": given["admissionReviewVersions"],
        "clientConfig": _client_config(given),
        "rules": [
            {
                "apiGroups": ["" if g == "core" else g for g in marker.texts("groups")],
                "apiVersions": marker.texts("versions"),
                "operations": [v.upper() for v in marker.texts("verbs")],
                "resources": marker.texts("resources"),
            }
        ],
    }
    for name in _CHOICES:
        if value := given.get(name):
            webhook[name] = _SPELLINGS.get(str(value).lower(), value)
    if given.get("timeoutSeconds"):
        webhook["timeoutSeconds"] = given["timeoutSeconds"]
    return webhook


def _client_config(given: Mapping[str, object]) -> dict[str, object]:
    if given.get("url"):
        return {"url": given["url"]}
    service = {
        "name": given.get("serviceName") or "webhook-service",
        "namespace": given.get("serviceNamespace") or "system",
        "path": given.get("path", ""),
    }
    if "servicePort" in given:
        service["port"] = given["servicePort"]
    return {"service": service}


def _check_configurations(markers: Sequence[Marker], webhooks: Mapping[bool, Sequence[Marker]]) -> Iterator[Diagnostic]:
    """Check the markers that name the two objects. Each exists once, so a second marker for one is an error."""
    first: dict[bool, Marker] = {}
    for marker in markers:
        mutating = bool(marker.arguments["mutating"])
        earlier = first.setdefault(mutating, marker)
        if earlier is not marker:
            yield WEBHOOK_DUPLICATE.at(
                marker.span,
                f"the {_KINDS[mutating]} is named a second time",
                "remove one of the two",
                label="only one name can apply",
                labels=(Label(earlier.span, "first here"),),
            )
        name = str(marker.arguments.get("name", ""))
        if name and not is_subdomain(name):
            yield WEBHOOK_CONFIGURATION.at(
                marker.span_of("name"),
                f"expected a name of lower case letters, digits, hyphens and dots, found `{name}`",
                label="not the name of an object",
                severity=Severity.ERROR,
            )
        if not webhooks.get(mutating):
            word = "mutating" if mutating else "validating"
            message = f"this configuration has no {word} webhooks"
            yield WEBHOOK_CONFIGURATION.at(marker.span, message, label="has no effect")


def _check_duplicates(webhooks: Mapping[bool, Sequence[Marker]]) -> Iterator[Diagnostic]:
    names: dict[tuple[bool, str], Marker] = {}
    paths: dict[str, Marker] = {}
    for mutating, markers in webhooks.items():
        for marker in markers:
            name = str(marker.arguments["name"])
            earlier = names.setdefault((mutating, name), marker)
            if earlier is not marker:
                yield WEBHOOK_DUPLICATE.at(
                    marker.span_of("name"),
                    f"two webhooks of one configuration have the name `{name}`",
                    label="a second time",
                    labels=(Label(earlier.span_of("name"), "first here"),),
                )
            path = str(marker.arguments.get("path", ""))
            other = paths.setdefault(path, marker) if path else marker
            if other is not marker and other.arguments["mutating"] != mutating:
                yield WEBHOOK_PATH.at(
                    marker.span_of("path"),
                    f"a mutating and a validating webhook have the same path `{path}`",
                    label="a second time",
                    labels=(Label(other.span_of("path"), "first here"),),
                    notes="each path has only one handler",
                )


def check_marker(marker: Marker) -> Iterator[Diagnostic]:
    """Report what is wrong with a webhook marker."""
    yield from _check_name(marker)
    yield from _check_client(marker)
    yield from _check_path(marker)
    yield from _check_rule(marker)
    yield from _check_review(marker)


def _text(marker: Marker, argument: str) -> str:
    return str(marker.arguments.get(argument, ""))


def _check_name(marker: Marker) -> Iterator[Diagnostic]:
    name = _text(marker, "name")
    is_dns_name = is_subdomain(name)
    if is_dns_name and name.count(".") >= 2:
        return
    what = "has fewer than three parts" if is_dns_name else "is not a DNS name"
    yield WEBHOOK_NAME.at(
        marker.span_of("name"),
        f"expected a name such as `mfoo-v1.kb.io`, found `{name}`, which {what}",
        f"write `{name}.kb.io`" if is_dns_name else "",
        label="lower case, at least three parts",
    )


def _check_client(marker: Marker) -> Iterator[Diagnostic]:
    path, url = _text(marker, "path"), _text(marker, "url")
    if bool(path) == bool(url):
        yield WEBHOOK_CLIENT.at(
            marker.span_of("url" if path else "path"),
            f"expected either `path` or `url`, found {'both' if path else 'neither'}",
            label="the second one" if path else "no path and no URL",
        )
    if not url:
        return
    for argument in ("serviceName", "serviceNamespace", "servicePort"):
        if argument in marker.arguments:
            yield WEBHOOK_CLIENT.at(
                marker.span_of(argument),
                f"`{argument}` has no effect on a webhook with a `url`",
                label="no service is called",
                labels=(Label(marker.span_of("url"), "the URL"),),
            )
    flaw = url_flaw(url)
    if flaw:
        message = f"expected `https://host[:port]/path`, found `{url}` with {flaw}"
        yield WEBHOOK_CLIENT.at(marker.span_of("url"), message, label="refused by the API server")


def _check_path(marker: Marker) -> Iterator[Diagnostic]:
    path = _text(marker, "path")
    if not path:
        return
    if not is_path(path):
        yield WEBHOOK_PATH.at(
            marker.span_of("path"),
            f"expected a path of lower case letters, digits, hyphens and dots after `/`, found `{path}`",
            "" if path.startswith("/") else f"write `/{path}`",
            label="refused by the API server",
        )
        return
    mutating = marker.arguments.get("mutating") is True
    wrong, right = (VALIDATE, MUTATE) if mutating else (MUTATE, VALIDATE)
    if path.startswith(wrong):
        yield WEBHOOK_PATH.at(
            marker.span_of("path"),
            f"the path of a {'mutating' if mutating else 'validating'} webhook starts with `{right}`, found `{path}`",
            f"write `{right}{path.removeprefix(wrong)}`",
            label="the prefix of the other type",
            labels=(Label(marker.span_of("mutating"), "the type"),),
            severity=Severity.WARNING,
        )
    for argument, what, is_valid in (
        ("serviceName", "a service", is_rfc_1035_label),
        ("serviceNamespace", "a namespace", is_label),
    ):
        name = _text(marker, argument)
        if name and not is_valid(name):
            message = f"expected the name of {what}, found `{name}`"
            yield WEBHOOK_CLIENT.at(marker.span_of(argument), message, label="not a DNS label")


def _check_rule(marker: Marker) -> Iterator[Diagnostic]:
    for argument in ("groups", "resources", "verbs", "versions"):
        yield from _check_values(marker, argument)
    problem = resource_problem(marker.texts("resources"))
    if problem is not None:
        yield WEBHOOK_RULE.at(marker.span_of("resources"), problem, label="refused by the API server")
    for resource in marker.texts("resources"):
        if resource != resource.lower() or not resource:
            yield WEBHOOK_RULE.at(
                marker.span_of_element("resources", resource),
                f"expected the plural name of a resource in lower case, found `{resource}`",
                f"write `{resource.lower()}`" if resource else "",
                label="would never match",
            )
    for group in marker.texts("groups"):
        if group not in {"", "*", "core"} and not is_subdomain(group):
            yield WEBHOOK_RULE.at(
                marker.span_of_element("groups", group),
                f"expected an API group such as `apps`, found `{group}`",
                label="would never match",
            )


def _check_values(marker: Marker, argument: str) -> Iterator[Diagnostic]:
    """Check what is the same for all lists of a rule."""
    values, span = marker.texts(argument), marker.span_of(argument)
    if not values:
        yield WEBHOOK_RULE.at(span, f"`{argument}` is empty: the webhook would match nothing", label="empty")
    elif "*" in values and len(values) > 1 and argument != "resources":
        yield WEBHOOK_RULE.at(
            span,
            f"`*` stands for all `{argument}`, so it must be the only one",
            f"write `{argument}=*`",
            label="refused by the API server",
        )
    for value in sorted({v for v in values if values.count(v) > 1}):
        message = f"`{value}` appears twice in `{argument}`"
        yield WEBHOOK_RULE.at(span, message, label="twice", severity=Severity.WARNING)
    if "" in values and argument not in {"groups", "resources"}:
        yield WEBHOOK_RULE.at(span, f"expected no empty string among `{argument}`", label="would match nothing")


def _check_review(marker: Marker) -> Iterator[Diagnostic]:
    given = marker.arguments
    if "sideEffects" not in given and '"sideEffects"' not in _text(marker, "patch"):
        yield WEBHOOK_SIDE_EFFECTS.at(
            marker.span_of("sideEffects"),
            "expected `sideEffects`, found none",
            "write `sideEffects=None` if the webhook changes nothing but the object",
            label="`sideEffects` is missing",
        )
    for problem in version_problems(marker.texts("admissionReviewVersions")):
        span = marker.span_of("admissionReviewVersions")
        yield WEBHOOK_REVIEW.at(span, problem, "write `admissionReviewVersions=v1`")
    if "reinvocationPolicy" in given and given.get("mutating") is False:
        yield WEBHOOK_REVIEW.at(
            marker.span_of("reinvocationPolicy"),
            "`reinvocationPolicy` is for mutating webhooks, found on a validating one",
            label="has no effect",
            labels=(Label(marker.span_of("mutating"), "validating"),),
        )


_SCOPES = ("Cluster", "Namespaced", "*")
_OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT", "*")
_OPERATORS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
_MOST_CONDITIONS = 64
_VARIABLES = dict.fromkeys(("object", "oldObject", "request", "authorizer"), DYN)
_Object = Mapping[str, object]


def problems(webhook: _Object) -> Iterator[str]:
    """Find reasons why the API server would refuse a webhook, in words."""
    name = str(webhook.get("name") or "")
    if not name:
        yield "expected a name after the patch, found none"
    elif not is_subdomain(name) or name.count(".") < 2:
        yield f"expected a name of three parts after the patch, such as `mfoo-v1.kb.io`, found `{name}`"
    yield from _choices(webhook)
    timeout = webhook.get("timeoutSeconds")
    if isinstance(timeout, int) and not 1 <= timeout <= 30:
        yield f"expected 1 to 30 as timeoutSeconds after the patch, found `{timeout}`"
    yield from version_problems(_texts(webhook, "admissionReviewVersions"))
    yield from _client(mapping(webhook.get("clientConfig")))
    for rule in _mappings(webhook.get("rules")):
        yield from _rule(rule)
    for field in ("namespaceSelector", "objectSelector"):
        yield from (f"in `{field}`, {problem}" for problem in _selector(mapping(webhook.get(field))))
    yield from _conditions(list(_mappings(webhook.get("matchConditions"))))


def _choices(webhook: _Object) -> Iterator[str]:
    for field, choices in _CHOICES.items():
        value = webhook.get(field)
        if value not in choices and (value is not None or field == "sideEffects"):
            wanted = " or ".join(f"`{choice}`" for choice in choices)
            yield f"expected {wanted} as {field} after the patch, found {f'`{value}`' if value else 'none'}"


def version_problems(versions: list[str]) -> Iterator[str]:
    """Find problems in ``admissionReviewVersions``."""
    if not versions:
        yield "expected admissionReviewVersions, found none"
    elif not {"v1", "v1beta1"} & set(versions):
        yield "expected `v1` among the admissionReviewVersions, found none that the API server sends"
    for version in dict.fromkeys(versions):
        if not is_rfc_1035_label(version):
            yield f"expected a version such as `v1` in admissionReviewVersions, found `{version}`"
        if versions.count(version) > 1:
            yield f"`{version}` appears twice in admissionReviewVersions"


def resource_problem(resources: list[str]) -> str | None:
    """What is wrong with the wildcards among ``resources``; ``None`` when nothing is."""
    seen: list[str] = []
    for resource in resources:
        name, slash, part = resource.partition("/")
        wide = next((w for w in (f"{name}/*", f"*/{part}") if w in seen), None) if slash else None
        if wide is not None:
            return f"`{wide}` includes `{resource}`, which must not follow it"
        seen.append(resource)
    if "*/*" in resources and len(resources) > 1:
        return "`*/*` stands for all `resources`, so it must be the only one"
    whole = next((resource for resource in reversed(resources) if "/" not in resource), "*")
    if "*" in resources and whole != "*":
        return f"`*` stands for all `resources` without a slash, so `{whole}` must not follow it"
    return None


def is_path(path: str) -> bool:
    """Whether this is a valid path for a webhook's service."""
    segments = path.removeprefix("/").removesuffix("/").split("/")
    return path in {"", "/"} or (path.startswith("/") and all(map(is_subdomain, segments)))


def is_base64(text: str) -> bool:
    """Whether a text is valid base64."""
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def url_flaw(url: str) -> str:
    """What is wrong with a webhook's URL; empty when it is valid."""
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises if the port is not a number
    except ValueError as error:
        return str(error)
    flaws = (
        ("a scheme other than `https`", parts.scheme != "https"),
        ("no host", not parts.hostname),
        ("a character that no host has", _NOT_IN_HOSTS.search(parts.netloc)),
        ("a control character", _CONTROL.search(url)),
        ("a user", parts.username is not None),
        ("a query", parts.query or url.endswith("?")),
        ("a fragment", parts.fragment or url.endswith("#")),
    )
    return next((flaw for flaw, found in flaws if found), "")


_NOT_IN_HOSTS = re.compile(r'[\s"<>\\^`{|}]')
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _client(client: _Object) -> Iterator[str]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield f"expected either a `url` or a `service` after the patch, found {'none' if url is None else 'both'}"
    if isinstance(url, str) and (flaw := url_flaw(url)):
        yield f"expected `https://host[:port]/path` after the patch, found `{url}` with {flaw}"
    if not is_base64(str(client.get("caBundle") or "")):
        yield "expected base64 as caBundle"
    if isinstance(service, Mapping):
        yield from _service(service)


def _service(service: _Object) -> Iterator[str]:
    path = service.get("path")
    if isinstance(path, str) and not is_path(path):
        yield f"expected a path such as `/mutate-a`, found `{path}`"
    missing = [name for name in ("name", "namespace") if not service.get(name)]
    yield from (f"expected a {name} of the service after the patch, found none" for name in missing)
    port = service.get("port")
    if isinstance(port, int) and not 1 <= port <= 65535:
        yield f"expected a port from 1 to 65535 after the patch, found `{port}`"


def _rule(rule: _Object) -> Iterator[str]:
    for field in ("operations", "apiGroups", "apiVersions", "resources"):
        values = _texts(rule, field)
        if not values:
            yield f"expected {field} in each rule after the patch, found none"
        elif "*" in values and len(values) > 1 and field != "resources":
            yield f"`*` stands for all {field}, so it must be the only one"
        if "" in values and field != "apiGroups":
            yield f"expected no empty string among {field} after the patch"
    for operation in _texts(rule, "operations"):
        if operation not in _OPERATIONS:
            yield f"expected one of {', '.join(f'`{o}`' for o in _OPERATIONS)} in operations, found `{operation}`"
    problem = resource_problem(_texts(rule, "resources"))
    if problem is not None:
        yield problem
    if rule.get("scope") not in {None, *_SCOPES}:
        yield f"expected one of {', '.join(f'`{s}`' for s in _SCOPES)} as scope, found `{rule.get('scope')}`"


def _selector(selector: _Object) -> Iterator[str]:
    for key, value in mapping(selector.get("matchLabels")).items():
        if not is_qualified_name(key):
            yield f"`{key}` is not a valid label name"
        if isinstance(value, str) and not is_label_value(value):
            yield f"`{value}` is not a valid label value"
    for expression in _mappings(selector.get("matchExpressions")):
        key, operator = str(expression.get("key") or ""), expression.get("operator")
        values = _texts(expression, "values")
        takes_values = _OPERATORS.get(str(operator))
        if not is_qualified_name(key):
            yield f"`{key}` is not a valid label name"
        if takes_values is None:
            yield f"expected one of {', '.join(f'`{o}`' for o in _OPERATORS)} as operator, found `{operator}`"
        elif takes_values != bool(values):
            yield f"`{operator}` takes {'values, found none' if takes_values else 'no values'}"
        yield from (f"`{value}` is not a valid label value" for value in values if not is_label_value(value))


def _conditions(conditions: list[_Object]) -> Iterator[str]:
    names = [str(condition.get("name") or "") for condition in conditions]
    if len(names) > _MOST_CONDITIONS:
        yield f"expected at most {_MOST_CONDITIONS} matchConditions, found {len(names)}"
    for name, condition in zip(names, conditions, strict=True):
        if not is_qualified_name(name):
            yield f"expected letters, digits, `-`, `_` and `.` as the name of a match condition, found `{name}`"
        if names.count(name) > 1:
            yield f"two match conditions have the name `{name}`"
        try:
            found = in_scope(parse(str(condition.get("expression") or "")), _VARIABLES)
        except CelSyntaxError as error:
            yield f"the expression of the match condition `{name}` is not CEL: {error}"
            continue
        for unknown in found.unknown:
            if unknown.what == "variable":
                yield f"the match condition `{name}` names the variable `{unknown.name}`, which does not exist"
        if found.type.kind not in {"bool", "dyn"}:
            yield f"the match condition `{name}` has the type `{found.type}`, expected `bool`"


def check_conditions(webhook: _Object, oldest: Minor | None, span: Span | None) -> Iterator[Diagnostic]:
    """Report what the oldest server of the project lacks of the expressions of a valid webhook."""
    for condition in _mappings(webhook.get("matchConditions")) if oldest is not None else ():
        found = in_scope(parse(str(condition["expression"])), _VARIABLES)
        for feature, _, _ in missing(found.uses, oldest):
            yield from report(feature, f"the match condition `{condition['name']}`", oldest, span)


def _mappings(value: object) -> Iterator[_Object]:
    return (item for item in (value if isinstance(value, list) else ()) if isinstance(item, Mapping))


def _texts(of: _Object, name: str) -> list[str]:
    value = of.get(name)
    return [str(item) for item in value] if isinstance(value, list | tuple) else []
