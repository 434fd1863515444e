"""Texts of freshly scaffolded files that more than one sample replaces."""

from __future__ import annotations

from hack.samples.steps import Step, replace

SUBRESOURCE = """
# +kubebuilder:subresource:status
"""
CONDITIONS = '''
    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """Current conditions, at most one per type."""
'''
MANAGER = """
    manager = Manager(ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID))
"""
IMPORTS = """
from pykb.api import CustomResource, Field, Struct
from pykb.api.meta.v1 import Condition
"""
RESYNC = """
    cache = CacheOptions(default=InformerOptions(resync=timedelta(seconds=30)))
    manager = Manager(ManagerOptions.from_args(leader_election_id=LEADER_ELECTION_ID, cache=cache))
"""


def resync_every_30_seconds(package: str) -> Step:
    """Make the manager of a package resync every object twice a minute, as sample-controller does."""
    return replace(
        f"{package}/__main__.py",
        ("import Manager, ManagerOptions\n", "import CacheOptions, InformerOptions, Manager, ManagerOptions\n"),
        ("from pykb.runtime", "from datetime import timedelta\n\nfrom pykb.runtime"),
        (MANAGER, RESYNC),
    )
