"""The cluster of a development loop."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.dev.loop import open_target
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.reporter import Silent
from pykb.files.state import opened


def test_a_second_loop_of_a_project_takes_nothing_away_from_the_first(tmp_path: Path) -> None:
    """The kubeconfig of the first stays what another shell was told; the second says how both can work."""
    kubeconfig = tmp_path / ".pykb/dev/kubeconfig"
    kubeconfig.parent.mkdir(parents=True)
    kubeconfig.write_text("of the first")
    with opened(tmp_path) as state, state.lock("dev.lock") as free:
        assert free
        with pytest.raises(EnvironmentProblem) as refused, open_target(tmp_path, None, Silent()):
            pass
    assert refused.value.diagnostic.code.slug == "dev-running"
    assert "`pykb cluster up`" in refused.value.diagnostic.help[1]
    assert kubeconfig.read_text() == "of the first"
