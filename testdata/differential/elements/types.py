"""Each marker on named types, and those for elements of lists on types and on fields."""

from typing import Any, NewType

from pykb.api import CustomResource, GroupVersion, Int32, Int64, IntOrString, Struct


class Part(Struct):
    """Part is a struct."""

    name: str


# Bounded is a type of its own.
# +kubebuilder:validation:Minimum=1
# +kubebuilder:validation:ExclusiveMinimum=true
# +kubebuilder:validation:Maximum=9
# +kubebuilder:validation:ExclusiveMaximum=true
# +kubebuilder:validation:MultipleOf=2
Bounded = NewType("Bounded", Int32)

# Included is a type of its own.
# +kubebuilder:validation:Minimum=1
# +kubebuilder:validation:ExclusiveMinimum=false
# +kubebuilder:validation:Maximum=9
# +kubebuilder:validation:ExclusiveMaximum=false
Included = NewType("Included", Int64)

# Address is a type of its own.
# +kubebuilder:validation:Format=ipv4
Address = NewType("Address", str)

# Names is a type of its own.
# +kubebuilder:validation:MinItems=1
# +kubebuilder:validation:MaxItems=4
# +kubebuilder:validation:UniqueItems=false
Names = NewType("Names", list[str])

# Number is a type of its own.
# +kubebuilder:validation:Type=string
Number = NewType("Number", Int64)

# Raw is a type of its own.
# +kubebuilder:validation:XPreserveUnknownFields
# +kubebuilder:validation:XEmbeddedResource
Raw = NewType("Raw", Part)

# Either is a type of its own.
# +kubebuilder:validation:XIntOrString
# +kubebuilder:validation:MaxLength=4
Either = NewType("Either", IntOrString)

# Parts is a type of its own.
# +listType=map
# +listMapKey=name
Parts = NewType("Parts", list[Part])

# Pieces is a type of its own.
# +k8s:listType=map
# +k8s:listMapKey=name
Pieces = NewType("Pieces", list[Part])

# Choices is a type of its own.
# +kubebuilder:validation:items:Enum=a;b
Choices = NewType("Choices", list[str])

# Steps is a type of its own.
# +kubebuilder:validation:items:Minimum=1
# +kubebuilder:validation:items:ExclusiveMinimum=true
# +kubebuilder:validation:items:Maximum=9
# +kubebuilder:validation:items:ExclusiveMaximum=true
# +kubebuilder:validation:items:MultipleOf=2
Steps = NewType("Steps", list[Int32])

# Words is a type of its own.
# +kubebuilder:validation:items:MinLength=1
# +kubebuilder:validation:items:MaxLength=9
# +kubebuilder:validation:items:Pattern=`^[a-z]+$`
Words = NewType("Words", list[str])

# Addresses is a type of its own.
# +kubebuilder:validation:items:Format=ipv6
Addresses = NewType("Addresses", list[str])

# Rows is a type of its own.
# +kubebuilder:validation:items:MinItems=1
# +kubebuilder:validation:items:MaxItems=3
# +kubebuilder:validation:items:UniqueItems=false
Rows = NewType("Rows", list[list[str]])

# Maps is a type of its own.
# +kubebuilder:validation:items:MinProperties=1
# +kubebuilder:validation:items:MaxProperties=3
Maps = NewType("Maps", list[dict[str, str]])

# Numbers is a type of its own.
# +kubebuilder:validation:items:Type=string
Numbers = NewType("Numbers", list[Int64])

# Objects is a type of its own.
# +kubebuilder:validation:items:XPreserveUnknownFields
# +kubebuilder:validation:items:XEmbeddedResource
Objects = NewType("Objects", list[Part])

# Percents is a type of its own.
# +kubebuilder:validation:items:XIntOrString
Percents = NewType("Percents", list[IntOrString])

# Checked is a type of its own.
# +kubebuilder:validation:MaxItems=5
# +kubebuilder:validation:items:MaxLength=20
# +kubebuilder:validation:items:XValidation:rule="self != ''",message="must not be empty",reason="FieldValueInvalid"
Checked = NewType("Checked", list[str])


class PlanSpec(Struct):
    """PlanSpec has all of them."""

    bounded: Bounded | None = None
    included: Included | None = None
    address: Address | None = None
    names: Names | None = None
    number: Number | None = None
    raw: Raw | None = None
    either: Either | None = None
    parts: Parts | None = None
    pieces: Pieces | None = None
    choices: Choices | None = None
    steps: Steps | None = None
    words: Words | None = None
    addresses: Addresses | None = None
    rows: Rows | None = None
    maps: Maps | None = None
    numbers: Numbers | None = None
    objects: Objects | None = None
    percents: Percents | None = None
    checked: Checked | None = None
    # +kubebuilder:validation:items:Enum=a;b
    plain_choices: list[str] | None = None
    # +kubebuilder:validation:items:Minimum=1
    # +kubebuilder:validation:items:ExclusiveMinimum=true
    # +kubebuilder:validation:items:Maximum=9
    # +kubebuilder:validation:items:ExclusiveMaximum=true
    # +kubebuilder:validation:items:MultipleOf=2
    plain_steps: list[Int32] | None = None
    # +kubebuilder:validation:items:MinLength=1
    # +kubebuilder:validation:items:MaxLength=9
    # +kubebuilder:validation:items:Pattern=`^[a-z]+$`
    plain_words: list[str] | None = None
    # +kubebuilder:validation:items:Format=ipv6
    plain_addresses: list[str] | None = None
    # +kubebuilder:validation:items:MinItems=1
    # +kubebuilder:validation:items:MaxItems=3
    # +kubebuilder:validation:items:UniqueItems=false
    plain_rows: list[list[str]] | None = None
    # +kubebuilder:validation:items:MinProperties=1
    # +kubebuilder:validation:items:MaxProperties=3
    plain_maps: list[dict[str, str]] | None = None
    # +kubebuilder:validation:items:Type=string
    plain_numbers: list[Int64] | None = None
    # +kubebuilder:validation:items:XPreserveUnknownFields
    # +kubebuilder:validation:items:XEmbeddedResource
    plain_objects: list[Part] | None = None
    # +kubebuilder:validation:items:XIntOrString
    plain_percents: list[IntOrString] | None = None
    # +kubebuilder:validation:MaxItems=5
    # +kubebuilder:validation:items:MaxLength=20
    # +kubebuilder:validation:items:XValidation:rule="self != ''",message="must not be empty",reason="FieldValueInvalid"
    plain_checked: list[str] | None = None
    # +kubebuilder:validation:MinItems=1
    # +kubebuilder:validation:UniqueItems=false
    plain_names: list[str] | None = None
    # +kubebuilder:validation:Type=object
    plain_object: Any = None
    # +kubebuilder:validation:Type=string
    plain_text: Any = None
    # +kubebuilder:validation:Type=object
    # +kubebuilder:validation:XEmbeddedResource
    plain_resource: Any = None
    # +kubebuilder:validation:items:Type=object
    plain_resources: list[Any] | None = None
    # +kubebuilder:validation:items:Type=object
    # +kubebuilder:validation:items:XPreserveUnknownFields
    plain_blobs: list[Any] | None = None


# +kubebuilder:object:root=true
class Plan(CustomResource, group_version=GroupVersion("elements.example.com", "v1")):
    spec: PlanSpec | None = None
