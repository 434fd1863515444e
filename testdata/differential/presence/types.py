"""A package whose fields are optional."""

from pykb.api import CustomResource, GroupVersion


# +kubebuilder:object:root=true
class Datum(CustomResource, group_version=GroupVersion("presence.example.com", "v1")):
    a: str
    # +required
    b: str
    # +kubebuilder:validation:Required
    c: str
    d: str = "x"
    # +nullable
    e: str | None = None
