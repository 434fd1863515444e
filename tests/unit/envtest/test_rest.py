"""The kubeconfig of a local control plane, as its own client reads it."""

from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.rest import Rest


def test_a_kubeconfig_that_is_too_deep_is_said_with_its_line(tmp_path: Path) -> None:
    """The C parser would end the process."""
    path = tmp_path / "kubeconfig"
    path.write_text("kind: Config\nclusters: " + "[" * 50_000)
    with pytest.raises(EnvironmentProblem) as caught:
        Rest.from_kubeconfig(path)
    assert caught.value.diagnostic.notes == ("it is nested more than 100 levels deep, in line 2",)
