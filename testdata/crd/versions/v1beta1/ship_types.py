"""The version of old."""

from pykb.api import CustomResource, GroupVersion, Struct


class ShipSpec(Struct):
    name: str


# +kubebuilder:deprecatedversion:warning="fleet.example.com/v1beta1 Ship is deprecated; use v1"
class Ship(CustomResource, group_version=GroupVersion("fleet.example.com", "v1beta1")):
    """A ship of former times."""

    spec: ShipSpec
