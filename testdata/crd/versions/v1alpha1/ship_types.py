"""The first version: known to the store, no longer served."""

from pykb.api import CustomResource, GroupVersion, Struct


class ShipSpec(Struct):
    name: str


# +kubebuilder:unservedversion
class Ship(CustomResource, group_version=GroupVersion("fleet.example.com", "v1alpha1")):
    """A ship of the first days."""

    spec: ShipSpec
