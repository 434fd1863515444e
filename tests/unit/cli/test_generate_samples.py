"""Samples that do not fit their types, and other warnings: `--strict` and `--check` fail."""

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
def test_each_warning_counts(pykb, project: Path, option: str) -> None:
    """A path of the scale subresource that leads nowhere, for instance."""
    assert pykb(*MACHINE, "--no-make").code == 0
    types = project / "sealvm/api/v1/machine_types.py"
    text = types.read_text(encoding="utf-8")
    status = "# +kubebuilder:subresource:status\n"
    scale = "# +kubebuilder:subresource:scale:specpath=.spec.count,statuspath=.status.nothing\n"
    text = text.replace(status, status + scale).replace("    foo: ", "    count: int = 1\n\n    foo: ")
    types.write_text(text, encoding="utf-8")
    done = pykb("generate")
    assert (done.code, done.err.count("warning[json-path]")) == (0, 1)
    assert pykb("generate", "--check").code == 1
    done = pykb("generate", option)
    assert (done.code, done.err.count("error[json-path]")) == (1, 1)


WRONG = {
    "not YAML": ("a: [", "is not YAML"),
    "a text": ("hello\n", "another value"),
    "no kind": ("apiVersion: infra.sealyun.com/v1\n", "has no `kind`"),
    "no apiVersion": ("kind: Machine\n", "has no `apiVersion`"),
    "another kind": ("apiVersion: infra.sealyun.com/v1\nkind: Machin\n", "did you mean `Machine`?"),
    "another version": ("apiVersion: infra.sealyun.com/v2\nkind: Machine\n", "has `infra.sealyun.com/v1`"),
    "another group": (
        "apiVersion: infra.sealyn.com/v1\nkind: Machine\n",
        "did you mean `apiVersion: infra.sealyun.com/v1`?",
    ),
    "no group": ("apiVersion: v1\nkind: Machine\n", "did you mean `apiVersion: infra.sealyun.com/v1`?"),
    "in a list": (
        "apiVersion: v1\nkind: List\nitems: [{apiVersion: infra.sealyun.com/v1, kind: Machin}]\n",
        "did you mean `Machine`?",
    ),
    "a kind of Kubernetes": ("apiVersion: apps/v1\nkind: Deploymnet\n", "did you mean `Deployment`?"),
    "JSON": ('{"apiVersion": "infra.sealyun.com/v1", "kind": "Machin"}', "did you mean `Machine`?"),
}


def test_a_sample_of_no_kind_is_an_error(pykb, project: Path) -> None:
    """Nothing is written, with and without `--strict`."""
    assert pykb(*MACHINE, "--no-make").code == 0
    for name, (text, message) in WRONG.items():
        sample = project / f"config/samples/other.{'json' if name == 'JSON' else 'yml'}"
        sample.write_text(text, encoding="utf-8")
        for option in ("", "--strict", "--check"):
            done = pykb(*("generate", option)[: 1 + bool(option)])
            assert (done.code, done.err.count("error[sample-broken]")) == (1, 1), (name, done.err)
            assert message in done.err, name
            assert not CRD.exists()
        sample.unlink()


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ("{name: Not_A_Name}", "expected a DNS subdomain at `metadata.name`"),
        ("{name: 5}", "expected a string at `metadata.name`"),
        ("{labels: {a: b}}", "`metadata.name` is missing"),
        ("{name: machine-sample}", None),
        ("{generateName: machine-}", None),
    ],
)
def test_the_name_of_a_sample_is_judged(pykb, project: Path, metadata: str, reason: str | None) -> None:
    """The API server refuses objects without a name, and names that cannot be in a path."""
    assert pykb(*MACHINE, "--no-make").code == 0
    sample = project / "config/samples/infra_v1_machine.yaml"
    sample.write_text(
        f"apiVersion: infra.sealyun.com/v1\nkind: Machine\nmetadata: {metadata}\nspec: {{}}\n", encoding="utf-8"
    )
    done = pykb("generate", "--strict")
    assert done.code == (0 if reason is None else 1), done.err
    assert done.err.count("error[sample-refused]") == (reason is not None), done.err
    assert reason is None or f"the API server would refuse this sample: {reason}" in done.err


FINE = {
    "kustomization.yaml": "resources: [infra_v1_machine.yaml]\n",
    "empty.yaml": "# nothing\n---\n",
    "patch.yaml": "- {op: remove, path: /spec/foo}\n",
    "secret.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
    "other.yaml": "apiVersion: fleet.example.com/v1\nkind: Machine\nmetadata: {name: a}\n",
    "sister.yaml": "apiVersion: infra.sealyun.com/v1\nkind: Disk\nmetadata: {name: a}\n",
    "notes.txt": "a: [",
}


def test_what_somebody_else_defines_is_not_judged(pykb, project: Path) -> None:
    """Other groups, kinds that PROJECT lists, and files that kubectl does not apply."""
    assert pykb(*MACHINE, "--no-make").code == 0
    external = ("--external-api-path", "disks.api.v1", "--external-api-domain", "sealyun.com", "--resource=false")
    words = ("create", "api", "--group", "infra", "--version", "v1", "--kind", "Disk", *external, "--no-make")
    assert pykb(*words).code == 0
    for name, text in FINE.items():
        (project / "config/samples" / name).write_text(text, encoding="utf-8")
    done = pykb("generate", "--strict")
    assert (done.code, "sample" in done.err) == (0, False), done.err


@pytest.mark.parametrize("option", ["--strict", "--check"])
def test_samples_that_fit_are_fine(pykb, project: Path, option) -> None:
    """Also where there are none."""
    assert pykb("generate").code == 0
    assert pykb("generate", option).code == 0
    assert pykb(*MACHINE, "--no-make").code == 0
    assert pykb("generate").code == 0
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
