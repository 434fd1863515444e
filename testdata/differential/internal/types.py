"""A package that is left out."""

# +kubebuilder:skip

from pykb.api import CustomResource, GroupVersion


class Hidden(CustomResource, group_version=GroupVersion("internal.example.com", "v1")):
    """Not to be seen."""
