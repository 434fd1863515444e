"""What `edit --replicas` writes, on a real API server: the manifests apply, there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from pykb.api.apps.v1 import Deployment
from pykb.api.policy.v1 import PodDisruptionBudget
from pykb.commands.edit import plan_edit
from pykb.commands.init import plan_project
from pykb.commands.options import Edits, NewProject
from pykb.envtest import ControlPlane, get_assets
from pykb.files.apply import apply
from pykb.files.plan import Plan
from pykb.project.file import read
from pykb.runtime import Client
from pykb.tools.kubectl import build_kustomization

NAMESPACE, NAME = "reef-system", "reef-controller-manager"


def write(plan: Plan | None) -> None:
    """Apply a plan to the project."""
    assert plan is not None
    assert apply(plan) is None


def objects(root: Path) -> list[dict[str, Any]]:
    """What kustomize renders of a project, the namespace first."""
    program = get_assets(kubectl=True).kubectl
    assert program is not None
    rendered = list(yaml.safe_load_all(build_kustomization(root / "config/default", folders=(program.parent,))))
    return sorted(rendered, key=lambda each: each["kind"] != "Namespace")


async def test_the_manifests_apply_both_ways(control_plane: ControlPlane, tmp_path: Path) -> None:
    """Two replicas on different nodes with a budget; then one, with nothing of them left in the Deployment."""
    root = tmp_path / "reef"
    root.mkdir()
    plan, _ = plan_project(NewProject("example.com"), root, year="2026")
    write(plan)
    async with Client.from_kubeconfig(control_plane.kubeconfig) as client:
        for replicas in (2, 1):
            plan, found = plan_edit(Edits(replicas=replicas), read(root)[0], root)
            assert list(found) == []
            write(plan)
            rendered = objects(root)
            for each in rendered:
                await client.apply(each, field_manager="pykb", force=True)
            spec = (await client.get(Deployment, NAME, namespace=NAMESPACE)).spec
            assert spec is not None
            pod = spec.template.spec
            assert pod is not None
            is_several = replicas == 2
            assert spec.replicas == replicas
            assert bool(pod.topology_spread_constraints) is is_several
            assert bool(pod.affinity) is is_several
            assert (pod.priority_class_name == "system-cluster-critical") is is_several
            assert any(each["kind"] == "PodDisruptionBudget" for each in rendered) is is_several
        budget = await client.get(PodDisruptionBudget, NAME, namespace=NAMESPACE)
        assert budget.spec is not None
        assert budget.spec.selector is not None
        await client.delete(budget)
