"""The formats of ``+k8s:format``."""

from __future__ import annotations

from dataclasses import dataclass

from pykb.markers.effect import Value
from pykb.meta.names import cel_text

_DNS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


@dataclass(frozen=True, slots=True)
class _Format:
    """The meaning of a format.

    Attributes:
        pattern: A regular expression for the whole text; empty when ``rule`` covers everything.
        longest: The maximum number of characters.
        rule: A CEL expression about ``{0}``.
    """

    pattern: str = ""
    longest: int = 0
    rule: str = ""


# Source: k8s.io/apimachinery/pkg/api/validate/content, which defines the formats.
FORMATS = {
    "k8s-extended-resource-name": _Format(
        rf"^{_DNS}/{_QUALIFIED}$", 317, "!{0}.startsWith('requests.') && !{0}.split('/')[0].endsWith('kubernetes.io')"
    ),
    "k8s-ip": _Format(longest=45, rule="isIP({0})"),
    "k8s-label-key": _Format(rf"^({_DNS}/)?{_QUALIFIED}$", 317),
    "k8s-label-value": _Format(rf"^({_QUALIFIED})?$", 63),
    "k8s-long-name": _Format(rf"^{_DNS}$", 253),
    "k8s-long-name-caseless": _Format(rf"^{_DNS.replace('a-z', 'A-Za-z')}$", 253),
    "k8s-path-segment-name": _Format(r"^[^/%]+$", rule="{0} != '.' && {0} != '..'"),
    "k8s-prefixed-label-key": _Format(rf"^{_DNS}/{_QUALIFIED}$", 317),
    "k8s-resource-fully-qualified-name": _Format(rf"^{_DNS}/[A-Za-z_][A-Za-z0-9_]{{0,31}}$", 286),
    "k8s-resource-pool-name": _Format(rf"^{_DNS}(/{_DNS})*$", 253),
    "k8s-short-name": _Format(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 63),
    "k8s-uuid": _Format(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", 36),
}


def say_format(value: Value) -> None:
    """The effect of the tag."""
    form = FORMATS[str(value.argument())]
    message = f"must be in the format {value.argument()}"
    if form.pattern and value.get("pattern", here=True) is None:
        value.put("pattern", form.pattern)
    elif form.pattern:
        value.rule(f"{value.it}.matches({cel_text(form.pattern)})", message)
    if form.longest:
        value.fill("maxLength", form.longest)
    if form.rule:
        value.rule(form.rule.format(value.it), message)
