"""`pykb create webhook`: webhooks join a kind, or a clear no with nothing written."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pykb.cli import app
from tests.killing import killed_after, stopping_after
from tests.unit.cli.conftest import commit
from tests.unit.cli.test_create_api import _type as answer

API = ("create", "api", "--group", "infra", "--kind", "Machine", "--resource", "--no-make")
HOOK = ("create", "webhook", "--group", "infra", "--version", "v1", "--kind", "Machine", "--no-make")
CONVERT = (*HOOK, "--conversion")


@pytest.fixture(scope="session")
def versioned(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fresh project with three versions of a kind; to be copied."""
    root = tmp_path_factory.mktemp("versioned") / "sealvm"
    shutil.copytree(pristine, root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for version in ("v1beta1", "v1", "v1alpha1"):
            controller = "--controller" if version == "v1" else "--no-controller"
            assert app.run([*API, "--version", version, controller]) == 0
    commit(root)
    return root


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versioned: Path) -> Path:
    """A project with three versions of a kind, committed to git; the working directory."""
    root = tmp_path / "sealvm"
    shutil.copytree(versioned, root)
    monkeypatch.chdir(root)
    return root


def webhooks(root: Path, version: str = "v1", kind: str = "Machine") -> dict[str, object]:
    """What PROJECT says of the webhooks of a kind."""
    resources = yaml.safe_load((root / "PROJECT").read_text())["resources"]
    (found,) = [r.get("webhooks") for r in resources if (r["version"], r["kind"]) == (version, kind)]
    return dict(found or {})


def hook_of(root: Path, kind: str = "machine", version: str = "v1") -> str:
    """The module of a kind's webhooks."""
    return (root / f"sealvm/webhooks/{version}/{kind}_webhook.py").read_text()


def contents(root: Path) -> dict[Path, bytes]:
    """Every file."""
    return {p: p.read_bytes() for p in root.rglob("*") if p.is_file() and ".git" not in p.parts}


def test_a_webhook_is_added_everywhere_it_belongs(pykb, project: Path, status) -> None:
    """Files, insertions, PROJECT; and what to do next."""
    ended = pykb(*HOOK, "--defaulting", "--programmatic-validation")
    assert ended.code == 0, ended.err
    assert "Next: implement them in sealvm/webhooks/v1/machine_webhook.py, then\n  make test\n" in ended.err
    assert "cert-manager" not in ended.err
    assert "keep " not in ended.err
    assert sorted(status(project)) == sorted(
        [
            " M PROJECT",
            " M config/default/kustomization.yaml",
            " M config/network-policy/kustomization.yaml",
            " M sealvm/__main__.py",
            "?? config/certificates/kustomization.yaml",
            "?? config/certificates/kustomizeconfig.yaml",
            "?? config/certificates/policy.yaml",
            "?? config/certificates/policy_binding.yaml",
            "?? config/certificates/role.yaml",
            "?? config/certificates/role_binding.yaml",
            "?? config/certificates/secret.yaml",
            "?? config/default/manager_webhook_patch.yaml",
            "?? config/network-policy/allow-webhook-traffic.yaml",
            "?? config/prometheus/monitor_authority_patch.yaml",
            "?? config/webhook/kustomization.yaml",
            "?? config/webhook/service.yaml",
            "?? sealvm/webhooks/__init__.py",
            "?? sealvm/webhooks/v1/__init__.py",
            "?? sealvm/webhooks/v1/machine_webhook.py",
            "?? tests/webhooks/v1/test_machine_webhook.py",
        ]
    )
    assert webhooks(project) == {"defaulting": True, "validation": True, "webhookVersion": "v1"}
    main = (project / "sealvm/__main__.py").read_text()
    assert "from sealvm.webhooks.v1.machine_webhook import setup_machine_webhook\n" in main
    assert "    setup_machine_webhook(manager)\n    # +pykb:scaffold:builder\n" in main


