"""Contexts that a kubeconfig does not have, and clusters that do not answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pykb.deployment.cluster import Cluster, check_answers
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest import get_assets
from pykb.tools.kubectl import Kubectl


@pytest.mark.apiserver
@pytest.mark.parametrize(
    ("context", "message", "help_"),
    [
        ("stagin", "the kubeconfig has no context `stagin`", "a context with a similar name exists: `staging`"),
        ("x", "the kubeconfig has no context `x`", "it has `production`, `staging`"),
        ("staging", "no cluster answers", 'eval "$(pykb cluster up)"   # a local control plane, without Docker'),
        ("", "no cluster answers", 'eval "$(pykb cluster up)"   # a local control plane, without Docker'),
    ],
)
def test_a_context_that_is_missing_is_named(tmp_path: Path, context: str, message: str, help_: str) -> None:
    """A cluster that does not answer is another mistake. The messages are those of the real kubectl."""
    program = get_assets(kubectl=True).kubectl
    assert program is not None
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    contexts = [{"name": name, "context": {"cluster": "c"}} for name in ("staging", "production")]
    config = {"apiVersion": "v1", "kind": "Config", "clusters": [cluster], "contexts": contexts}
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(json.dumps({**config, "current-context": "staging"}))
    with pytest.raises(EnvironmentProblem) as problem:
        check_answers(Cluster(Kubectl(program, kubeconfig, context)))
    found = problem.value.diagnostic
    assert (found.message, found.help[0]) == (message, help_)
