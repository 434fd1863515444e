"""Each marker for schemas, on types and on fields."""

# +groupName=validation.example.com
# +versionName=v1alpha1

from typing import NewType

from pykb.api import CustomResource, Int32, Int64, IntOrString, Struct

# Word has rules of its own.
# +kubebuilder:validation:MinLength=2
# +kubebuilder:validation:MaxLength=20
# +kubebuilder:validation:Pattern=`^[a-z]+$`
Word = NewType("Word", str)

# Level is a choice.
# +kubebuilder:validation:Enum=1;2;3
Level = NewType("Level", Int32)


# +kubebuilder:validation:MinProperties=1
# +kubebuilder:validation:MaxProperties=3
# +kubebuilder:validation:XValidation:rule="has(self.a) || has(self.b)",message="a or b"
# +kubebuilder:title=Limited struct
# +kubebuilder:externalDocs:url="https://example.com/docs",description="more"
class Limited(Struct):
    """Limited says things about itself."""

    # +optional
    a: str | None = None
    # +kubebuilder:validation:Optional
    b: str | None = None


# +kubebuilder:pruning:PreserveUnknownFields
class Open(Struct):
    known: str


# +kubebuilder:validation:XValidation:rule="true"
# +kubebuilder:validation:ExactlyOneOf=c;d
# +kubebuilder:validation:AtMostOneOf=a;b
# +kubebuilder:validation:AtMostOneOf=b;c
# +kubebuilder:validation:AtLeastOneOf=a;b;c
class Choice(Struct):
    """Choice has groups."""

    a: str | None = None
    b: str | None = None
    c: str | None = None
    d: str | None = None


class Frozen(Struct):
    """Frozen has fields that stay."""

    # +k8s:immutable
    required: str
    # +k8s:immutable
    # +optional
    optional: str | None = None


class Tuned(Struct):
    """Tuned is the spec."""

    # +kubebuilder:validation:Minimum=1
    # +kubebuilder:validation:Maximum=10
    count: Int32
    # +kubebuilder:validation:Minimum=0
    # +kubebuilder:validation:ExclusiveMinimum=true
    # +kubebuilder:validation:Maximum=1000000
    # +kubebuilder:validation:ExclusiveMaximum=true
    # +kubebuilder:validation:MultipleOf=5
    step: Int64 | None = None
    # +kubebuilder:validation:Minimum=-5
    negative: int | None = None
    # +kubebuilder:validation:MinLength=1
    # +kubebuilder:validation:MaxLength=63
    # +kubebuilder:validation:Pattern="^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
    name: str
    # +kubebuilder:validation:Pattern=`^\d+$`
    digits: str | None = None
    # +kubebuilder:validation:MinItems=1
    # +kubebuilder:validation:MaxItems=5
    # +kubebuilder:validation:items:MinLength=1
    # +kubebuilder:validation:items:Pattern=`^x`
    words: list[str]
    # +kubebuilder:validation:items:Minimum=1
    numbers: list[Int32] | None = None
    # +kubebuilder:validation:MinProperties=1
    # +kubebuilder:validation:MaxProperties=4
    labels: dict[str, str] | None = None
    # +kubebuilder:validation:Enum=Always;Never;"On Failure"
    policy: str | None = None
    # +kubebuilder:validation:Enum={1,2,4}
    power: Int32 | None = None
    # +kubebuilder:validation:Format=date-time
    when: str | None = None
    # +kubebuilder:validation:Format=ipv4
    address: str | None = None
    # +kubebuilder:validation:Type=object
    # +kubebuilder:validation:XPreserveUnknownFields
    weird: str | None = None
    # +kubebuilder:validation:Schemaless
    # +kubebuilder:pruning:PreserveUnknownFields
    free: Limited | None = None
    # +kubebuilder:pruning:PreserveUnknownFields
    # +kubebuilder:validation:EmbeddedResource
    object: Limited | None = None
    # +kubebuilder:validation:XEmbeddedResource
    # +kubebuilder:validation:XPreserveUnknownFields
    other: Limited | None = None
    # +kubebuilder:validation:XIntOrString
    # +kubebuilder:validation:Pattern=`^\d+%?$`
    percent: str | None = None
    # +kubebuilder:validation:XIntOrString
    # +kubebuilder:validation:MaxLength=4
    either: IntOrString | None = None
    # +nullable
    nothing: str | None
    # +optional
    optional_a: str | None = None
    # +required
    required_a: str
    # +kubebuilder:validation:Required
    required_b: str
    # +kubebuilder:validation:Optional
    optional_b: str | None = None
    # +k8s:optional
    optional_c: str | None = None
    # +k8s:required
    required_c: str
    # +kubebuilder:default=3
    default_number: Int32 | None = None
    # +kubebuilder:default="some text"
    default_text: str | None = None
    # +kubebuilder:default=plain
    default_word: str | None = None
    # +kubebuilder:default=true
    default_flag: bool | None = None
    # +kubebuilder:default={a,b}
    default_list: list[str] | None = None
    # +kubebuilder:default={}
    default_empty: list[str] | None = None
    # +kubebuilder:default={a:"x"}
    default_object: Limited | None = None
    # +kubebuilder:default={{a:"x"},{b:"y"}}
    default_objects: list[Limited] | None = None
    # +default={"a":"x"}
    default_j_s_o_n: Limited | None = None
    # +default=[1,2]
    default_numbers: list[Int32] | None = None
    # +kubebuilder:example=hello
    example: str | None = None
    # +kubebuilder:title=The title
    titled: str | None = None
    # +kubebuilder:externalDocs:url="https://example.com"
    documented: str | None = None
    # A word, tightened.
    # +kubebuilder:validation:MinLength=4
    # +kubebuilder:validation:Pattern=`^[a-f]+$`
    tight: Word | None = None
    # +kubebuilder:validation:MaxLength=20
    same: Word | None = None
    level: Level | None = None
    limited: Limited | None = None
    open: Open | None = None
    choice: Choice | None = None
    frozen: Frozen | None = None
    # +kubebuilder:validation:MaxItems=10
    # +kubebuilder:validation:XValidation:rule="self.all(x, x > 0)",message="all positive",reason="FieldValueInvalid"
    # +kubebuilder:validation:XValidation:rule="!oldSelf.hasValue() || self == oldSelf.value()",messageExpression="'changed'",optionalOldSelf=true
    checked: list[Int64] | None = None
    # +kubebuilder:validation:XValidation:rule="has(self.a)",fieldPath=".a"
    checked_struct: Limited | None = None
    # +k8s:minimum=2
    # +k8s:maximum=8
    bounded: Int32 | None = None
    # +k8s:maxItems=3
    few: list[str] | None = None


# +kubebuilder:validation:XValidation:rule="self.metadata.name.size() < 20"
class Tune(CustomResource):
    spec: Tuned
