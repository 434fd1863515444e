# Copyright fanux
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The webhooks of VirtulMachine."""

from datetime import timedelta

from pykb.api import Quantity
from pykb.runtime import Defaulter, FieldError, Invalid, Manager, Validator, Warnings, WebhookBuilder

from sealvm.api.v1 import VirtulMachine
from sealvm.api.v1.virtulmachine_types import VirtulMachineSpec

MEMORY_PER_CPU = Quantity("2Gi")
LEAST_MEMORY = Quantity("128Mi")
MOST_CPUS = 64


# +kubebuilder:webhook:path=/mutate-infra-sealyun-com-v1-virtulmachine,mutating=true,failurePolicy=fail,sideEffects=None,groups=infra.sealyun.com,resources=virtulmachines,verbs=create;update,versions=v1,name=mvirtulmachine-v1.kb.io,admissionReviewVersions=v1
class VirtulMachineDefaulter(Defaulter[VirtulMachine]):
    """Gives a machine memory by the number of its CPUs."""

    async def default(self, obj: VirtulMachine) -> None:
        """What makes no sense is left for the validator to refuse."""
        if obj.spec.memory is None and cpus(obj.spec) is not None:
            obj.spec.memory = MEMORY_PER_CPU * int(obj.spec.cpu)


# +kubebuilder:webhook:path=/validate-infra-sealyun-com-v1-virtulmachine,mutating=false,failurePolicy=fail,sideEffects=None,groups=infra.sealyun.com,resources=virtulmachines,verbs=create;update,versions=v1,name=vvirtulmachine-v1.kb.io,admissionReviewVersions=v1
class VirtulMachineValidator(Validator[VirtulMachine]):
    """Refuses machines that no hypervisor could run, and changes that a running machine cannot follow."""

    async def validate_create(self, obj: VirtulMachine) -> Warnings:
        """Refuse what makes no sense; warn of a life that is over before anyone sees it."""
        refuse(obj, problems(obj.spec))
        if obj.spec.lifetime is not None and obj.spec.lifetime < timedelta(minutes=1):
            return [f"the machine is deleted after {obj.spec.lifetime.total_seconds():g} seconds"]
        return None

    async def validate_update(self, old: VirtulMachine, new: VirtulMachine) -> Warnings:
        """Keep the size. Only what this change brings is judged: what was stored before these rules can still go."""
        known = problems(old.spec)
        errors = [error for error in problems(new.spec) if error not in known]
        for name in ("cpu", "memory"):
            size = getattr(old.spec, name)  # none where the machine is older than the defaulter, which comes first
            if size is not None and getattr(new.spec, name) != size:
                errors.append(FieldError.forbidden(f"spec.{name}", "a machine keeps its size: make another one"))
        refuse(new, errors)
        return None


def cpus(spec: VirtulMachineSpec) -> int | None:
    """The number of CPUs, or nothing where the text is no number that a machine can have."""
    count = int(spec.cpu) if spec.cpu.isascii() and spec.cpu.isdecimal() else 0
    return count if 1 <= count <= MOST_CPUS else None


def problems(spec: VirtulMachineSpec) -> list[FieldError]:
    """Everything that is wrong with a machine, at once."""
    found: list[FieldError] = []
    if cpus(spec) is None:
        found.append(FieldError("spec.cpu", f"must be a number from 1 to {MOST_CPUS}", value=spec.cpu))
    if spec.memory is not None and spec.memory < LEAST_MEMORY:
        found.append(FieldError("spec.memory", f"must be at least {LEAST_MEMORY}", value=spec.memory))
    if spec.lifetime is not None and spec.lifetime <= timedelta(0):
        found.append(FieldError("spec.lifetime", "must be more than nothing", value=spec.lifetime))
    return found


def refuse(machine: VirtulMachine, errors: list[FieldError]) -> None:
    """Answer as the API server does to what its schema refuses."""
    if errors:
        raise Invalid.of(machine, errors)


def setup_virtulmachine_webhook(manager: Manager) -> None:
    """Register with the manager."""
    builder = WebhookBuilder(manager).for_(VirtulMachine)
    builder.with_defaulter(VirtulMachineDefaulter())
    builder.with_validator(VirtulMachineValidator())
    builder.complete()
