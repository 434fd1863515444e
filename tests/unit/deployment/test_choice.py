"""Which cluster the commands use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pykb.deployment.cluster import check_can_have_nodes, choose
from pykb.deployment.manifests import render_operator
from pykb.diagnostics import EnvironmentProblem


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a control plane of its own, and a kubectl."""
    program = tmp_path / "bin/kubectl"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "op/.pykb/cluster").mkdir(parents=True)
    (tmp_path / "op/.pykb/cluster/kubeconfig").touch()
    return tmp_path / "op"


def test_a_project_uses_its_own_control_plane(root: Path) -> None:
    """What would reach the cluster of another day goes there."""
    chosen = choose(root, kubeconfig=None, context="", environment={})
    assert chosen.own == ".pykb/cluster/kubeconfig"
    assert chosen.kubectl.kubeconfig == root / ".pykb/cluster/kubeconfig"


def test_the_control_plane_of_the_loop_counts_as_well(root: Path) -> None:
    """That of `pykb cluster up` comes first, as `pykb dev` uses it too."""
    (root / ".pykb/dev").mkdir()
    (root / ".pykb/dev/kubeconfig").touch()
    assert choose(root, kubeconfig=None, context="", environment={}).own == ".pykb/cluster/kubeconfig"
    (root / ".pykb/cluster/kubeconfig").unlink()
    assert choose(root, kubeconfig=None, context="", environment={}).own == ".pykb/dev/kubeconfig"


@pytest.mark.parametrize(
    ("kubeconfig", "context", "environment"),
    [(Path("/x"), "", {}), (None, "staging", {}), (None, "", {"KUBECONFIG": __file__})],
)
def test_a_cluster_that_was_chosen_counts_more(
    root: Path, kubeconfig: Path | None, context: str, environment: dict[str, str]
) -> None:
    """By an option or by the environment, which kubectl reads itself."""
    chosen = choose(root, kubeconfig=kubeconfig, context=context, environment=environment)
    assert not chosen.own
    assert (chosen.kubectl.kubeconfig, chosen.kubectl.context) == (kubeconfig, context)
    check_can_have_nodes(chosen)


@pytest.mark.parametrize("names", ["{}/gone", "{}/gone:{}/lost"])
def test_a_kubeconfig_that_does_not_exist_is_named(root: Path, names: str) -> None:
    """Without one, kubectl asks a server on this machine, and says that it was refused. One of several is enough."""
    environment = {"KUBECONFIG": names.format(root, root)}
    with pytest.raises(EnvironmentProblem) as caught:
        choose(root, kubeconfig=None, context="", environment=environment)
    assert caught.value.diagnostic.message.startswith(f"KUBECONFIG names `{root}/gone`")
    (root / "gone").touch()
    assert not choose(root, kubeconfig=None, context="", environment=environment).own


def test_nothing_is_deployed_to_a_control_plane_without_nodes(root: Path) -> None:
    """Unless it was chosen."""
    with pytest.raises(EnvironmentProblem) as problem:
        check_can_have_nodes(choose(root, kubeconfig=None, context="", environment={}))
    assert problem.value.diagnostic.code.slug == "cluster-without-nodes"


@pytest.mark.parametrize("image", ["", "a b", "-x", "x\nkind: Pod", "x@sha256:12", "$(id)"])
def test_what_is_no_image_is_refused(image: str, tmp_path: Path) -> None:
    """It would become a part of the manifests."""
    with pytest.raises(EnvironmentProblem) as problem:
        render_operator(tmp_path, image)
    assert problem.value.diagnostic.code.slug == "image-name"