def test_cert_manager_is_remembered(pykb, project: Path, status) -> None:
    """Later webhooks have their certificates from it, too, without being asked for it."""
    chosen = pykb(*HOOK, "--defaulting", "--certificates", "cert-manager")
    assert chosen.code == 0, chosen.err
    assert "`make deploy` needs cert-manager" in chosen.err
    assert pykb(*HOOK, "--programmatic-validation").code == 0
    assert pykb(*CONVERT).code == 0
    assert (project / "config/certmanager/issuer.yaml").exists()
    assert not (project / "config/certificates").exists()
    assert "--webhook-cert-path=" in (project / "config/default/manager_webhook_patch.yaml").read_text()
    plugins = yaml.safe_load((project / "PROJECT").read_text())["plugins"]
    assert plugins == {"kustomize.common.pykb.dev/v1": {"certificates": "cert-manager"}}


def test_projects_with_webhooks_keep_cert_manager(pykb, project: Path) -> None:
    """Those that were made before there was a choice do not name it in PROJECT."""
    assert pykb(*HOOK, "--defaulting", "--certificates", "cert-manager").code == 0
    text = (project / "PROJECT").read_text()
    start = text.index("plugins:\n")
    (project / "PROJECT").write_text(text[:start] + text[text.index("projectName:") :])
    assert pykb(*CONVERT).code == 0
    assert not (project / "config/certificates").exists()
    assert (project / "PROJECT").read_text().count("certificates: cert-manager") == 1


def test_the_converted_kinds_are_permitted_once_each(pykb, project: Path) -> None:
    """However often a version is added."""
    assert pykb(*CONVERT, "--spoke", "v1beta1").code == 0
    assert pykb(*CONVERT, "--spoke", "v1alpha1").code == 0
    role = yaml.safe_load((project / "config/certificates/conversion_role.yaml").read_text())
    assert role["rules"][0]["resourceNames"] == ["machines.infra.sealyun.com"]


def test_the_markers_are_kubebuilders(pykb, project: Path) -> None:
    """Word for word, so that tools which read them know them; the generator takes them."""
    assert pykb(*HOOK[:-1], "--defaulting", "--programmatic-validation").code == 0
    text = hook_of(project)
    for verb, mutating, letter in (("mutate", "true", "m"), ("validate", "false", "v")):
        assert (
            f"# +kubebuilder:webhook:path=/{verb}-infra-sealyun-com-v1-machine,mutating={mutating},failurePolicy=fail,"
            "sideEffects=None,groups=infra.sealyun.com,resources=machines,verbs=create;update,versions=v1,"
            f"name={letter}machine-v1.kb.io,admissionReviewVersions=v1\nclass "
        ) in text
    kinds = [d["kind"] for d in yaml.safe_load_all((project / "config/webhook/manifests.yaml").read_text())]
    assert kinds == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]


def test_one_after_the_other_gives_what_both_at_once_give(pykb, project: Path, versioned: Path, tmp_path: Path) -> None:
    """A type that is added later joins the file, PROJECT and the lists, as if it had been there from the start."""
    for flag in ("--programmatic-validation", "--conversion"):
        assert pykb(*HOOK, flag).code == 0
    assert pykb(*HOOK, "--defaulting").code == 0
    slow = contents(project)
    for path in project.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(versioned, project, dirs_exist_ok=True)
    assert pykb(*HOOK, "--defaulting", "--programmatic-validation", "--conversion").code == 0
    quick = contents(project)
    assert slow.keys() == quick.keys()
    differing = {path.name for path in slow if slow[path] != quick[path]}
    assert differing <= {"machine_webhook.py"}  # the order of the classes is that of the commands
    module = slow[project / "sealvm/webhooks/v1/machine_webhook.py"].decode()
    assert sorted(hook_of(project).splitlines()) == sorted(module.splitlines())


