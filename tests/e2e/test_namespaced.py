"""A project with everything else: bound to its namespace, several groups, kopf handlers, a built-in kind, a named controller."""

from __future__ import annotations

import pytest

from pykb.envtest import ControlPlane
from tests.e2e.conftest import Shell, deployed, eventually

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(600)]

PROJECT = "harbour"
NAMESPACE = "--namespace=harbour-system"
MADE = ("--resource", "--controller", "--no-make")


def test_scaffold(shell: Shell) -> None:
    """Each command adds to what the others made; the manifests are generated once, at the end."""
    shell.pykb("init", "--domain", "example.com", "--namespaced", "--multigroup")
    shell.pykb("create", "api", "--group", "fleet", "--version", "v1beta1", "--kind", "Ship", *MADE)
    shell.pykb("create", "api", "--group", "cargo", "--version", "v1", "--kind", "Box", "--style", "handlers", *MADE)
    builtin = ("--group", "apps", "--version", "v1", "--kind", "Deployment", "--no-resource", "--controller")
    shell.pykb("create", "api", *builtin, "--controller-name", "cranes", "--no-make")


def test_passes_its_own_checks(shell: Shell) -> None:
    """Format, lint, types and tests are in order."""
    shell.run("make")
    shell.run("make", "test")


def test_deployed_manager_needs_its_namespace_only(shell: Shell, cluster: ControlPlane) -> None:
    """Reconcilers and handlers work with a Role in the operator's namespace: nothing forbidden, nothing seen outside."""
    with deployed(shell, cluster, PROJECT) as manager:
        shell.ctl(NAMESPACE, "apply", "--kustomize", "config/samples")
        manager.prints("harbour-system/ship-sample")
        manager.prints("box-sample")
        manager.prints("harbour-system/harbour-controller-manager")

        def finalizers() -> str:
            return shell.ctl(
                NAMESPACE, "get", "boxes.cargo.example.com", "box-sample", "--output=jsonpath={.metadata.finalizers}"
            )

        eventually(lambda: bool(finalizers()), "kopf holds the object", context=lambda: manager.log)
        shell.ctl("apply", "--kustomize", "config/samples")
        shell.ctl(NAMESPACE, "delete", "--kustomize", "config/samples", "--timeout=60s")
        assert "default/ship-sample" not in manager.log
        shell.ctl("delete", "--kustomize", "config/samples", "--timeout=60s")
