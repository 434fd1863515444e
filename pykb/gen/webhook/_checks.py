"""Checks webhook markers beyond their grammar, as the API server would.

Source: apiserver's validation of webhook configurations (admissionregistration.k8s.io/v1).
"""

from __future__ import annotations

from collections.abc import Sequence

from pykb.diagnostics import Code, Diagnostics, Label, Severity
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


class _Check:
    """Adds findings about one marker."""

    def __init__(self, marker: Marker, diagnostics: Diagnostics) -> None:
        self.marker = marker
        self._diagnostics = diagnostics

    def add(
        self,
        code: Code,
        argument: str,
        message: str,
        *,
        element: str = "",
        label: str = "",
        labels: tuple[Label, ...] = (),
        help_: str = "",
        severity: Severity | None = None,
    ) -> None:
        span = self.marker.span_of_element(argument, element) if element else self.marker.span_of(argument)
        help_texts = (help_,) if help_ else ()
        self._diagnostics.add(code.at(span, message, label=label, labels=labels, help=help_texts, severity=severity))

    def text(self, argument: str) -> str:
        return str(self.marker.arguments.get(argument, ""))

    def values(self, argument: str) -> list[str]:
        values = self.marker.arguments.get(argument)
        return [str(v) for v in values] if isinstance(values, Sequence) and not isinstance(values, str) else []


def check_marker(marker: Marker, diagnostics: Diagnostics) -> None:
    """Report what is wrong with a webhook marker."""
    check = _Check(marker, diagnostics)
    _check_name(check)
    _check_client(check)
    _check_path(check)
    _check_url(check)
    _check_rule(check)
    _check_review(check)


def _check_name(check: _Check) -> None:
    name = check.text("name")
    if is_subdomain(name) and name.count(".") >= 2:
        return
    what = "has fewer than three parts" if is_subdomain(name) else "is not a DNS name"
    check.add(
        WEBHOOK_NAME,
        "name",
        f"expected a name such as `mfoo-v1.kb.io`, found `{name}`, which {what}",
        label="lower case, at least three parts",
        help_=f"write `{name}.kb.io`" if is_subdomain(name) and name.count(".") < 2 else "",
    )


def _check_client(check: _Check) -> None:
    path, url = check.text("path"), check.text("url")
    if bool(path) == bool(url):
        found = "both" if path else "neither"
        check.add(
            WEBHOOK_CLIENT,
            "url" if path else "path",
            f"expected either `path` or `url`, found {found}",
            label="the second one" if path else "no path and no URL",
        )
    if not url:
        return
    for argument in ("serviceName", "serviceNamespace", "servicePort"):
        if argument in check.marker.arguments:
            check.add(
                WEBHOOK_CLIENT,
                argument,
                f"`{argument}` has no effect on a webhook with a `url`",
                label="no service is called",
                labels=(Label(check.marker.span_of("url"), "the URL"),),
            )


def _check_path(check: _Check) -> None:
    path = check.text("path")
    if not path:
        return
    if not is_path(path):
        check.add(
            WEBHOOK_PATH,
            "path",
            f"expected a path of lower case letters, digits, hyphens and dots after `/`, found `{path}`",
            label="refused by the API server",
            help_="" if path.startswith("/") else f"write `/{path}`",
        )
        return
    mutating = check.marker.arguments.get("mutating") is True
    wrong, right = (VALIDATE, MUTATE) if mutating else (MUTATE, VALIDATE)
    if path.startswith(wrong):
        check.add(
            WEBHOOK_PATH,
            "path",
            f"the path of a {'mutating' if mutating else 'validating'} webhook starts with `{right}`, found `{path}`",
            label="the prefix of the other type",
            labels=(Label(check.marker.span_of("mutating"), "the type"),),
            help_=f"write `{right}{path.removeprefix(wrong)}`",
            severity=Severity.WARNING,
        )
    name, namespace = check.text("serviceName"), check.text("serviceNamespace")
    if name and not is_rfc_1035_label(name):
        check.add(
            WEBHOOK_CLIENT, "serviceName", f"expected the name of a service, found `{name}`", label="not a DNS label"
        )
    if namespace and not is_label(namespace):
        check.add(
            WEBHOOK_CLIENT,
            "serviceNamespace",
            f"expected the name of a namespace, found `{namespace}`",
            label="not a DNS label",
        )


def _check_url(check: _Check) -> None:
    url = check.text("url")
    if not url:
        return
    flaw = url_flaw(url)
    if flaw:
        check.add(
            WEBHOOK_CLIENT,
            "url",
            f"expected `https://host[:port]/path`, found `{url}` with {flaw}",
            label="refused by the API server",
        )


def _check_rule(check: _Check) -> None:
    for argument in ("groups", "resources", "verbs", "versions"):
        _check_values(check, argument)
    problem = resource_problem(check.values("resources"))
    if problem is not None:
        check.add(WEBHOOK_RULE, "resources", problem, label="refused by the API server")
    for resource in check.values("resources"):
        if resource != resource.lower() or not resource:
            check.add(
                WEBHOOK_RULE,
                "resources",
                f"expected the plural name of a resource in lower case, found `{resource}`",
                element=resource,
                label="would never match",
                help_=f"write `{resource.lower()}`" if resource else "",
            )
    for group in check.values("groups"):
        if group not in {"", "*", "core"} and not is_subdomain(group):
            check.add(
                WEBHOOK_RULE,
                "groups",
                f"expected an API group such as `apps`, found `{group}`",
                element=group,
                label="would never match",
            )


def _check_values(check: _Check, argument: str) -> None:
    """Check what is the same for all lists of a rule."""
    values = check.values(argument)
    if not values:
        check.add(WEBHOOK_RULE, argument, f"`{argument}` is empty: the webhook would match nothing", label="empty")
    elif "*" in values and len(values) > 1 and argument != "resources":
        check.add(
            WEBHOOK_RULE,
            argument,
            f"`*` stands for all `{argument}`, so it must be the only one",
            label="refused by the API server",
            help_=f"write `{argument}=*`",
        )
    for value in sorted({v for v in values if values.count(v) > 1}):
        check.add(
            WEBHOOK_RULE, argument, f"`{value}` appears twice in `{argument}`", label="twice", severity=Severity.WARNING
        )
    if "" in values and argument not in {"groups", "resources"}:
        check.add(WEBHOOK_RULE, argument, f"expected no empty string among `{argument}`", label="would match nothing")


def _check_review(check: _Check) -> None:
    given = check.marker.arguments
    if "sideEffects" not in given and '"sideEffects"' not in check.text("patch"):
        check.add(
            WEBHOOK_SIDE_EFFECTS,
            "sideEffects",
            "expected `sideEffects`, found none",
            label="`sideEffects` is missing",
            help_="write `sideEffects=None` if the webhook changes nothing but the object",
        )
    for problem in version_problems(check.values("admissionReviewVersions")):
        check.add(WEBHOOK_REVIEW, "admissionReviewVersions", problem, help_="write `admissionReviewVersions=v1`")
    if "reinvocationPolicy" in given and given.get("mutating") is False:
        check.add(
            WEBHOOK_REVIEW,
            "reinvocationPolicy",
            "`reinvocationPolicy` is for mutating webhooks, found on a validating one",
            label="has no effect",
            labels=(Label(check.marker.span_of("mutating"), "validating"),),
        )