def test_what_the_user_wrote_stays(pykb, project: Path) -> None:
    """Only lines are added."""
    assert pykb(*HOOK, "--defaulting").code == 0
    path = project / "sealvm/webhooks/v1/machine_webhook.py"
    mine = path.read_text().replace("it may be called twice for one request.", "mine.\n\n        Really.\n        ")
    path.write_text(mine)
    assert pykb(*HOOK, "--programmatic-validation").code == 0
    after = iter(path.read_text().splitlines())
    imports = "from pykb.runtime import "
    assert all(line in after for line in mine.splitlines() if not line.startswith(imports))


def test_the_hub_is_the_version_that_is_stored(pykb, project: Path) -> None:
    """The marker moves to it, once; every other version gets a converter and a test unless some are named."""
    ended = pykb(*CONVERT)
    assert ended.code == 0, ended.err
    assert "no `--spoke` was given, so all versions without a converter are used: v1beta1, v1alpha1" in ended.err
    marked = [p.parent.name for p in project.glob("sealvm/api/*/machine_types.py") if "storageversion" in p.read_text()]
    assert marked == ["v1"]
    assert webhooks(project) == {"conversion": True, "spoke": ["v1beta1", "v1alpha1"], "webhookVersion": "v1"}
    for version in ("v1alpha1", "v1beta1"):
        text = (project / f"sealvm/api/{version}/machine_conversion.py").read_text()
        assert f"class MachineConverter(Converter[{version}.Machine, v1.Machine]):" in text
        assert (project / f"tests/api/{version}/test_machine_conversion.py").exists()
    assert hook_of(project).count("    builder.with_converter(") == 2
    assert not (project / "tests/webhooks").exists(), "there is no admission to test"
    assert "- manifests.yaml" not in (project / "config/webhook/kustomization.yaml").read_text()


def test_a_spoke_that_is_named_later_joins(pykb, project: Path) -> None:
    """`--spoke` takes several, also joined by commas."""
    assert pykb(*CONVERT, "--spoke", "v1beta1", "--certificates", "cert-manager").code == 0
    before = (project / "sealvm/api/v1beta1/machine_conversion.py").read_text()
    assert pykb(*CONVERT, "--spoke", "v1beta1,v1alpha1").code == 0
    assert webhooks(project)["spoke"] == ["v1beta1", "v1alpha1"]
    assert (project / "sealvm/api/v1beta1/machine_conversion.py").read_text() == before
    targets = (project / "config/default/kustomization.yaml").read_text().count("name: machines.infra.sealyun.com")
    assert targets == 2, "one for the namespace, one for the name"


def test_the_same_command_twice_changes_nothing(pykb, project: Path) -> None:
    """It says so, and how to go on."""
    words = (*HOOK, "--defaulting", "--conversion")
    assert pykb(*words).code == 0
    before = contents(project)
    ended = pykb(*words)
    assert ended.code == 1
    assert ended.err.count("error[webhook-exists]") == 2
    assert contents(project) == before


def test_force_writes_all_again_and_keeps_the_old(pykb, project: Path) -> None:
    """What the kind had stays in the module, also what this command does not name."""
    assert pykb(*HOOK, "--defaulting", "--programmatic-validation").code == 0
    path = project / "sealvm/webhooks/v1/machine_webhook.py"
    fresh = path.read_text()
    path.write_text(fresh + "# mine\n")
    shown = pykb(*HOOK, "--defaulting", "--force", "--diff")
    assert "-# mine" in shown.out
    ended = pykb(*HOOK, "--defaulting", "--force")
    assert ended.code == 0, ended.err
    assert path.read_text() == fresh
    kept = ended.err.partition("is kept as `")[2].partition("`")[0]
    assert (project / kept).read_text() == fresh + "# mine\n"
    assert pykb(*HOOK, "--defaulting", "--force").err.startswith("note[unchanged]: ")


