"""Samples that do not fit their types: `pykb generate` warns, and `--strict` and `--check` fail."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

MACHINE = ("create", "api", "--group", "infra", "--version", "v1", "--kind", "Machine", "--resource", "--controller")
CRD = Path("config/crd/bases/infra.sealyun.com_machines.yaml")


@pytest.mark.parametrize(
    ("option", "code", "severity", "writes"),
    [("", 0, "warning", True), ("--strict", 1, "error", True), ("--check", 1, "error", False)],
)
def test_a_sample_that_does_not_fit_is_reported_once(pykb, project: Path, option, code, severity, writes) -> None:
    """`--strict` writes the manifests all the same: the types are right."""
    assert pykb(*MACHINE, "--no-make").code == 0
    sample = project / "config/samples/infra_v1_machine.yaml"
    sample.write_text(sample.read_text(encoding="utf-8").replace("foo: bar", "foo: 5"), encoding="utf-8")
    done = pykb(*("generate", option)[: 1 + bool(option)])
    assert done.code == code
    assert done.err.count("sample-refused") == 1
    assert f"{severity}[sample-refused]" in done.err
    assert CRD.exists() is writes


@pytest.mark.parametrize("option", ["--strict", "--check"])
def test_samples_that_fit_are_fine(pykb, project: Path, option) -> None:
    """Also where there are none."""
    assert pykb("generate").code == 0
    assert pykb("generate", option).code == 0
    assert pykb(*MACHINE).code == 0
    assert pykb("generate", option).code == 0


def test_make_generates_once(project: Path) -> None:
    """Everything that generation finds is reported once."""
    words = {
        target: subprocess.run(["make", "-n", target], cwd=project, check=True, capture_output=True, text=True).stdout
        for target in ("all", "manifests", "install")
    }
    assert {target: text.count("pykb generate") for target, text in words.items()} == {
        "all": 1,
        "manifests": 1,
        "install": 1,
    }
    assert [target for target, text in words.items() if "generate --strict" in text] == ["all"]
