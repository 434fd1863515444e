"""What the loop runs, and when it applies definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.dev.project import DevProject


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), ("--health-probe-bind-address=0",)),
        (("--log-level=debug",), ("--health-probe-bind-address=0", "--log-level=debug")),
        (("--health-probe-bind-address=:8081",), ("--health-probe-bind-address=:8081",)),
    ],
)
def test_the_manager_serves_no_probes_unless_asked(given: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Two loops on one machine shall not fight for a port; what the user says wins."""
    command = DevProject(Path("/p"), "sealvm", python="python").manager_command(given)
    assert command == ("python", "-m", "sealvm", *expected)


def test_the_digest_changes_with_every_definition(tmp_path: Path) -> None:
    """Added, edited, removed; other files do not count."""
    project = DevProject(tmp_path, "p")
    digests = [project.crds_digest()]
    project.crds.mkdir(parents=True)
    (project.crds / "README.md").write_text("x")
    assert project.crds_digest() == digests[0]
    for name, text in (("a.yaml", "1"), ("b.yaml", "1"), ("a.yaml", "2")):
        (project.crds / name).write_text(text)
        digests.append(project.crds_digest())
    (project.crds / "b.yaml").unlink()
    digests.append(project.crds_digest())
    assert len(set(digests)) == 5
