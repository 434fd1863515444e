"""Tags of declarative validation that controller-gen v0.23.0 does not know: it leaves them out without a word."""

from pykb.api import CustomResource, GroupVersion, Int32, Int64, Struct


class Part(Struct):
    name: str
    # +kubebuilder:validation:MaxLength=9
    zone: str | None = None


class TagSpec(Struct):
    # +k8s:minLength=2
    # +k8s:maxLength=9
    # +optional
    text: str | None = None
    # +k8s:maxBytes=16
    # +optional
    bytes: str | None = None
    # +k8s:minItems=1
    # +k8s:eachVal=+k8s:maxLength=9
    # +optional
    words: list[str] | None = None
    # +k8s:minProperties=1
    # +k8s:maxProperties=4
    # +k8s:eachKey=+k8s:maxLength=9
    # +optional
    labels: dict[str, str] | None = None
    # +k8s:format=k8s-short-name
    # +optional
    short: str | None = None
    # +k8s:neq="default"
    # +optional
    other: str | None = None
    # +k8s:forbidden
    # +optional
    never: str | None = None
    # +k8s:maxItems=4
    # +k8s:unique=set
    # +optional
    unique: list[str] | None = None
    # +k8s:alpha(since: "1.36")=+k8s:minimum=1
    # +k8s:beta(since: "1.36")=+k8s:maximum=5
    # +optional
    stage: Int32 | None = None
    # +k8s:monotonic
    # +optional
    generation: Int64 | None = None
    # +k8s:update=NoModify
    # +optional
    fixed: str | None = None
    # +k8s:dependentRequired(text)
    # +optional
    with_: str | None = None
    # +k8s:dependentForbidden(never)
    # +optional
    without: str | None = None
    # +k8s:opaqueType
    # +optional
    opaque: Part | None = None
    # +k8s:subfield(zone)=+k8s:minLength=2
    # +optional
    inner: Part | None = None
    # +listType=map
    # +listMapKey=name
    # +k8s:maxItems=4
    # +k8s:item(name: "a")=+k8s:required
    # +optional
    items: list[Part] | None = None
    # +k8s:unionDiscriminator
    # +optional
    mode: str | None = None
    # +k8s:unionMember(memberName: "Left")
    # +optional
    left: str | None = None
    # +k8s:unionMember(memberName: "Right")
    # +optional
    right: str | None = None
    # +k8s:zeroOrOneOfMember(union: "second")
    # +optional
    first: str | None = None
    # +k8s:zeroOrOneOfMember(union: "second")
    # +optional
    second: str | None = None
    # +k8s:discriminator
    # +optional
    by: str | None = None
    # +k8s:member("Part")=+k8s:required
    # +optional
    part: str | None = None
    # +k8s:modeDiscriminator
    # +optional
    way: str | None = None
    # +k8s:ifMode("Road")=+k8s:required
    # +optional
    road: str | None = None


# +kubebuilder:object:root=true
class Tag(CustomResource, group_version=GroupVersion("tags.example.com", "v1")):
    spec: TagSpec | None = None
