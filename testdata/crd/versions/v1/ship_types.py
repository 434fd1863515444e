"""The version that is stored."""

from pykb.api import CustomResource, GroupVersion, Int32, Struct


class ShipSpec(Struct):
    masts: Int32 = 3
    name: str


# +kubebuilder:storageversion
# +kubebuilder:resource:scope=Cluster,shortName=shp
# +kubebuilder:selectablefield:JSONPath=`.spec.name`
class Ship(CustomResource, group_version=GroupVersion("fleet.example.com", "v1")):
    """A ship."""

    spec: ShipSpec