@pytest.mark.parametrize("flag", ["--dry-run", "--diff"])
def test_looking_first_writes_nothing(pykb, project: Path, status, flag: str) -> None:
    """And shows what would be written on stdout."""
    ended = pykb(*HOOK, "--defaulting", flag)
    assert ended.code == 0
    assert "sealvm/webhooks/v1/machine_webhook.py" in ended.out
    assert status(project) == []


def test_paths_of_ones_own(pykb, project: Path) -> None:
    """In the marker, in the code, in PROJECT; another type that is added later leaves them."""
    assert pykb(*HOOK, "--defaulting", "--defaulting-path", "/my/defaults").code == 0
    assert pykb(*HOOK, "--programmatic-validation", "--validation-path", "/my/rules").code == 0
    text = hook_of(project)
    assert "webhook:path=/my/defaults,mutating=true" in text
    assert '    builder.with_defaulter(MachineDefaulter(), path="/my/defaults")\n' in text
    assert '    builder.with_validator(MachineValidator(), path="/my/rules")\n' in text
    assert webhooks(project)["defaultingPath"] == "/my/defaults"
    assert webhooks(project)["validationPath"] == "/my/rules"
    taken = ("--version", "v1beta1", "--defaulting", "--defaulting-path", "/my/rules")
    assert "error[served-path]" in pykb(*HOOK, *taken).err


def test_webhooks_of_two_versions_are_told_apart(pykb, project: Path) -> None:
    """In the manager, and by their names and paths."""
    assert pykb(*HOOK, "--defaulting").code == 0
    assert pykb(*HOOK, "--version", "v1beta1", "--defaulting").code == 0
    main = (project / "sealvm/__main__.py").read_text()
    assert "v1beta1.machine_webhook import setup_machine_webhook as setup_v1beta1_machine_webhook\n" in main
    assert "    setup_machine_webhook(manager)\n    setup_v1beta1_machine_webhook(manager)\n" in main


def test_a_kind_of_kubernetes(pykb, project: Path, status) -> None:
    """By its short group; a warning tells of the manager that waits for itself, with what helps."""
    words = ("create", "webhook", "--group", "core", "--version", "v1", "--kind", "Pod", "--defaulting")
    ended = pykb(*words, "--no-make")
    assert ended.code == 0
    assert "warning[core-webhook]" in ended.err
    text = hook_of(project, "pod")
    assert "from pykb.api.core.v1 import Pod\nfrom pykb.runtime import " in text
    assert 'path=/mutate--v1-pod,mutating=true,failurePolicy=fail,sideEffects=None,groups="",resources=pods,' in text
    assert webhooks(project, "v1", "Pod") == {"defaulting": True, "webhookVersion": "v1"}
    selector = ended.err.partition(",patch=`")[2].partition("`")[0]
    path = project / "sealvm/webhooks/v1/pod_webhook.py"
    path.write_text(text.replace("admissionReviewVersions=v1", f"admissionReviewVersions=v1,patch=`{selector}`"))
    assert pykb("generate").code == 0
    (made,) = yaml.safe_load_all((project / "config/webhook/manifests.yaml").read_text())
    (expression,) = made["webhooks"][0]["namespaceSelector"]["matchExpressions"]
    assert expression["values"] == ["sealvm-system"]


def test_a_kind_of_another_package(pykb, project: Path) -> None:
    """Its module is imported, its group stands in the marker; a second webhook knows it by PROJECT."""
    words = ("create", "webhook", "--group", "certs", "--version", "v1", "--kind", "Issuer", "--no-make")
    external = ("--external-api-path", "certs.api.v1", "--external-api-domain", "example.io")
    assert pykb(*words, *external, "--defaulting").code == 0
    assert pykb(*words, "--programmatic-validation").code == 0
    text = hook_of(project, "issuer")
    assert text.index("from certs.api.v1 import Issuer\n") < text.index("from pykb.runtime import ")
    assert text.count("groups=certs.example.io,resources=issuers") == 2
    assert webhooks(project, "v1", "Issuer")["validation"] is True
    assert not (project / "tests/webhooks/v1").exists()


