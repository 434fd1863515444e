"""Checks webhook markers beyond their grammar, as the API server would.

Source: apiserver's validation of webhook configurations (admissionregistration.k8s.io/v1).
"""

from __future__ import annotations

from collections.abc import Iterator

from pykb.diagnostics import Diagnostic, Label, Severity
from pykb.diagnostics.codes.generate import (
    WEBHOOK_CLIENT,
    WEBHOOK_NAME,
    WEBHOOK_PATH,
    WEBHOOK_REVIEW,
    WEBHOOK_RULE,
    WEBHOOK_SIDE_EFFECTS,
)
from pykb.gen.webhook._rules import is_path, resource_problem, url_flaw, version_problems
from pykb.markers.model import Marker
from pykb.meta.gvk import MUTATE, VALIDATE
from pykb.meta.names import is_label, is_rfc_1035_label, is_subdomain


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
        label="lower case, at least three parts",
        help=(f"write `{name}.kb.io`",) if is_dns_name else (),
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
            label="refused by the API server",
            help=() if path.startswith("/") else (f"write `/{path}`",),
        )
        return
    mutating = marker.arguments.get("mutating") is True
    wrong, right = (VALIDATE, MUTATE) if mutating else (MUTATE, VALIDATE)
    if path.startswith(wrong):
        yield WEBHOOK_PATH.at(
            marker.span_of("path"),
            f"the path of a {'mutating' if mutating else 'validating'} webhook starts with `{right}`, found `{path}`",
            label="the prefix of the other type",
            labels=(Label(marker.span_of("mutating"), "the type"),),
            help=(f"write `{right}{path.removeprefix(wrong)}`",),
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
                label="would never match",
                help=(f"write `{resource.lower()}`",) if resource else (),
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
            label="refused by the API server",
            help=(f"write `{argument}=*`",),
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
            label="`sideEffects` is missing",
            help=("write `sideEffects=None` if the webhook changes nothing but the object",),
        )
    for problem in version_problems(marker.texts("admissionReviewVersions")):
        span = marker.span_of("admissionReviewVersions")
        yield WEBHOOK_REVIEW.at(span, problem, help=("write `admissionReviewVersions=v1`",))
    if "reinvocationPolicy" in given and given.get("mutating") is False:
        yield WEBHOOK_REVIEW.at(
            marker.span_of("reinvocationPolicy"),
            "`reinvocationPolicy` is for mutating webhooks, found on a validating one",
            label="has no effect",
            labels=(Label(marker.span_of("mutating"), "validating"),),
        )
