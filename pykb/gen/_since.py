"""What API servers have only since some version of Kubernetes, and reports what the oldest of a project lacks.

CEL: k8s.io/apiserver, pkg/cel/environment/base.go says in which release a library came (``IntroducedVersion``). In new
objects, a server takes what the release before it had (``DefaultCompatibilityVersion``), so the versions here are one
later. https://kubernetes.io/docs/reference/using-api/cel/ has the same versions.

Left out is what every version from :data:`pykb.project.settings.OLDEST` has: ``messageExpression``, ``reason`` and
``fieldPath`` of rules, and ``matchConditions`` of webhooks. So is the feature gate ``ShardedListAndWatch``, which no
version switches on by itself: a manager with shards works without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pykb._regular_file import read_text
from pykb.diagnostics import Diagnostic, Span
from pykb.diagnostics.codes.generate import NEEDS_KUBERNETES
from pykb.gen.cel.types import MIXED_NUMBERS, OPTIONAL
from pykb.gen.ir import CrdVersion, Keyword
from pykb.project.settings import Minor, config_folder, setting, shown

REFUSES = "an older API server refuses the object"
IGNORES = "an older API server drops it in silence"


_BASE = "IntroducedVersion in k8s.io/apiserver, pkg/cel/environment/base.go"


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that API servers have since a version.

    Attributes:
        name: How messages call it.
        since: The first version that has it by default.
        source: Where Kubernetes says so.
        consequence: What an older server does.
        keys: The functions and the syntax of CEL that it brings. Methods of a type are left out if its objects come
            from these functions only.
        ways: Other ways than a newer version.
    """

    name: str
    since: Minor
    source: str = _BASE
    consequence: str = REFUSES
    keys: tuple[str, ...] = ()
    ways: tuple[str, ...] = ()


_TWO = ("all", "exists", "exists_one", "existsOne", "transformList", "transformMap", "transformMapEntry")
_FORMATS = ("byte", "date", "datetime", "uri", "uuid", "labelValue", "qualifiedName", "named")
_NAMES = ("dns1035Label", "dns1035LabelPrefix", "dns1123Label", "dns1123LabelPrefix")
_SUBDOMAINS = ("dns1123Subdomain", "dns1123SubdomainPrefix")
_LISTS = ("distinct", "flatten", "reverse", "slice", "sort")
CEL = (
    Feature("CEL's quantities", (1, 29), keys=("quantity", "isQuantity")),
    Feature(
        "CEL's optional values", (1, 29), keys=(OPTIONAL, "optional.of", "optional.none", "optional.ofNonZeroValue")
    ),
    Feature("CEL's comparison of numbers of two types", (1, 29), keys=(MIXED_NUMBERS,)),
    Feature("version 2 of CEL's string library", (1, 30), keys=(".format", "strings.quote")),
    Feature("CEL's set library", (1, 30), keys=("sets.contains", "sets.equivalent", "sets.intersects")),
    Feature("CEL's IP addresses", (1, 31), keys=("ip", "isIP", "ip.isCanonical", "cidr", "isCIDR")),
    Feature(
        "CEL's format library", (1, 32), keys=tuple(f"format.{name}" for name in (*_FORMATS, *_NAMES, *_SUBDOMAINS))
    ),
    Feature(
        "CEL's selectors of authorization checks",
        (1, 32),
        "KEP-4601, the feature gate AuthorizeWithSelectors",
        keys=(".fieldSelector", ".labelSelector"),
    ),
    Feature("CEL's macros with two variables", (1, 33), keys=tuple(f".{name}/2" for name in _TWO)),
    Feature(
        "CEL's later functions of optional values",
        (1, 33),
        "cel-go 0.23, since k8s.io/apiserver takes the newest version of its library",
        keys=("optional.unwrap", ".unwrapOpt", ".first", ".last"),
    ),
    Feature("CEL's semantic versions", (1, 34), keys=("semver", "isSemver")),
    Feature("CEL's list library", (1, 35), keys=("lists.range", ".sortBy/1", *(f".{name}" for name in _LISTS))),
)
_BY_KEY: Mapping[str, Feature] = {key: feature for feature in CEL for key in feature.keys}
WORDS_AS_FIELDS: Minor = (1, 32)
"""Since when CEL takes its own words as names of fields: ``SetRecognizeKeywordAsFieldName`` in
k8s.io/apiserver, pkg/cel/environment/environment.go."""
FORMATS = {
    name: Feature(
        f"the format `{name}`",
        (1, 35),
        "supportedVersionedFormats in k8s.io/apiextensions-apiserver, pkg/apiserver/validation/formats.go",
        "an older API server accepts any string",
        ways=(f"+k8s:format={name}     # a pattern, which every API server checks",),
    )
    for name in ("k8s-short-name", "k8s-long-name")
}
OLD_SELF = Feature(
    "`optionalOldSelf`",
    (1, 30),
    "KEP-4008, the feature gate CRDValidationRatcheting",
    "an older API server drops it in silence, and refuses rules that then do not fit",
)
SELECTABLE = Feature("selectable fields", (1, 31), "KEP-4358, the feature gate CustomResourceFieldSelectors", IGNORES)
POLICIES = Feature(
    "ValidatingAdmissionPolicies",
    (1, 30),
    "KEP-3488, the feature gate ValidatingAdmissionPolicy",
    "`pykb deploy` refuses clusters without them: they limit what the manager's account may write",
    ways=("pykb edit --certificates cert-manager     # the manager needs no such permissions",),
)
RATCHETING: Minor = (1, 30)
"""Since when an update may leave invalid values as they are: KEP-4008, the feature gate CRDValidationRatcheting."""


