"""Floats, and metadata without its fields."""

from pykb.api import CustomResource, GroupVersion, Struct
from pykb.api.meta.v1 import ObjectMeta


class Template(Struct):
    metadata: ObjectMeta | None = None


# +kubebuilder:object:root=true
class Gauge(CustomResource, group_version=GroupVersion("floats.example.com", "v1")):
    # +kubebuilder:validation:Minimum=0.5
    # +kubebuilder:validation:Maximum=1e3
    # +kubebuilder:validation:MultipleOf=0.25
    value: float
    # +kubebuilder:default=1.5
    factor: float | None = None
    offset: float = -2
    template: Template | None = None
