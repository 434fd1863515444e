"""A version of a kind."""

# +groupName=versions.example.com

from pykb.api import CustomResource, Int32, Struct


class BoatSpec(Struct):
    name: str
    masts: Int32 | None = None


# +kubebuilder:skipversion
class Boat(CustomResource):
    """Boat of old."""

    spec: BoatSpec | None = None