@pytest.mark.parametrize(
    ("path", "old", "new", "code", "pasted"),
    [
        ("sealvm/__main__.py", "# +pykb:scaffold:imports\n", "", "anchor-missing", "import setup_machine_webhook"),
        (
            "sealvm/__main__.py",
            "    # +pykb:scaffold:builder\n",
            "",
            "anchor-missing",
            "setup_machine_webhook(manager)",
        ),
        ("config/default/kustomization.yaml", "patches:\n", "patches: [\n", "file-broken", ""),
        ("hack/boilerplate.py.txt", "# Copyright", "Copyright", "boilerplate-broken", ""),
    ],
)
def test_a_place_that_is_gone_stops_before_writing(
    pykb, project: Path, path: str, old: str, new: str, code: str, pasted: str
) -> None:
    """The message has what to paste, and nothing was written."""
    file = project / path
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    before = contents(project)
    ended = pykb(*HOOK, "--defaulting")
    assert ended.code == 1
    assert f"error[{code}]" in ended.err
    assert pasted in ended.err
    assert contents(project) == before


@pytest.mark.parametrize(
    "words",
    [
        ("--version", "v1", "--conversion"),
        ("--version", "v1", "--conversion", "--spoke", "v2"),
        ("--version", "v2", "--defaulting"),
    ],
)
def test_the_command_that_makes_a_version_can_be_typed(pykb, project: Path, words: tuple[str, ...]) -> None:
    """Also for a kind that is in no namespace and has a plural of its own."""
    kind = ("--group", "infra", "--kind", "Goose")
    options = ("--plural", "geese", "--no-namespaced", "--resource", "--no-controller", "--no-make")
    assert pykb("create", "api", *kind, "--version", "v1", *options).code == 0
    refused = pykb("create", "webhook", *kind, *words, "--no-make")
    assert refused.code == 1
    told = re.search(r"`pykb (create api [^`]*)`", refused.err)
    assert told is not None
    made = pykb(*told[1].split(), "--no-make")
    assert made.code == 0, made.err
    assert pykb("create", "webhook", *kind, *words, "--no-make").code == 0


def test_several_mistakes_are_said_in_one_run(pykb, project: Path, status) -> None:
    """Names, paths, types."""
    words = ("--kind", "machine", "--defaulting-path", "x", "--spoke", "v2", "--plural", "Machines")
    ended = pykb("create", "webhook", "--group", "infra", *words)
    assert ended.code in {1, 2}
    for text in (
        "`--version` is missing",
        "[kind-name]",
        "[plural-name]",
        "[served-path]",
        "`--defaulting-path` needs `--defaulting`",
        "`--spoke`",
    ):
        assert text in ended.err
    assert "no type of webhook" not in ended.err, "both name the type that they need"
    assert status(project) == []


def test_projects_without_policies_get_none(pykb, project: Path) -> None:
    """Whoever deleted the folder does not want it back."""
    shutil.rmtree(project / "config/network-policy")
    assert pykb(*HOOK, "--defaulting").code == 0
    assert not (project / "config/network-policy").exists()


def test_on_a_terminal_the_types_are_asked_for(project: Path) -> None:
    """Only those that can be had; without a terminal the missing option is an error."""
    primary, secondary = pty.openpty()
    words = [sys.executable, "-m", "pykb", *HOOK, "--dry-run"]
    child = subprocess.Popen(words, stdin=secondary, stderr=secondary, stdout=subprocess.PIPE, text=True)
    os.close(secondary)
    shown = answer(primary, ["n\n", "\n", "\n"])
    out, _ = child.communicate(timeout=60)
    os.close(primary)
    assert "defaulting webhook? [Y/n]" in shown
    assert "conversion webhook? [y/N]" in shown
    assert child.returncode == 0
    assert "machine_webhook.py" in out
    assert "machine_conversion.py" not in out


