"""Tags of declarative validation as CEL expressions about one value, where a schema has no keyword for the place."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pykb.gen.cel.parser import RESERVED
from pykb.gen.passes.names import canonical
from pykb.markers.model import Marker
from pykb.reading import json_text

_DNS = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"


@dataclass(frozen=True, slots=True)
class FormatRule:
    """What a format of declarative validation means.

    Attributes:
        pattern: A regular expression for the whole text; empty where ``rule`` says it all.
        longest: The greatest number of characters.
        rule: A CEL expression about ``{}``.
    """

    pattern: str = ""
    longest: int = 0
    rule: str = ""


# Source: k8s.io/apimachinery/pkg/api/validate/content, which the formats are defined by.
FORMATS = {
    "k8s-extended-resource-name": FormatRule(
        rf"^{_DNS}/{_QUALIFIED}$", 317, "!{0}.startsWith('requests.') && !{0}.split('/')[0].endsWith('kubernetes.io')"
    ),
    "k8s-ip": FormatRule(longest=45, rule="isIP({0})"),
    "k8s-label-key": FormatRule(rf"^({_DNS}/)?{_QUALIFIED}$", 317),
    "k8s-label-value": FormatRule(rf"^({_QUALIFIED})?$", 63),
    "k8s-long-name": FormatRule(rf"^{_DNS}$", 253),
    "k8s-long-name-caseless": FormatRule(rf"^{_DNS.replace('a-z', 'A-Za-z')}$", 253),
    "k8s-path-segment-name": FormatRule(r"^[^/%]+$", rule="{0} != '.' && {0} != '..'"),
    "k8s-prefixed-label-key": FormatRule(rf"^{_DNS}/{_QUALIFIED}$", 317),
    "k8s-resource-fully-qualified-name": FormatRule(rf"^{_DNS}/[A-Za-z_][A-Za-z0-9_]{{0,31}}$", 286),
    "k8s-resource-pool-name": FormatRule(rf"^{_DNS}(/{_DNS})*$", 253),
    "k8s-short-name": FormatRule(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", 63),
    "k8s-uuid": FormatRule(r"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$", 36),
}
_COMPARISONS = {
    "kubebuilder:validation:Minimum": "{0} >= {1}",
    "kubebuilder:validation:Maximum": "{0} <= {1}",
    "kubebuilder:validation:MinLength": "size({0}) >= {1}",
    "kubebuilder:validation:MaxLength": "size({0}) <= {1}",
    "kubebuilder:validation:MinItems": "size({0}) >= {1}",
    "kubebuilder:validation:MaxItems": "size({0}) <= {1}",
    "kubebuilder:validation:MinProperties": "size({0}) >= {1}",
    "kubebuilder:validation:MaxProperties": "size({0}) <= {1}",
    "k8s:maxBytes": "size(bytes({0})) <= {1}",
}


def expression(marker: Marker, value: str) -> str | None:
    """The CEL expression that a tag puts on a value; ``None`` for tags that say nothing about a value alone.

    Args:
        marker: The tag.
        value: How the value is written in CEL.
    """
    name = canonical(marker)
    if name in _COMPARISONS:
        return _COMPARISONS[name].format(value, marker.value)
    if name == "k8s:neq":
        return f"{value} != {literal(marker.value)}"
    if name == "k8s:format":
        rule = FORMATS[str(marker.value)]
        parts = [f"{value}.matches({literal_text(rule.pattern)})"] if rule.pattern else []
        parts += [f"size({value}) <= {rule.longest}"] if rule.longest else []
        parts += [rule.rule.format(value)] if rule.rule else []
        return " && ".join(parts)
    return None


# https://kubernetes.io/docs/reference/using-api/cel/#escaping
_WORDS = RESERVED | {"true", "false", "null", "in"}
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def selector(name: str) -> str:
    """A field's name as CEL selects it: words of the language and characters that names cannot have are escaped.

    >>> selector("replicas"), selector("namespace"), selector("a-b")
    ('replicas', '__namespace__', 'a__dash__b')
    """
    if name in _WORDS:
        return f"__{name}__"
    return re.sub(r"__|[./-]", lambda match: _ESCAPES[match[0]], name)


def literal(raw: object) -> str:
    """The CEL literal of a tag's raw value: a quoted text, a number or a truth value."""
    text = str(raw).strip()
    try:
        value = json_text.loads(text)
    except ValueError:
        return literal_text(text.strip("`"))
    return literal_text(value) if isinstance(value, str) else text


def literal_text(text: str) -> str:
    """A text as CEL writes it: in single quotes, with backslashes before quotes and backslashes."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
