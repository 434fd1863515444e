"""What controller-gen takes in silence, or answers by a wrong file: here each is a finding at its place, or is honoured.

Rows are named by what they are. A row that controller-gen refuses as well is here too, so that nothing gets laxer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from pykb.diagnostics import Severity
from pykb.diagnostics.render import Format, render
from pykb.gen.run import GenerateResult

Generate = Callable[..., GenerateResult]
KIND = "class Thing(CustomResource, group_version=GV):\n    spec: Spec\n"
MARK = "# +kubebuilder:validation:"


@dataclass(frozen=True)
class Row:
    """One row: what is written, and what must come of it.

    Attributes:
        name: What it is about.
        files: By path.
        found: Slug and source text of each finding that is no note, in order.
        output: Path into the manifest (dots, indices) and value there, where the row is honoured.
        words: The command line.
    """

    name: str
    files: Mapping[str, str]
    found: tuple[tuple[str, str], ...] = ()
    output: tuple[tuple[str, object], ...] = ()
    words: tuple[str, ...] = ("crd",)
    given: Mapping[str, object] = field(default_factory=dict)


TYPES = "shop/api/v1/things.py"
FIELD = "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.a"
SPEC = "spec.versions.0.schema.openAPIV3Schema.properties.spec"


def on_field(
    name: str, marker: str, slug: str, at: str = "", kind: str = "str", more: tuple[tuple[str, str], ...] = ()
) -> Row:
    """A marker on a field `a`; the finding is at the whole marker unless said otherwise."""
    source = f"class Spec(Struct):\n    # {marker}\n    a: {kind}\n{KIND}"
    return Row(name, {TYPES: source}, ((slug, at or marker), *more))


def on_type(name: str, marker: str, slug: str, at: str = "") -> Row:
    """A marker on the type of the spec."""
    source = f"# {marker}\nclass Spec(Struct):\n    a: str | None = None\n{KIND}"
    return Row(name, {TYPES: source}, ((slug, at or marker),))


def on_kind(name: str, marker: str, slug: str, at: str = "", more: str = "    spec: Spec\n") -> Row:
    """A marker on the kind."""
    source = (
        "class Spec(Struct):\n    a: str | None = None\n    n: int | None = None\n"
        f"# {marker}\nclass Thing(CustomResource, group_version=GV):\n{more}"
    )
    return Row(name, {TYPES: source}, ((slug, at or marker.splitlines()[0]),))


def honoured(name: str, source: str, *output: tuple[str, object]) -> Row:
    """What controller-gen drops and we do not."""
    return Row(name, {TYPES: source}, (), output)


def rbac(name: str, marker: str, slug: str, at: str) -> Row:
    """A marker of roles."""
    return Row(name, {"shop/controller.py": f"# {marker}\n"}, ((slug, at),), words=("rbac:roleName=r",))


def webhook(about: str, slug: str, at: str, **changes: str | None) -> Row:
    """A webhook marker that is right but for a change; None leaves an argument out."""
    arguments: dict[str, str | None] = {
        "path": "/mutate-example-com-v1-thing",
        "mutating": "true",
        "failurePolicy": "fail",
        "sideEffects": "None",
        "groups": "example.com",
        "resources": "things",
        "verbs": "create;update",
        "versions": "v1",
        "name": "mthing.kb.io",
        "admissionReviewVersions": "v1",
    }
    arguments.update(changes)
    given = ",".join(f"{key}={value}" for key, value in arguments.items() if value is not None)
    marker = f"+kubebuilder:webhook:{given}"
    return Row(about, {"shop/hooks.py": f"# {marker}\n"}, ((slug, at or marker),), words=("webhook",))


def command(name: str, slug: str, *words: str, count: int = 1) -> Row:
    """A command line; such findings have no place in a file."""
    return Row(name, {TYPES: f"class Spec(Struct):\n    a: str\n{KIND}"}, ((slug, ""),) * count, words=words)


V = "+kubebuilder:validation:"
SCHEMA_MARKERS = [
    on_field("a name in the wrong case", V + "enum=a;b", "marker-unknown", V + "enum"),
    on_field("a misspelt name", V + "Minimim=1", "marker-unknown", V + "Minimim"),
    on_field("optional below validation in lower case", V + "optional", "marker-unknown"),
    on_field("nullable below validation", V + "nullable", "marker-unknown"),
    on_field("blanks around the equals sign", V + "MinLength = 3", "marker-syntax", " ="),
    on_field("colon-equals with named arguments", V + 'XValidation:rule:="a"', "marker-syntax", ":"),
    on_field("colon-equals before named arguments", V + 'XValidation:=rule="a"', "marker-syntax", "="),
    on_field("a blank after the plus sign", "+ kubebuilder:validation:MinLength=3", "marker-syntax", "+ "),
    Row(
        "a marker at the end of a line of code",
        {TYPES: f"class Spec(Struct):\n    a: str  {MARK}MinLength=3\n{KIND}"},
        (("marker-detached", V + "MinLength=3"),),
    ),
    Row(
        "a marker two blocks above a field",
        {TYPES: f"class Spec(Struct):\n    {MARK}MinLength=3\n\n    # a\n\n    # b\n    a: str\n{KIND}"},
        (("marker-detached", V + "MinLength=3"),),
    ),
    Row(
        "a marker in a docstring",
        {TYPES: f'class Spec(Struct):\n    a: str\n    """+kubebuilder:validation:MinLength=3"""\n{KIND}'},
        (("marker-detached", V + "MinLength=3"),),
    ),
    Row(
        "a marker in a class docstring",
        {
            TYPES: f'class Spec(Struct):\n    """The spec.\n\n    +kubebuilder:validation:MinProperties=3\n    """\n    a: str\n{KIND}'
        },
        (("marker-detached", V + "MinProperties=3"),),
    ),
    Row(
        "a marker at the end of a class",
        {TYPES: f"class Spec(Struct):\n    a: str\n    {MARK}MinLength=3\n{KIND}"},
        (("marker-detached", V + "MinLength=3"),),
    ),
    on_field("a column on a field", "+kubebuilder:printcolumn:name=A,type=string,JSONPath=`.spec.a`", "marker-target"),
    on_type("optional on a type", "+optional", "marker-target"),
    on_type("a default on a type", "+kubebuilder:default=a", "marker-target"),
    on_field("a one-of group on a field", V + "ExactlyOneOf=a;b", "marker-target"),
    honoured(
        "a declarative tag",
        f"class Spec(Struct):\n    # +k8s:maxLength=3\n    a: str\n{KIND}",
        (f"{FIELD}.maxLength", 3),
    ),
    on_field("a bound of numbers on a text", V + "Minimum=1", "marker-type"),
    on_field("a length on a number", V + "MinLength=1", "marker-type", kind="int"),
    on_field("a fraction for a whole number", V + "Minimum=1.5", "marker-type", "1.5", kind="int"),
    on_field("a word for a number", V + "Minimum=abc", "marker-argument", "abc", kind="int"),
    on_field("no value", V + "Minimum", "marker-argument-missing", kind="int"),
    on_field("an empty value", V + "Minimum=", "marker-argument-missing", kind="int"),
    on_field("two values for one", V + "MinLength=3,4", "marker-argument", ",4"),
    on_field("a text without an end", V + 'Pattern="abc', "marker-argument", '"abc'),
    on_field("an escape that does not exist", V + r'Pattern="^\d+$"', "marker-argument", r"\d"),
    on_field("a pattern that needs quotes", V + "Pattern=^[a-z]{1,3}$", "marker-argument", ",3}$"),
    on_field("a pattern that does not compile", V + 'Pattern="(abc"', "pattern", V + 'Pattern="(abc"'),
    on_field("a rule without the rule", V + 'XValidation:message="x"', "marker-argument-missing"),
    on_field("a misspelt argument", V + 'XValidation:rul="true"', "marker-argument-unknown", "rul"),
    on_field("a rule that does not parse", V + 'XValidation:rule="self.foo((("', "cel-syntax"),
    on_field("a reason that does not exist", V + 'XValidation:rule="true",reason="Bad"', "marker-argument", '"Bad"'),
    on_field("a default of another type", "+kubebuilder:default=abc", "default-value", kind="int"),
    on_field("an enum of another type", V + "Enum=a;b", "enum-value", kind="int"),
    on_field("a JSON type that does not exist", V + "Type=strng", "type-name"),
    on_field("a negative length", V + "MinLength=-5", "marker-argument", "-5"),
    on_field("unique items", V + "UniqueItems=true", "unique-items", kind="list[str]"),
    on_field("a format that is not checked", V + "Format=zzz", "format"),
    Row(
        "a minimum above the maximum",
        {TYPES: f"class Spec(Struct):\n    {MARK}Minimum=5\n    {MARK}Maximum=1\n    a: int\n{KIND}"},
        (("marker-conflict", V + "Minimum=5"),),
    ),
    on_field("a default that is no JSON", "+default=abc", "marker-argument", "abc"),
    on_field("a list type that does not exist", "+listType=list", "marker-argument", "list", kind="list[str]"),
    on_field("a list type on a text", "+listType=set", "list-topology"),
    on_field("a list key without a map list", "+listMapKey=name", "list-topology", kind="list[Condition]"),
    Row(
        "a list key that does not exist",
        {TYPES: f"class Spec(Struct):\n    # +listType=map\n    # +listMapKey=nope\n    a: list[Condition]\n{KIND}"},
        (("list-topology", "+listMapKey=nope"),),
    ),
    on_type("a member that does not exist", V + "ExactlyOneOf=a;zzz", "one-of-member", "a;zzz"),
    on_type("a member below a member", V + "AtMostOneOf=a.b;a", "one-of-member", "a.b;a"),
    Row(
        "a marker twice",
        {TYPES: f"class Spec(Struct):\n    {MARK}MinLength=1\n    {MARK}MinLength=2\n    a: str\n{KIND}"},
        (("marker-repeated", V + "MinLength=2"),),
    ),
    Row(
        "optional and required",
        {TYPES: f"class Spec(Struct):\n    # +optional\n    # +required\n    a: str\n{KIND}"},
        (("marker-conflict", "+required"),),
    ),
    honoured(
        "an enum on a field whose type has one",
        f"Mode = NewType('Mode', Literal['a', 'b'])\nclass Spec(Struct):\n    {MARK}Enum=a\n    a: Mode\n{KIND}",
        (f"{FIELD}.enum", ["a"]),
    ),
    Row(
        "two fields with one name on the wire",
        {TYPES: f"class Spec(Struct):\n    a_b: str\n    other: Annotated[str, Wire('aB')]\n{KIND}"},
        (("duplicate-name", "other"),),
    ),
    on_field(
        "a whole number beyond 64 bits",
        "+kubebuilder:default=9223372036854775808",
        "marker-argument",
        "9223372036854775808",
        kind="int",
    ),
    Row(
        "a type that contains itself",
        {TYPES: f"class Spec(Struct):\n    a: list[Spec] | None = None\n{KIND}"},
        (("recursive-type", "list[Spec] | None"),),
    ),
    Row(
        "a type that does not exist",
        {TYPES: f"class Spec(Struct):\n    a: Nope\n{KIND}"},
        (("unresolved-type", "Nope"),),
    ),
    Row(
        "a file that is no Python",
        {TYPES: f"class Spec(Struct):\n    a: = 3\n{KIND}"},
        (("source-syntax", "="),),
    ),
    honoured(
        "a length on a named type from another place",
        f"Names = NewType('Names', list[str])\nclass Spec(Struct):\n    {MARK}MinItems=2\n    a: Names\n{KIND}",
        (f"{FIELD}.minItems", 2),
    ),
    honoured(
        "a property count on a map type",
        f"class Spec(Struct):\n    {MARK}MinProperties=2\n    a: dict[str, str]\n{KIND}",
        (f"{FIELD}.minProperties", 2),
    ),
    on_field("items of items of what is no list", V + "items:items:MinLength=1", "marker-type", kind="list[str]"),
    on_field("items of what is no list", V + "items:MinLength=1", "marker-type"),
    on_field("a trailing comment", V + "MinLength=3 # why", "marker-argument", "# why"),
    on_field("a value for a flag", "+optional=true", "marker-argument", "=true"),
    on_field("words after a flag", "+optional for now", "marker-syntax", "for now"),
    on_field("a boolean that is none", V + "ExclusiveMinimum=yes", "marker-argument", "yes", kind="int"),
    on_field("a list in JSON", "+kubebuilder:default=[1,2]", "marker-argument", ",2]", kind="list[int]"),
    Row(
        "a constraint of texts on what may be a number",
        {TYPES: f"class Spec(Struct):\n    a: Annotated[IntOrString, Field(min_length=1)]\n{KIND}"},
        (("unsupported-constraint", "Annotated[IntOrString, Field(min_length=1)]"),),
    ),
    on_field("an address that is no URL", '+kubebuilder:externalDocs:url="x y"', "external-docs"),
    on_field("a title that is no text", "+kubebuilder:title=3", "marker-argument", "3"),
    on_field("a pattern in single quotes", V + "Pattern='^a$'", "marker-argument", "'^a$'"),
    on_type("k8s:enum on what is no enum", "+k8s:enum", "marker-type"),
    on_field("k8s:enum on a field", "+k8s:enum", "marker-target"),
    honoured(
        "a required field with a default is optional",
        f"class Spec(Struct):\n    a: str = 'x'\n{KIND}",
        (f"{FIELD}.default", "x"),
        (f"{SPEC}.required", None),
    ),
]

COLUMN = "+kubebuilder:printcolumn:name=A,"
CRD_MARKERS = [
    on_kind("a label without a value", "+kubebuilder:metadata:labels=xx", "metadata-form", "xx"),
    on_kind("an annotation without a value", "+kubebuilder:metadata:annotations=xx", "metadata-form", "xx"),
    on_kind("the only version is skipped", "+kubebuilder:skipversion", "no-served-version"),
    on_kind("the only version is not served", "+kubebuilder:unservedversion", "no-served-version", "Thing"),
    on_kind("a scope in lower case", "+kubebuilder:resource:scope=cluster", "marker-argument", "cluster"),
    on_kind("a column of an unknown type", COLUMN + "type=foo,JSONPath=`.spec.a`", "marker-argument", "foo"),
    on_kind(
        "a column of an unknown format", COLUMN + "type=string,JSONPath=`.spec.a`,format=foo", "marker-argument", "foo"
    ),
    on_kind("a column that leads nowhere", COLUMN + "type=string,JSONPath=`.spec.z`", "json-path", "`.spec.z`"),
    on_kind("a column without a dot", COLUMN + "type=string,JSONPath=`spec.a`", "json-path", "`spec.a`"),
    on_kind(
        "a column's path in lower case",
        COLUMN + "type=string,jsonpath=`.spec.a`",
        "marker-argument-unknown",
        "jsonpath",
    ),
    on_kind("a scale without a path", "+kubebuilder:subresource:scale:specpath=.spec.n", "marker-argument-missing"),
    on_kind(
        "a scale that leads nowhere",
        "+kubebuilder:subresource:scale:specpath=.spec.n,statuspath=.status.z",
        "json-path",
    ),
    on_kind(
        "a selectable field that leads nowhere", "+kubebuilder:selectablefield:JSONPath=.spec.z", "json-path", ".spec.z"
    ),
    on_kind("several short names with commas", "+kubebuilder:resource:shortName=a,b", "marker-syntax", "b"),
    on_kind(
        "the resource marker twice",
        "+kubebuilder:resource:shortName=a\n# +kubebuilder:resource:scope=Cluster",
        "marker-repeated",
        "+kubebuilder:resource:scope=Cluster",
    ),
    on_kind("a status subresource without a status", "+kubebuilder:subresource:status", "status-subresource", "Thing"),
    Row(
        "two storage versions",
        {
            f"shop/api/{v}/things.py": "# +kubebuilder:storageversion\n"
            f"class Thing(CustomResource, group_version=GroupVersion('example.com', '{v}')):\n    a: str\n"
            for v in ("v1", "v2")
        },
        (("storage-version", "+kubebuilder:storageversion"),),
    ),
    Row(
        "no storage version",
        {
            f"shop/api/{v}/things.py": f"class Thing(CustomResource, group_version=GroupVersion('example.com', '{v}')):\n    a: str\n"
            for v in ("v1", "v2")
        },
        (("storage-version", "Thing"),),
    ),
    Row(
        "versions that disagree about the scope",
        {
            f"shop/api/{v}/things.py": f"# +kubebuilder:resource:scope={scope}\n{storage}"
            f"class Thing(CustomResource, group_version=GroupVersion('example.com', '{v}')):\n    a: str\n"
            for v, scope, storage in (("v1", "Cluster", "# +kubebuilder:storageversion\n"), ("v2", "Namespaced", ""))
        },
        (("conflicting-versions", "+kubebuilder:resource:scope=Namespaced"),),
    ),
    Row("no group", {TYPES: "class Thing(CustomResource):\n    a: str\n"}, (("no-group-version", "Thing"),)),
    Row(
        "two kinds with one plural",
        {TYPES: "".join(f"class {k}(CustomResource, group_version=GV):\n    a: str\n" for k in ("Data", "Datum"))},
        (("duplicate-kind", "Datum"),),
    ),
    Row(
        "a kind twice",
        {
            "shop/api/v1/a.py": "class Thing(CustomResource, group_version=GV):\n    a: str\n",
            "shop/api/v1/b.py": "class Thing(CustomResource, group_version=GV):\n    b: str\n",
        },
        (("duplicate-kind", "Thing"),),
    ),
    Row(
        "two names of the group of a package",
        {
            "shop/api/v1/__init__.py": "# +groupName=a.example.com\n",
            "shop/api/v1/x.py": "# +groupName=b.example.com\n\nclass Thing(CustomResource):\n    a: str\n",
        },
        (("marker-conflict", "+groupName=b.example.com"),),
    ),
    Row(
        "a protected group without approval",
        {TYPES: "class Thing(CustomResource, group_version=GroupVersion('apps.k8s.io', 'v1')):\n    a: str\n"},
        (("protected-group", "Thing"),),
    ),
    Row("nothing there", {"shop/other.py": "x = 1\n"}, (("nothing-to-generate", ""),)),
]

R = "+kubebuilder:rbac:groups=apps,resources=deployments,"
RBAC_MARKERS = [
    Row(
        "directly above a function",
        {"shop/c.py": f"# {R}verbs=get\ndef f(): ...\n"},
        output=(("rules.0.verbs", ["get"]),),
        words=("rbac:roleName=r",),
    ),
    Row(
        "inside a function",
        {"shop/c.py": f"def f():\n    # {R}verbs=get\n    return 1\n"},
        output=(("rules.0.verbs", ["get"]),),
        words=("rbac:roleName=r",),
    ),
    Row(
        "rules that become equal by merging",
        {
            "shop/c.py": "# +kubebuilder:rbac:groups=g1.io,resources=a,verbs=get\n"
            "# +kubebuilder:rbac:groups=g2.io,resources=a,verbs=get\n"
            "# +kubebuilder:rbac:groups=g1.io;g2.io,resources=a,verbs=list\n"
        },
        output=(("rules.0.verbs", ["get", "list"]), ("rules.1", None)),
        words=("rbac:roleName=r",),
    ),
    rbac("a misspelt verb", R + "verbs=gett", "rbac-verb", "gett"),
    rbac("a verb in capitals", R + "verbs=LIST", "rbac-verb", "LIST"),
    rbac("verbs with commas", R + "verbs=get,list", "marker-syntax", "list"),
    rbac(
        "no verbs",
        "+kubebuilder:rbac:groups=apps,resources=deployments",
        "marker-argument-missing",
        "+kubebuilder:rbac:groups=apps,resources=deployments",
    ),
    rbac("paths in a namespaced role", "+kubebuilder:rbac:urls=/metrics,verbs=get,namespace=x", "rbac-url", "/metrics"),
    rbac("paths with resources", R + "urls=/metrics,verbs=get", "rbac-url", "/metrics"),
    rbac(
        "a group with a version",
        "+kubebuilder:rbac:groups=apps/v1,resources=deployments,verbs=get",
        "rbac-group",
        "apps/v1",
    ),
    rbac(
        "a kind for a resource",
        "+kubebuilder:rbac:groups=apps,resources=Deployment,verbs=get",
        "rbac-resource",
        "Deployment",
    ),
    rbac("names with create", R + "resourceNames=x,verbs=create", "rbac-names", "x"),
]

WEBHOOK_MARKERS = [
    webhook("a failure policy that does not exist", "marker-argument", "sometimes", failurePolicy="sometimes"),
    webhook("a match policy that does not exist", "marker-argument", "foo", matchPolicy="foo"),
    webhook("no side effects said", "webhook-side-effects", "", sideEffects=None),
    webhook("side effects of an unknown kind", "marker-argument", "foo", sideEffects="foo"),
    webhook("side effects that v1 refuses", "marker-argument", "Some", sideEffects="Some"),
    webhook("a timeout beyond 30 seconds", "marker-argument", "31", timeoutSeconds="31"),
    webhook("a verb that does not exist", "marker-argument", "creat", verbs="creat"),
    webhook("neither path nor URL", "webhook-client", "", path=None),
    webhook("path and URL", "webhook-client", "https://a.b/c", url="https://a.b/c"),
    webhook("a patch that is no JSON", "webhook-patch", "`{a`", patch="`{a`"),
    webhook("a patch with an unknown key", "webhook-patch", '`{"a":1}`', patch='`{"a":1}`'),
    webhook("a review version that is gone", "marker-argument", "v1beta1", webhookVersions="v1beta1"),
    webhook("a name that is no DNS name", "webhook-name", '"Bad Name"', name='"Bad Name"'),
    webhook(
        "a reinvocation policy on a validating webhook",
        "webhook-review",
        "IfNeeded",
        path="/validate-example-com-v1-thing",
        mutating="false",
        reinvocationPolicy="IfNeeded",
    ),
    webhook("a reinvocation policy that does not exist", "marker-argument", "foo", reinvocationPolicy="foo"),
    Row(
        "a configuration without webhooks",
        {"shop/h.py": "# +kubebuilder:webhookconfiguration:mutating=true,name=x\n"},
        (("webhook-configuration", "+kubebuilder:webhookconfiguration:mutating=true,name=x"),),
        words=("webhook",),
    ),
    Row(
        "two configurations of one kind",
        {
            "shop/h.py": "# +kubebuilder:webhookconfiguration:mutating=true,name=x\n"
            "# +kubebuilder:webhookconfiguration:mutating=true,name=y\n"
            "# +kubebuilder:webhook:path=/m,mutating=true,failurePolicy=fail,sideEffects=None,groups=g.io,resources=r,"
            "verbs=create,versions=v1,name=m.kb.io,admissionReviewVersions=v1\n"
        },
        (("webhook-duplicate", "+kubebuilder:webhookconfiguration:mutating=true,name=y"),),
        words=("webhook",),
    ),
    Row(
        "two webhooks of one name",
        {
            "shop/h.py": "# +kubebuilder:webhook:path=/m,mutating=true,failurePolicy=fail,sideEffects=None,groups=g.io,resources=r,"
            "verbs=create,versions=v1,name=m.kb.io,admissionReviewVersions=v1\n" * 2
        },
        (("webhook-duplicate", "m.kb.io"),),
        words=("webhook",),
    ),
]

COMMAND_LINES = [
    command("an unknown option", "generate-command-line", "crd:foo=1"),
    command("an unknown generator", "generate-command-line", "crdd"),
    command("a generator twice", "generate-command-line", "crd", "crd"),
    command("a version of CRDs that is gone", "generate-command-line", "crd:crdVersions=v1beta1"),
    command("a folder that is not there", "generate-path", "crd", "paths=./nope"),
    command("a folder outside", "generate-path-outside", "crd", "paths=../.."),
    command("an output rule for what is not generated", "generate-command-line", "crd", "output:rbac:dir=x"),
    command("an unknown output rule", "generate-command-line", "crd", "output:dri=x"),
    command("a header that is not there", "header-file", "crd:headerFile=nope.txt"),
    Row(
        "no generator named",
        {TYPES: f"class Spec(Struct):\n    a: str\n{KIND}"},
        output=(("kind", "CustomResourceDefinition"),),
        words=("paths=./...",),
    ),
]
ROWS = [*SCHEMA_MARKERS, *CRD_MARKERS, *RBAC_MARKERS, *WEBHOOK_MARKERS, *COMMAND_LINES]


def look_up(document: Any, path: str) -> Any:
    """A value by dots and indices; None where the path ends early."""
    for step in path.split("."):
        if isinstance(document, list | tuple):
            document = document[int(step)] if int(step) < len(document) else None
        elif isinstance(document, Mapping):
            document = document.get(step)
        else:
            return None
    return document


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_nothing_is_taken_in_silence(row: Row, generate_files: Generate, text_at: Callable[[object], str]) -> None:
    """Each row gives exactly its findings, each at its text and with something to do, or the right manifest."""
    result = generate_files(row.files, *row.words, **row.given)
    shown = render(result.diagnostics, style=Format.CONCISE)
    counted = [d for d in result.diagnostics if d.severity is not Severity.NOTE]
    assert [(d.code.slug, text_at(d.span) if d.span else "") for d in counted] == list(row.found), shown
    documents = [doc for files in result.artifacts.values() for artifact in files for doc in artifact.documents]
    if any(d.span for d in counted if d.severity is Severity.ERROR):
        assert not result.artifacts.get("crd"), "a CRD beside an error"
    for path, value in row.output:
        assert look_up(documents[0], path) == value, f"{path} in {documents[0]}"


def test_every_row_has_a_name_of_its_own() -> None:
    """Rows are told apart by their names."""
    assert len({row.name for row in ROWS}) == len(ROWS)
