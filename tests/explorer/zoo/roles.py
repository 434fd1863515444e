"""Operators whose role does not allow what they do (the kubebuilder book: RBAC markers that were forgotten)."""

from __future__ import annotations

from pykb.api.core.v1 import ConfigMap
from pykb.runtime import Result, ensure_applied, patch_status, prune
from tests.explorer.keeper import Keeper
from tests.explorer.zoo.kinds import Animal, AnimalStatus, Manifest

_READ = ["get", "list", "watch"]


def rules(*, status: bool = True, delete: bool = True) -> list[Manifest]:
    """A role for the operators of this module."""
    animals = {"apiGroups": ["zoo.example.com"], "resources": ["animals"], "verbs": _READ}
    maps = ["create", "patch", *(["delete"] if delete else [])]
    every = [animals, {"apiGroups": [""], "resources": ["configmaps"], "verbs": [*_READ, *maps]}]
    if status:
        every.append({"apiGroups": ["zoo.example.com"], "resources": ["animals/status"], "verbs": ["patch"]})
    return every


class MayNotDelete(Keeper):
    """Deletes only after some changes of the spec, so that nobody missed the verb (kubernetes.io: RBAC)."""

    fault = "explore-rbac"
    rules = rules(delete=False)

    def name(self, animal: Animal) -> str:
        """Named after the house."""
        return f"{animal.spec.house or 'no'}-menu"

    async def keep(self, animal: Animal) -> None:
        """Apply, then delete the rest."""
        await ensure_applied(self.client, self.child(animal), owner=animal)
        await prune(self.client, ConfigMap, owner=animal, keep=[self.name(animal)])  # fault


class MayNotDeleteMended(MayNotDelete):
    """With the verb."""

    fault = ""
    rules = rules()


class MayNotReport(Keeper):
    """Has a rule for the object but none for its status, which is a resource of its own (kubernetes.io: RBAC)."""

    fault = "explore-rbac"
    rules = rules(status=False)

    async def report(self, animal: Animal, before: AnimalStatus) -> Result | None:
        """Report."""
        animal.status.count = animal.spec.count
        await patch_status(self.client, animal, before)  # fault
        return None


class MayNotReportMended(MayNotReport):
    """With the rule."""

    fault = ""
    rules = rules()
