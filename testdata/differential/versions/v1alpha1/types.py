"""A version of a kind."""

# +groupName=versions.example.com

from pykb.api import CustomResource, Int32, Struct


class BoatSpec(Struct):
    name: str
    masts: Int32 | None = None


# +kubebuilder:unservedversion
# +kubebuilder:deprecatedversion
class Boat(CustomResource):
    """Boat of v1alpha1."""

    spec: BoatSpec | None = None
