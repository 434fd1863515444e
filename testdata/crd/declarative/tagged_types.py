"""Every tag of Kubernetes' declarative validation."""

from __future__ import annotations

from enum import StrEnum

from pykb.api import CustomResource, GroupVersion, Int32, Struct


# +k8s:enum
class Kind(StrEnum):
    """Sorted by their texts."""

    STATIC = "Static"
    DYNAMIC = "Dynamic"


class Entry(Struct):
    # +k8s:maxLength=20
    type: str
    # +k8s:maxLength=20
    value: str | None = None


class Strict(Struct):
    # +k8s:minLength=3
    # +k8s:maxLength=9
    word: str


class Rules(Struct):
    # +k8s:required
    # +k8s:maxLength=30
    name: str
    # +k8s:optional
    # +k8s:minimum=1
    # +k8s:maximum=9
    # +k8s:neq=5
    number: Int32 | None = None
    # +k8s:neq="default"
    # +k8s:maxBytes=32
    text: str | None = None
    # +k8s:forbidden
    never: str | None = None
    # +k8s:immutable
    # +k8s:maxLength=10
    once: str | None = None
    # +k8s:monotonic
    growing: Int32 | None = None
    # +k8s:format=k8s-short-name
    short: str | None = None
    # +k8s:format=k8s-long-name
    long: str | None = None
    # +k8s:format=k8s-ip
    address: str | None = None
    # +k8s:format=k8s-label-key
    label_key: str | None = None
    # +k8s:format=k8s-label-value
    label_value: str | None = None
    # +k8s:format=k8s-uuid
    uuid: str | None = None
    # +k8s:format=k8s-path-segment-name
    # +k8s:maxLength=40
    segment: str | None = None
    # +k8s:format=k8s-extended-resource-name
    resource: str | None = None
    # +k8s:format=k8s-long-name-caseless
    caseless: str | None = None
    # +k8s:format=k8s-prefixed-label-key
    prefixed: str | None = None
    # +k8s:format=k8s-resource-fully-qualified-name
    qualified: str | None = None
    # +k8s:format=k8s-resource-pool-name
    pool: str | None = None
    # +k8s:minItems=1
    # +k8s:maxItems=4
    # +k8s:unique=set
    # +k8s:eachVal=+k8s:maxLength=8
    # +k8s:eachVal=+k8s:minLength=1
    words: list[str] | None = None
    # +k8s:maxItems=4
    # +k8s:unique=map
    # +k8s:listMapKey=type
    by_key: list[Entry] | None = None
    # +k8s:listType=map
    # +k8s:listMapKey=type
    # +k8s:maxItems=4
    # +k8s:item(type: "Ready")=+k8s:immutable
    items: list[Entry] | None = None
    # +k8s:maxProperties=4
    # +k8s:minProperties=1
    # +k8s:eachKey=+k8s:maxLength=10
    # +k8s:eachKey=+k8s:format=k8s-short-name
    # +k8s:eachVal=+k8s:maxLength=5
    labels: dict[str, str] | None = None
    # +k8s:subfield(value)=+k8s:required
    # +k8s:subfield(value)=+k8s:minLength=2
    entry: Entry | None = None
    # +k8s:opaqueType
    opaque: Strict | None = None
    # +k8s:update=NoSet
    # +k8s:update=NoModify
    # +k8s:maxLength=10
    at_birth: str | None = None
    # +k8s:update=NoUnset
    # +k8s:maxLength=10
    kept: str | None = None
    # +k8s:update=NoAddItem
    # +k8s:maxItems=4
    # +k8s:eachVal=+k8s:maxLength=8
    shrinking: list[str] | None = None
    # +k8s:update=NoRemoveItem
    # +k8s:maxItems=4
    # +k8s:eachVal=+k8s:maxLength=8
    lasting: list[str] | None = None
    # +k8s:dependentRequired(text)
    with_text: bool | None = None
    # +k8s:dependentForbidden(number)
    without_number: bool | None = None
    # +k8s:alpha(since: "1.36")=+k8s:minimum=2
    # +k8s:beta=+k8s:maximum=4
    staged: Int32 | None = None


class Plain(Struct):
    """A union without a discriminator."""

    # +k8s:unionMember
    a: str | None = None
    # +k8s:unionMember
    b: str | None = None
    # +k8s:zeroOrOneOfMember(union: "second")
    c: str | None = None
    # +k8s:zeroOrOneOfMember(union: "second")
    d: str | None = None


class Chosen(Struct):
    """A union with a discriminator, and a mode."""

    # +k8s:unionDiscriminator
    type: Kind
    # +k8s:unionMember
    static: Entry | None = None
    # +k8s:unionMember(memberName: "Dynamic")
    moving: Entry | None = None
    # +k8s:discriminator
    mode: Kind
    # +k8s:member("Static")=+k8s:required
    # +k8s:member("Static")=+k8s:maximum=5
    # +k8s:member("Dynamic")=+k8s:forbidden
    size: Int32 | None = None


class Spec(Struct):
    rules: Rules | None = None
    plain: Plain | None = None
    chosen: Chosen | None = None


class Tagged(CustomResource, group_version=GroupVersion("golden.example.com", "v1")):
    """Tagged has them all."""

    spec: Spec | None = None
