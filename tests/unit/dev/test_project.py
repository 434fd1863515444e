"""What the loop runs, and when it applies definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.dev.project import PROBES_OFF, RECONCILE_LINES, DevProject
from pykb.meta.gvk import GroupKind


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), (PROBES_OFF, RECONCILE_LINES)),
        (("--log-level=debug",), (PROBES_OFF, RECONCILE_LINES, "--log-level=debug")),
        (("--health-probe-bind-address=:8081",), (RECONCILE_LINES, "--health-probe-bind-address=:8081")),
        (("--log-format", "json"), (PROBES_OFF, "--log-format", "json")),
        (("--zap-encoder=json",), (PROBES_OFF, "--zap-encoder=json")),
    ],
)
def test_the_users_flags_win(given: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Two loops on one machine shall not fight for a port, so there are no probes. The log has a line a reconcile."""
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


def test_flags_of_webhooks_come_before_the_users(tmp_path: Path) -> None:
    """Of two flags the last one counts."""
    command = DevProject(tmp_path, "sealvm", python="python").manager_command(("--webhook-port=1",), ("--x", "--y"))
    assert command == ("python", "-m", "sealvm", PROBES_OFF, RECONCILE_LINES, "--x", "--y", "--webhook-port=1")


PROJECT = """\
domain: example.com
layout: [python.pykb.dev/v1]
projectName: p
repo: p
version: "3"
resources:
- {group: infra, domain: example.com, kind: A, version: v1, webhooks: {conversion: true, spoke: [v2]}}
- {group: infra, domain: example.com, kind: B, version: v1, webhooks: {defaulting: true}}
- {group: infra, domain: example.com, kind: C, version: v1}
"""


def test_converted_kinds_are_those_that_project_says(tmp_path: Path) -> None:
    """Nothing where it cannot be read: generating has told why."""
    project = DevProject(tmp_path, "p")
    assert project.converted_kinds() == frozenset()
    (tmp_path / "PROJECT").write_text(PROJECT)
    assert project.converted_kinds() == {GroupKind("infra.example.com", "A")}
    (tmp_path / "PROJECT").write_text("a: [")
    assert project.converted_kinds() == frozenset()
