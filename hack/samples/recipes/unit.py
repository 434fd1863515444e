"""The recipe of the sample `unit`."""

from __future__ import annotations

from hack.samples.scaffolded import CONDITIONS, IMPORTS
from hack.samples.steps import create_api, init, own, pykb, replace

UNIT_EXAMPLE = '''
class UnitSpec(Struct):
    """Desired state of Unit."""

    foo: str | None = None
    """An example field, to be replaced by what Unit needs."""
'''
UNIT = '''
class UnitCategory(StrEnum):
    """What runs the Pods."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"


class RelationResource(Struct):
    """What a Unit has beside its Pods, each of the Unit's name; absent ones are not made."""

    service: ServiceSpec | None = None
    """How the Pods are reached; chooses the Pods of the Unit unless it has a selector."""

    ingress: IngressSpec | None = None
    """How the Unit is reached from outside."""

    pvc: Annotated[PersistentVolumeClaimSpec, CEL("self == oldSelf", message="a claim cannot be changed")] | None = None
    """The storage of the Pods."""


class UnitSpec(Struct):
    """Desired state of Unit."""

    category: UnitCategory
    """What runs the Pods; the former one is removed when this changes."""

    replicas: Annotated[Int32, Field(ge=0)] = 1
    """How many Pods run."""

    selector: Annotated[LabelSelector, CEL("self == oldSelf", message="it cannot be changed, as that of a Deployment")]
    """Which Pods are the Unit's; its labels are given to them."""

    template: Annotated[
        PodTemplateSpec, CEL("has(self.spec) && self.spec.containers.size() > 0", message="it needs a container")
    ]
    """What each Pod is."""

    relation_resource: RelationResource = Field(default_factory=RelationResource)
    """What there is beside the Pods."""
'''
UNIT_STATUS = '''
    deployment: DeploymentStatus | None = None
    """The Deployment as it is."""

    stateful_set: StatefulSetStatus | None = None
    """The StatefulSet as it is."""

    service: ServiceStatus | None = None
    """The Service as it is."""

    ingress: IngressStatus | None = None
    """The Ingress as it is."""

    pvc: PersistentVolumeClaimStatus | None = None
    """The claim as it is."""

    last_update_time: datetime | None = None
    """When any of these changed last."""
'''
UNIT_IMPORTS = """
from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pykb.api import CEL, CustomResource, Field, Int32, Struct
from pykb.api.apps.v1 import DeploymentStatus, StatefulSetStatus
from pykb.api.core.v1 import (
    PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus,
    PodTemplateSpec,
    ServiceSpec,
    ServiceStatus,
)
from pykb.api.meta.v1 import Condition, LabelSelector
from pykb.api.networking.v1 import IngressSpec, IngressStatus
"""

STEPS = [
    init("--domain", "example.com", "--project-name", "unit-operator"),
    create_api("custom", "v1", "Unit", "--resource", "--controller"),
    replace(
        "unit_operator/api/v1/unit_types.py",
        (IMPORTS, UNIT_IMPORTS),
        (UNIT_EXAMPLE, UNIT),
        (CONDITIONS, UNIT_STATUS + CONDITIONS),
    ),
    own(
        "config/samples/custom_v1_unit.yaml",
        "unit_operator/controllers/unit_controller.py",
        "unit_operator/resources/__init__.py",
        "unit_operator/resources/base.py",
        "unit_operator/resources/claim.py",
        "unit_operator/resources/deployment.py",
        "unit_operator/resources/ingress.py",
        "unit_operator/resources/pods.py",
        "unit_operator/resources/service.py",
        "unit_operator/resources/stateful_set.py",
        "tests/controllers/test_unit_controller.py",
    ),
    pykb("generate"),
]