@pytest.mark.parametrize("answers", ["\n", "n\n"])
def test_on_a_terminal_the_changes_of_a_killed_command_are_asked_about(pykb, project: Path, answers: str) -> None:
    """Return completes them, no undoes them. Also before a command that fails."""
    before = contents(project)
    with killed_after(3):
        pykb(*HOOK, "--defaulting")
    primary, secondary = pty.openpty()
    words = [sys.executable, "-m", "pykb", *HOOK, "--spoke", "none"]
    child = subprocess.Popen(words, stdin=secondary, stderr=secondary, stdout=subprocess.PIPE, text=True)
    os.close(secondary)
    shown = answer(primary, [answers])
    child.communicate(timeout=60)
    os.close(primary)
    assert "files are left, `PROJECT` last. Write them? Else its changes are undone [Y/n]: " in shown
    after = {path: text for path, text in contents(project).items() if ".pykb" not in path.parts}
    assert (after == {path: text for path, text in before.items() if ".pykb" not in path.parts}) is (answers == "n\n")
    assert not (project / ".pykb/transaction").exists()


def test_without_a_terminal_nobody_is_asked(pykb, project: Path) -> None:
    """The flags are named."""
    ended = pykb(*HOOK)
    assert ended.code == 2
    for flag in ("--defaulting", "--programmatic-validation", "--conversion"):
        assert f"`{flag}`" in ended.err


def test_findings_as_json_are_one_document(pykb, project: Path) -> None:
    """Also where the generator, a process of its own, has something to say."""
    assert json.loads(pykb(*HOOK, "--defaulting", "--format", "json").err) == []
    types = project / "sealvm/api/v1/machine_types.py"
    types.write_text(types.read_text() + "# +kubebuilder:nothing\n")
    ended = pykb(*HOOK[:-1], "--programmatic-validation", "--format", "json")
    assert [finding["code"] for finding in json.loads(ended.err)] == ["marker-unknown", "generate-failed"]


def test_the_project_is_as_before_when_it_cannot_be_written(pykb, project: Path) -> None:
    """Interrupted in the middle: what was written is undone."""
    before = contents(project)
    with stopping_after(5, KeyboardInterrupt):
        assert pykb(*HOOK, "--defaulting").code == 130
    after = {path: text for path, text in contents(project).items() if ".pykb" not in path.parts}
    assert after == {path: text for path, text in before.items() if ".pykb" not in path.parts}


def test_a_new_version_of_a_converted_kind_needs_a_converter(pykb, project: Path) -> None:
    """`create api` says so, with the command; that command works."""
    assert pykb(*CONVERT).code == 0
    ended = pykb(*API, "--version", "v2", "--no-controller")
    assert ended.code == 0
    assert "warning[converter-missing]" in ended.err
    command = ended.err.partition("help: `pykb ")[2].partition("`")[0]
    assert pykb(*command.split(), "--no-make").code == 0
    assert webhooks(project)["spoke"] == ["v1beta1", "v1alpha1", "v2"]
    ast.parse(hook_of(project))


