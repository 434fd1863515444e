"""A version of a kind."""

# +groupName=versions.example.com

from pykb.api import CustomResource, Int32, Struct


class BoatSpec(Struct):
    name: str
    masts: Int32 | None = None


# +kubebuilder:storageversion
# +kubebuilder:resource:shortName=bt
# +kubebuilder:subresource:status
class Boat(CustomResource):
    """Boat of v1."""

    spec: BoatSpec | None = None
    status: BoatSpec | None = None
