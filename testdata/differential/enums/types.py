"""Enumerations."""

from enum import StrEnum

from pykb.api import CustomResource, GroupVersion


# +k8s:enum
class Phase(StrEnum):
    """Phase of life."""

    YOUNG = "Young"
    OLD = "Old"
    DEAD = "dead"


class Letter(StrEnum):
    B = "b"
    A = "a"


# +kubebuilder:object:root=true
class Creature(CustomResource, group_version=GroupVersion("enums.example.com", "v1")):
    # +kubebuilder:default=Young
    phase: Phase
    letters: list[Letter] | None = None
    by_name: dict[str, Phase] | None = None
    # +kubebuilder:validation:Enum=on;"off";"1"
    odd: str | None = None