def test_a_path_that_would_be_too_long_is_said(pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the group in it, which may be long; a path of one's own helps."""
    root = tmp_path / "long"
    root.mkdir()
    monkeypatch.chdir(root)
    assert pykb("init", "--domain", ".".join(["d" * 60] * 3) + ".io").code == 0
    words = ("--group", "g" * 55, "--version", "v1", "--kind", "Machine", "--no-make")
    assert pykb("create", "api", *words, "--resource", "--no-controller").code == 0
    ended = pykb("create", "webhook", *words, "--defaulting")
    assert "error[served-path]" in ended.err
    flags = ended.err.partition("help: `")[2].partition("`")[0]
    assert flags == "--defaulting-path /mutate-v1-machine"
    assert pykb("create", "webhook", *words, "--defaulting", *flags.split()).code == 0


def test_types_that_are_written_again_stay_the_stored_ones(pykb, project: Path) -> None:
    """`create api --force` on the hub: conversion still goes by way of what is stored."""
    assert pykb(*CONVERT).code == 0
    ended = pykb(*API, "--version", "v1", "--no-controller", "--force")
    assert ended.code == 0, ended.err
    marked = [p.parent.name for p in project.glob("sealvm/api/*/machine_types.py") if "storageversion" in p.read_text()]
    assert marked == ["v1"]
    assert webhooks(project)["conversion"] is True


def test_a_kind_without_a_sample_has_a_test_without_one(pykb, project: Path) -> None:
    """Who deleted the samples gets no test that reads them."""
    shutil.rmtree(project / "config/samples")
    assert pykb(*HOOK, "--defaulting").code == 0
    text = (project / "tests/webhooks/v1/test_machine_webhook.py").read_text()
    assert "samples" not in text
    assert "def test_the_webhooks_are_served" in text


def test_force_writes_only_the_converters_that_are_named(pykb, project: Path) -> None:
    """The module is shared and is written anew; a converter is a file of its own, and often hard work."""
    assert pykb(*CONVERT).code == 0
    mine = {version: project / f"sealvm/api/{version}/machine_conversion.py" for version in ("v1alpha1", "v1beta1")}
    for path in mine.values():
        path.write_text(path.read_text() + "# mine\n")
    assert pykb(*HOOK, "--defaulting", "--force").code == 0
    assert all("# mine" in path.read_text() for path in mine.values())
    assert hook_of(project).count("with_converter(") == 2
    ended = pykb(*CONVERT, "--spoke", "v1beta1", "--force")
    assert ended.code == 0, ended.err
    assert ["# mine" in path.read_text() for path in mine.values()] == [True, False]
    assert "the old `sealvm/api/v1beta1/machine_conversion.py` is kept as" in ended.err
    assert webhooks(project)["spoke"] == ["v1beta1", "v1alpha1"]


@pytest.mark.parametrize(
    "path",
    [
        "sealvm/__main__.py",
        "sealvm/webhooks/v1/machine_webhook.py",
        "config/default/kustomization.yaml",
        "sealvm/api/v1/machine_types.py",
    ],
)
def test_a_file_in_another_encoding_is_left_alone(pykb, project: Path, path: str) -> None:
    """It would come out changed in places that nobody asked to change."""
    assert pykb(*HOOK, "--defaulting").code == 0
    file = project / path
    file.write_bytes("# -*- coding: latin-1 -*- \u00fc\n".encode("latin-1") + file.read_bytes())
    before = contents(project)
    ended = pykb(*CONVERT, "--programmatic-validation")
    assert ended.code == 1
    assert f"error[not-a-file]: `{path}` is not UTF-8 text" in ended.err
    assert contents(project) == before


def test_a_group_called_like_one_of_kubernetes_holds_both(
    pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kind of the project comes first, then Kubernetes' own; a kind of neither is compared with the project's."""
    root = tmp_path / "shop"
    root.mkdir()
    monkeypatch.chdir(root)
    assert pykb("init", "--domain", "example.com").code == 0
    words = ("--group", "apps", "--version", "v1", "--no-make", "--kind")
    assert pykb("create", "api", *words, "Store", "--resource", "--no-controller").code == 0
    for kind in ("Store", "Deployment"):
        assert pykb("create", "webhook", *words, kind, "--defaulting").code == 0
    made = {r["kind"]: r.get("domain") for r in yaml.safe_load((root / "PROJECT").read_text())["resources"]}
    assert made == {"Store": "example.com", "Deployment": None}
    ended = pykb("create", "webhook", *words, "Stor", "--defaulting")
    assert "error[api-missing]" in ended.err
    assert "help: `--kind Store`" in ended.err
    ended = pykb("create", "webhook", "--group", "batch", "--version", "v1", "--kind", "CronJop", "--defaulting")
    assert "help: `--kind CronJob`" in ended.err
