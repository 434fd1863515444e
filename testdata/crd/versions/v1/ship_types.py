"""The version that is stored."""

from pykb.api import CustomResource, GroupVersion, Int32, Struct
from pykb.api.meta.v1 import ObjectMeta


class Boat(Struct):
    """A boat that a ship carries."""

    metadata: ObjectMeta | None = None


class ShipSpec(Struct):
    masts: Int32 = 3
    name: str
    boat: Boat | None = None


class ShipStatus(Struct):
    masts: Int32 | None = None
    selector: str | None = None


# +kubebuilder:storageversion
# +kubebuilder:subresource:status
# +kubebuilder:subresource:scale:specpath=.spec.masts,statuspath=.status.masts,selectorpath=.status.selector
# +kubebuilder:resource:scope=Cluster,shortName=shp
# +kubebuilder:selectablefield:JSONPath=`.spec.name`
# +kubebuilder:metadata:annotations="fleet.example.com/owner=admiral=first",labels="fleet=example"
# +kubebuilder:printcolumn:name=Masts,type=integer,JSONPath=`.spec.masts`
class Ship(CustomResource, group_version=GroupVersion("fleet.example.com", "v1")):
    """A ship."""

    spec: ShipSpec
    status: ShipStatus | None = None