def missing(uses: Iterable[tuple[str, int, int]], oldest: Minor | None) -> Iterator[tuple[Feature, int, int]]:
    """The features among the uses of an expression that the oldest server lacks, each once, with its place."""
    found: dict[str, tuple[Feature, int, int]] = {}
    for key, offset, length in sorted(uses, key=lambda use: use[1]):
        feature = _BY_KEY.get(key)
        if oldest is not None and feature is not None and feature.since > oldest:
            found.setdefault(feature.name, (feature, offset, length))
    yield from found.values()


def report(
    feature: Feature, user: str, oldest: Minor | None, span: Span | None, *, notes: tuple[str, ...] = ()
) -> Iterator[Diagnostic]:
    """Report the use of a feature, if the oldest server of the project lacks it.

    Args:
        feature: What is used.
        user: Who uses it, as the beginning of a sentence.
        oldest: The oldest version, if the project names one.
        span: The place of the use.
        notes: More about the use.
    """
    if oldest is None or feature.since <= oldest:
        return
    yield NEEDS_KUBERNETES.at(
        span,
        f"{user} needs {feature.name}, which Kubernetes has since {shown(feature.since)}, "
        f"but the project supports {shown(oldest)}",
        *feature.ways,
        f"{setting(feature.since)}     # in [tool.pykb] of pyproject.toml",
        notes=(*notes, feature.consequence),
    )


def check_format(keyword: Keyword | None, what: str, oldest: Minor | None, at: Span | None) -> Iterator[Diagnostic]:
    """Report a format that the oldest server ignores."""
    feature = FORMATS.get(str(keyword.value)) if keyword is not None else None
    if feature is not None and keyword is not None:
        yield from report(feature, what, oldest, keyword.span or at)


def check_selectable(version: CrdVersion, oldest: Minor | None) -> Iterator[Diagnostic]:
    """Report selectable fields that the oldest server ignores."""
    for path, span in version.selectable:
        yield from report(SELECTABLE, f"`{path}`", oldest, span)


_POLICY = re.compile(r"^kind: *ValidatingAdmissionPolicy *$", re.MULTILINE)
_LISTED = re.compile(r"^ *- +([\w.-]+\.yaml) *$", re.MULTILINE)
_CERTIFICATES = "certificates"


def check_policies(root: Path, oldest: Minor | None) -> Iterator[Diagnostic]:
    """Report the policies about the certificates of webhooks, if the oldest server does not have them."""
    if oldest is None or POLICIES.since <= oldest:
        return
    folder = Path(config_folder(root), _CERTIFICATES)
    for name in _LISTED.findall(_text(root / folder / "kustomization.yaml")):
        text = _text(root / folder / name)
        if match := _POLICY.search(text):
            span = Span((folder / name).as_posix(), text.count("\n", 0, match.start()) + 1, 1)
            yield from report(POLICIES, f"`{name}`", oldest, span)
            return


def _text(path: Path) -> str:
    """The text of a manifest; empty if it cannot be read, which kustomize reports."""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError):
        return ""
