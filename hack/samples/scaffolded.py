"""Texts of freshly scaffolded files that more than one sample replaces."""

SUBRESOURCE = """
# +kubebuilder:subresource:status
"""
CONDITIONS = '''
    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """The current state in conditions, one of a type."""
'''
MANAGER = """
    manager = Manager(ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID))
"""
IMPORTS = """
from pykb.api import CustomResource, Field, Struct
from pykb.api.meta.v1 import Condition
"""
