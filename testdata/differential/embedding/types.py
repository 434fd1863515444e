"""Embedded structs and their rules."""

from pykb.api import CustomResource, GroupVersion, Struct


# +kubebuilder:validation:XValidation:rule="has(self.a)",message="first"
class First(Struct):
    """First is embedded."""

    a: str | None = None
    """A of the first."""


# +kubebuilder:validation:XValidation:rule="has(self.b)",message="second"
# +kubebuilder:validation:MinProperties=1
class Second(Struct):
    """Second is embedded too."""

    # +kubebuilder:validation:MinLength=1
    b: str | None = None
    # +k8s:immutable
    fixed: str | None = None


# +kubebuilder:validation:XValidation:rule="has(self.c)",message="own"
class Both(First, Second):
    c: str | None = None


# +kubebuilder:validation:XValidation:rule="has(self.g)",message="grandparent"
# +structType=atomic
class Grand(Struct):
    """Grand is embedded twice removed."""

    g: str | None = None


# +kubebuilder:validation:XValidation:rule="has(self.p)",message="parent"
# +kubebuilder:validation:XValidation:rule="self.p != 'x'",message="parent again"
class Parent(Grand):
    p: str | None = None


# +kubebuilder:validation:XValidation:rule="has(self.o)",message="other parent"
class OtherParent(First):
    o: str | None = None


# +kubebuilder:validation:XValidation:rule="has(self.q)",message="own"
class Child(Parent, OtherParent):
    q: str | None = None


# +kubebuilder:validation:XValidation:rule="has(self.r)",message="of the youngest"
class GrandChild(Child):
    r: str | None = None


class Wrapped(Struct):
    """Wrapped has no text of its own at its use."""

    both: Both
    # List of both.
    # +kubebuilder:validation:XValidation:rule="self.size() > 0"
    lots: list[First] = []
    # +kubebuilder:validation:XValidation:rule="has(self.a)",message="at the field"
    other: Both | None = None
    chain: Parent | None = None
    # +kubebuilder:validation:XValidation:rule="has(self.r)",message="at the field"
    tree: GrandChild | None = None


# +kubebuilder:object:root=true
class Outer(CustomResource, group_version=GroupVersion("embedding.example.com", "v1")):
    spec: Wrapped
