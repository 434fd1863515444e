"""A version of a kind."""

# +groupName=versions.example.com

from pykb.api import CustomResource, Int32, Struct


class BoatSpec(Struct):
    name: str
    masts: Int32 | None = None


# +kubebuilder:deprecatedversion:warning="use v1"
# +kubebuilder:printcolumn:name=Name,type=string,JSONPath=.spec.name
class Boat(CustomResource):
    """Boat of v1beta1."""

    spec: BoatSpec | None = None
