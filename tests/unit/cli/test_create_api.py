"""`pykb create api`: a kind joins a project, or a clear no with nothing written."""

from __future__ import annotations

import ast
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

MACHINE = ("create", "api", "--group", "infra", "--version", "v1", "--kind", "Machine", "--no-make")
BOTH = ("--resource", "--controller")


def entries(root: Path) -> list[dict[str, object]]:
    """PROJECT's resources."""
    found: list[dict[str, object]] = yaml.safe_load((root / "PROJECT").read_text())["resources"]
    return found


def main_of(root: Path) -> str:
    """The manager's module."""
    return (root / "sealvm/__main__.py").read_text()


def test_an_api_is_added_everywhere_it_belongs(pykb, project: Path, status) -> None:
    """Files, insertions, PROJECT; and what to do next."""
    ended = pykb(*MACHINE, *BOTH)
    assert ended.code == 0
    assert ended.err.endswith(
        "Next: define the fields of Machine in sealvm/api/v1/machine_types.py, then\n"
        "  make dev              # on a control plane of its own\n"
        "  make install run      # or in the cluster of your kubeconfig\n"
    )
    assert sorted(status(project)) == sorted(
        [
            " M PROJECT",
            " M config/crd/kustomization.yaml",
            " M config/rbac/kustomization.yaml",
            " M sealvm/__main__.py",
            "?? config/rbac/machine_admin_role.yaml",
            "?? config/rbac/machine_editor_role.yaml",
            "?? config/rbac/machine_viewer_role.yaml",
            "?? config/samples/infra_v1_machine.yaml",
            "?? config/samples/kustomization.yaml",
            "?? sealvm/api/__init__.py",
            "?? sealvm/api/v1/__init__.py",
            "?? sealvm/api/v1/groupversion.py",
            "?? sealvm/api/v1/machine_types.py",
            "?? sealvm/controllers/__init__.py",
            "?? sealvm/controllers/machine_controller.py",
            "?? tests/controllers/test_machine_controller.py",
            "?? tests/controllers/test_machine_faults.py",
        ]
    )
    assert "bases/infra.sealyun.com_machines.yaml" in (project / "config/crd/kustomization.yaml").read_text()
    assert "    MachineReconciler(manager.client).setup(manager)\n" in main_of(project)
    assert entries(project)[0]["path"] == "sealvm.api.v1"


def test_the_same_command_twice_changes_nothing(pykb, project: Path, status) -> None:
    """It says where the API was scaffolded, and how to go on."""
    assert pykb(*MACHINE, *BOTH).code == 0
    before = {p: p.read_bytes() for p in project.rglob("*") if p.is_file()}
    ended = pykb(*MACHINE, *BOTH)
    assert ended.code == 1
    assert ended.err.startswith("error[resource-exists]: ")
    assert "nothing was written" in ended.err
    assert {p: p.read_bytes() for p in project.rglob("*") if p.is_file()} == before


def test_force_keeps_what_it_overwrites(pykb, project: Path) -> None:
    """The old types are in the backup, and the output says where."""
    assert pykb(*MACHINE, *BOTH).code == 0
    types = project / "sealvm/api/v1/machine_types.py"
    fresh = types.read_text()
    types.write_text(fresh + "# mine\n")
    ended = pykb(*MACHINE, *BOTH, "--force")
    assert ended.code == 0
    assert types.read_text() == fresh
    kept = ended.err.partition("is kept as `")[2].partition("`")[0]
    assert (project / kept).read_text() == fresh + "# mine\n"
    assert pykb(*MACHINE, *BOTH, "--force").err.startswith("note[unchanged]: ")


@pytest.mark.parametrize("flag", ["--dry-run", "--diff"])
def test_looking_first_writes_nothing(pykb, project: Path, status, flag: str) -> None:
    """And shows what would be written on stdout."""
    ended = pykb(*MACHINE, *BOTH, flag)
    assert ended.code == 0
    assert "sealvm/api/v1/machine_types.py" in ended.out
    assert status(project) == []


@pytest.mark.parametrize(
    ("path", "anchor", "line"),
    [
        (
            "sealvm/__main__.py",
            "# +pykb:scaffold:imports",
            "from sealvm.controllers.machine_controller import MachineReconciler",
        ),
        ("sealvm/__main__.py", "    # +pykb:scaffold:builder", "MachineReconciler(manager.client).setup(manager)"),
        (
            "config/crd/kustomization.yaml",
            "# +pykb:scaffold:crdkustomizeresource",
            "- bases/infra.sealyun.com_machines.yaml",
        ),
        ("config/rbac/kustomization.yaml", "# +pykb:scaffold:rbackustomizeresource", "- machine_admin_role.yaml"),
    ],
)
def test_a_missing_anchor_stops_before_writing(pykb, project: Path, status, path: str, anchor: str, line: str) -> None:
    """The lines to paste are given; pasted where they belong, the command works."""
    file = project / path
    file.write_text(file.read_text().replace(f"{anchor}\n", ""))
    before = status(project)
    ended = pykb(*MACHINE, *BOTH)
    assert ended.code == 1
    assert f"error[anchor-missing]: `{path}` has no" in ended.err
    assert line in ended.err
    assert status(project) == before


def test_every_missing_place_is_said_in_one_run(pykb, project: Path) -> None:
    """A file that is gone, one that is broken, one without its anchor."""
    (project / "config/crd/kustomization.yaml").unlink()
    (project / "config/rbac/kustomization.yaml").write_text("resources: [\n")
    (project / "sealvm/__main__.py").write_text("x = 1\n")
    ended = pykb(*MACHINE, *BOTH)
    assert ended.code == 1
    for code in ("file-missing", "file-broken", "anchor-missing"):
        assert f"error[{code}]" in ended.err


def test_an_edit_of_the_user_in_a_file_of_ours_is_kept(pykb, project: Path, status) -> None:
    """A file in the way of a new one: refused, untouched."""
    mine = project / "sealvm/controllers/machine_controller.py"
    mine.parent.mkdir()
    mine.write_text("# mine\n")
    ended = pykb(*MACHINE, *BOTH)
    assert ended.code == 1
    assert "error[file-exists]" in ended.err
    assert mine.read_text() == "# mine\n"
    assert status(project) == ["?? sealvm/controllers/machine_controller.py"]


def test_a_controller_for_a_type_of_kubernetes(pykb, project: Path) -> None:
    """No CRD, no sample; scope and plural are the type's own."""
    words = (
        "create",
        "api",
        "--group",
        "apps",
        "--version",
        "v1",
        "--kind",
        "Deployment",
        "--no-resource",
        "--controller",
    )
    assert pykb(*words, "--no-make").code == 0
    assert entries(project) == [
        {
            "controller": True,
            "core": True,
            "group": "apps",
            "kind": "Deployment",
            "path": "pykb.api.apps.v1",
            "version": "v1",
        }
    ]
    text = (project / "sealvm/controllers/deployment_controller.py").read_text()
    assert "from pykb.api.apps.v1 import Deployment" in text
    assert "groups=apps,resources=deployments,verbs=" in text
    assert not (project / "config/samples").exists()


@pytest.mark.parametrize(
    ("group", "version", "kind", "domain"),
    [
        ("core", "v1", "Pod", None),
        ("networking", "v1", "Ingress", "k8s.io"),
        ("networking.k8s.io", "v1", "Ingress", "k8s.io"),
        ("rbac.authorization", "v1", "Role", "k8s.io"),
    ],
)
def test_groups_of_kubernetes_have_their_domains(
    pykb, project: Path, group: str, version: str, kind: str, domain: str | None
) -> None:
    """By the short names that kubebuilder takes, and by the full ones."""
    words = ("create", "api", "--group", group, "--version", version, "--kind", kind, "--no-resource", "--controller")
    assert pykb(*words, "--no-make").code == 0
    assert entries(project)[0].get("domain") == domain
    ast.parse((project / f"sealvm/controllers/{kind.lower()}_controller.py").read_text())


@pytest.mark.parametrize(
    ("group", "version", "kind", "text"),
    [
        ("apps", "v1", "Deploymet", "`--kind Deployment`"),
        ("apps", "v1beta1", "Deployment", "`--version v1`"),
        ("imagepolicy", "v1alpha1", "ImageReview", "--external-api-path"),
    ],
)
def test_a_type_that_kubernetes_does_not_have_is_said(
    pykb, project: Path, status, group: str, version: str, kind: str, text: str
) -> None:
    """With the nearest one."""
    words = ("create", "api", "--group", group, "--version", version, "--kind", kind, "--no-resource", "--controller")
    ended = pykb(*words)
    assert ended.code == 2
    assert text in ended.err
    assert status(project) == []


def test_a_controller_for_a_type_of_another_package(pykb, project: Path) -> None:
    """Its module is imported, its group is in the RBAC markers."""
    words = ("--group", "certs", "--version", "v1", "--kind", "Issuer", "--external-api-path", "certs.api.v1")
    ended = pykb("create", "api", *words, "--external-api-domain", "example.io", "--no-make")
    assert ended.code == 0
    assert entries(project)[0]["external"] is True
    text = (project / "sealvm/controllers/issuer_controller.py").read_text()
    assert "from certs.api.v1 import Issuer" in text
    assert "groups=certs.example.io,resources=issuers" in text


def test_a_second_controller_has_a_name(pykb, project: Path) -> None:
    """PROJECT lists both, the class is named after it; the name is taken from then on."""
    assert pykb(*MACHINE, *BOTH).code == 0
    named = (*MACHINE, "--no-resource", "--controller")
    assert "error[controller-exists]" in pykb(*named).err
    assert pykb(*named, "--controller-name", "machine-cleaner").code == 0
    assert entries(project)[0]["controllers"] == [{"name": "machine"}, {"name": "machine-cleaner"}]
    assert "MachineCleanerReconciler(manager.client).setup(manager)" in main_of(project)
    for name in ("machine-cleaner", "machinecleaner", "machine"):
        assert "error[controller-name]" in pykb(*named, "--controller-name", name).err


def test_the_name_of_a_second_controller_says_that_one_is_wanted(pykb, project: Path) -> None:
    """Nobody types `--controller` as well, and without a terminal nobody is asked."""
    assert pykb(*MACHINE, *BOTH).code == 0
    assert pykb(*MACHINE, "--no-resource", "--controller-name", "machine-cleaner").code == 0
    assert entries(project)[0]["controllers"] == [{"name": "machine"}, {"name": "machine-cleaner"}]


HANDLERS = """\
import os
import kopf
import kubernetes
import pykube
from kubernetes.client.rest import ApiException

PHASES = {'new': 'Pending'}


@kopf.on.create('machines')
def create_fn(spec, name, namespace, logger, **kwargs):
    size = spec.get('size')
    if not size:
        raise kopf.PermanentError("a size is needed, got %r" % size)
    text = open(os.path.join(os.path.dirname(__file__), 'claim.yaml'), 'rt').read()
    data = {'text': text.format(name=name)}
    kopf.adopt(data)
    try:
        made = kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace=namespace, body=data)
    except ApiException as e:
        raise kopf.TemporaryError("no claim", delay=5)
    return {'claim': made.metadata.name}


@kopf.on.field('machines', field='metadata.labels')
def fn(diff, status: dict, **kwargs):
    return dict(labels={field[0]: new for op, field, old, new in diff})


@kopf.on.event('pods')
def fn(event, type, id=None, **kwargs):
    if type == 'DELETED' or id == None:
        return None
    else:
        return helper(event, [])


@kopf.timer('machines', interval=10.0)
async def tickTock(memo: kopf.Memo, retry, **kwargs):
    memo.count = memo.get('count', 0) + 1


@kopf.daemon('machines')
def watch(stopped, spec: dict, **_) -> None:
    stopped.wait(spec.get('pause', 10))


def helper(event, seen=[]):
    return lambda: seen.append(event)
"""


def test_handlers_in_kopfs_manner_pass_the_checks_of_the_project(pykb, project: Path, mypy_cache: Path) -> None:
    """Without types, with arguments that hide builtins, and libraries without types: a moved operator starts like that."""
    assert pykb(*MACHINE, *BOTH, "--style", "handlers", "--no-make").code == 0
    handlers = project / "sealvm/controllers/machine_handlers.py"
    handlers.write_text(HANDLERS, encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff"]
    for words in (("check", "-q", "--select", "I", "--fix", "."), ("format", "-q", "."), ("check", ".")):
        done = subprocess.run([*ruff, *words], cwd=project, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    mypy = [sys.executable, "-m", "mypy", "--cache-dir", mypy_cache]
    done = subprocess.run(mypy, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "unused section" not in done.stderr
    module = '  "*.machine_handlers",\n'
    settings = project / "pyproject.toml"
    assert settings.read_text(encoding="utf-8").count(module) == 1
    settings.write_text(settings.read_text(encoding="utf-8").replace(module, ""), encoding="utf-8")
    done = subprocess.run(mypy, cwd=project, capture_output=True, text=True, check=False)
    assert "no-untyped-def" in done.stdout


def test_settings_of_ones_own_do_not_stop_handlers(pykb, project: Path) -> None:
    """Without the anchor, the list of modules is the user's affair."""
    settings = project / "pyproject.toml"
    lines = settings.read_text(encoding="utf-8").splitlines(keepends=True)
    text = "".join(line for line in lines if "scaffold:handlers" not in line)
    settings.write_text(text, encoding="utf-8")
    assert pykb(*MACHINE, *BOTH, "--style", "handlers", "--no-make").code == 0
    assert settings.read_text(encoding="utf-8") == text


def test_handlers_are_scaffolded_for_kopf(pykb, project: Path) -> None:
    """`--style handlers`: no reconciler, an import that registers them."""
    assert pykb(*MACHINE, *BOTH, "--style", "handlers").code == 0
    assert (project / "sealvm/controllers/machine_handlers.py").exists()
    assert "from sealvm.controllers import machine_handlers as machine_handlers\n" in main_of(project)
    ast.parse(main_of(project))


def test_one_controller_serves_all_versions(pykb, project: Path, status) -> None:
    """Not asked and not told, a second version gets none; told to make one, the command says why not."""
    assert pykb(*MACHINE, *BOTH).code == 0
    second = tuple(w.replace("v1", "v2") for w in MACHINE)
    assert "`--no-controller`" in pykb(*second, *BOTH).err
    ended = pykb(*second, "--resource")
    assert ended.code == 0
    assert "Create a controller? [y/N]: no (no terminal to ask)" in ended.err


@pytest.mark.parametrize("settings", ["[tool.ruff]\nline-length = 79", "[tool.black]\nline-length = 79"])
def test_code_is_as_wide_as_the_project_asks(pykb, project: Path, settings: str) -> None:
    """By the settings of Ruff or Black, also where lines join a file that is there."""
    pyproject = project / "pyproject.toml"
    rest = (
        pyproject.read_text()
        .replace("[tool.ruff]\nline-length = 120\n", "[tool.mine]\n")
        .replace("[tool.ruff.", "[tool.r.")
    )
    pyproject.write_text(f"{rest}\n{settings}\n")
    kind = "CertificateSigningAuthority"
    words = ("--group", "infra", "--version", "v1", "--kind", kind, "--no-make")
    assert pykb("create", "api", *words, *BOTH).code == 0
    assert pykb("create", "webhook", *words, "--defaulting").code == 0
    assert pykb("create", "webhook", *words, "--programmatic-validation", "--validation-path", "/" + "v" * 40).code == 0
    files = ["sealvm/api", "sealvm/controllers", "sealvm/webhooks", "tests/controllers", "tests/webhooks"]
    command = (
        Path(sys.executable).with_name("ruff"),
        "format",
        "--isolated",
        "--no-cache",
        "--diff",
        "--line-length=79",
    )
    done = subprocess.run([*command, *files], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "import (\n    setup_certificatesigningauthority_webhook,\n)\n" in main_of(project)


@pytest.mark.parametrize("sort", ["link", "folder", "none"])
def test_the_projects_settings_are_only_read(pykb, project: Path, tmp_path: Path, sort: str) -> None:
    """They may be those of several projects, outside of this one; where there are none, pykb's own hold."""
    pyproject = project / "pyproject.toml"
    pyproject.rename(tmp_path / "shared.toml")
    if sort == "link":
        pyproject.symlink_to(tmp_path / "shared.toml")
    elif sort == "folder":
        pyproject.mkdir()
    assert pykb(*MACHINE, *BOTH).code == 0


def test_a_second_version_marks_the_first_as_stored(pykb, project: Path) -> None:
    """Exactly one version must say so; what is stored stays as it is."""
    assert pykb(*MACHINE, *BOTH).code == 0
    assert pykb(*(w.replace("v1", "v2") for w in MACHINE), "--resource", "--no-controller").code == 0
    assert "# +kubebuilder:storageversion\nclass Machine(" in (project / "sealvm/api/v1/machine_types.py").read_text()
    assert "storageversion" not in (project / "sealvm/api/v2/machine_types.py").read_text()
    kustomization = (project / "config/crd/kustomization.yaml").read_text()
    assert kustomization.count("machines.yaml") == 1


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--group", "other", "--version", "v1", "--kind", "Disk"), "multigroup-off"),
        (("--version", "v1", "--kind", "Disk"), "multigroup-off"),
        (("--group", "infra", "--version", "v2", "--kind", "Machine", "--plural", "machineries"), "resource-conflict"),
        (("--group", "infra", "--version", "v2", "--kind", "Machine", "--no-namespaced"), "resource-conflict"),
        (("--group", "infra", "--version", "v1", "--kind", "MACHINE"), "resource-conflict"),
        (("--group", "infra", "--version", "v1", "--kind", "MachineList"), "resource-conflict"),
        (("--group", "infra", "--version", "v1", "--kind", "Engine", "--plural", "machines"), "resource-conflict"),
        (("--group", "infra", "--version", "v1", "--kind", "Disk", "--external-api-path", "a.b"), "flag-conflict"),
        (("--group", "infra", "--version", "v1", "--kind", "Disk", "--external-api-domain", "b.c"), "flag-required"),
        (("--group", "infra", "--version", "v1", "--kind", "Request"), "kind-taken"),
        (("--group", "infra", "--version", "v1", "--kind", "Warning"), "kind-taken"),
        (("--group", "infra", "--kind", "Disk"), "flag-required"),
        (("--group", "infra", "--version", "v1", "--kind", "Disk", "--plugins", "unheard"), "plugin-unknown"),
    ],
)
def test_what_the_project_cannot_take_is_refused(
    pykb, project: Path, status, words: tuple[str, ...], code: str
) -> None:
    """Each rule, with nothing written."""
    assert pykb(*MACHINE, *BOTH).code == 0
    before = {p: p.read_bytes() for p in project.rglob("*") if p.is_file()}
    ended = pykb("create", "api", *words, *BOTH)
    assert ended.code in {1, 2}
    assert f"error[{code}]" in ended.err
    assert {p: p.read_bytes() for p in project.rglob("*") if p.is_file()} == before


def test_nothing_is_nothing(pykb, project: Path, status) -> None:
    """Kubebuilder adds an empty entry to PROJECT here."""
    ended = pykb(*MACHINE, "--resource=false", "--controller=false")
    assert "error[nothing-to-do]" in ended.err
    assert status(project) == []


def test_groups_in_folders_of_their_own(pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Multigroup: the same kind twice, a group with dots, one that is a keyword of Python."""
    root = tmp_path / "fleet"
    root.mkdir()
    monkeypatch.chdir(root)
    assert pykb("init", "--domain", "example.com", "--multigroup").code == 0
    for group in ("infra", "sea.ports", "import", "sea-lanes", "3d"):
        words = ("create", "api", "--group", group, "--version", "v1", "--kind", "Machine", "--no-make", *BOTH)
        assert pykb(*words).code == 0, group
    made = {p.parent.parent.name for p in root.rglob("machine_types.py")}
    assert made == {"infra", "sea_ports", "import_", "sea_lanes", "_3d"}
    text = (root / "fleet/__main__.py").read_text()
    ast.parse(text)
    for name in (
        "MachineReconciler",
        "SeaPortsMachineReconciler",
        "ImportMachineReconciler",
        "SeaLanesMachineReconciler",
        "MachineReconciler3D",
    ):
        assert text.count(f"    {name}(manager.client).setup(manager)\n") == 1
    roles = yaml.safe_load((root / "config/rbac/kustomization.yaml").read_text())["resources"]
    assert "sea_ports_machine_admin_role.yaml" in roles
    text = (root / "fleet/controllers/sea_ports/machine_controller.py").read_text()
    assert 'named("sea-ports-machine")' in text, "names of controllers are unique in the process"
    clash = pykb("create", "api", "--group", "sea.lanes", "--version", "v1", "--kind", "Disk", "--no-make", *BOTH)
    assert "would share the folder `sea_lanes`" in clash.err


def test_a_protected_group_is_marked_and_said(pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API server refuses such CRDs without the annotation."""
    root = tmp_path / "fleet"
    root.mkdir()
    monkeypatch.chdir(root)
    assert pykb("init", "--domain", "x-k8s.io", "--project-name", "fleet").code == 0
    assert "protected" not in pykb(*MACHINE, *BOTH, "--dry-run").err
    (root / "PROJECT").write_text((root / "PROJECT").read_text().replace("x-k8s.io", "k8s.io"))
    ended = pykb(*MACHINE, *BOTH)
    assert ended.code == 0
    assert "note[protected-group]" in ended.err
    assert "api-approved.kubernetes.io" in (root / "fleet/api/v1/machine_types.py").read_text()


def test_the_command_works_from_a_folder_below(pykb, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PROJECT is looked for upwards, and places are shown as seen from here."""
    below = project / "config/rbac"
    monkeypatch.chdir(below)
    assert pykb(*MACHINE, *BOTH).code == 0
    assert (project / "sealvm/api/v1/machine_types.py").exists()
    assert "--> ../../PROJECT:" in pykb(*MACHINE, *BOTH).err


def test_projects_of_others_are_left_alone(pykb, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No project, a Go project, a broken PROJECT: each said for what it is."""
    monkeypatch.chdir(tmp_path)
    assert "error[project-missing]" in pykb(*MACHINE, *BOTH).err
    (tmp_path / "PROJECT").write_text('version: "3"\nprojectName: a\nlayout:\n- go.kubebuilder.io/v4\n')
    assert "error[project-layout]" in pykb(*MACHINE, *BOTH).err
    (tmp_path / "PROJECT").write_text("layout: [\n")
    assert "error[project-syntax]" in pykb(*MACHINE, *BOTH).err


def test_without_a_terminal_nobody_is_asked(pykb, project: Path) -> None:
    """Both questions are answered yes, in a line each; nothing waits for an input that never comes."""
    ended = pykb(*MACHINE)
    assert ended.code == 0
    assert ended.err.count("yes (no terminal to ask)") == 2


@pytest.mark.parametrize("redirect", ["<&-", "</dev/null"])
def test_a_closed_stdin_never_hangs(project: Path, redirect: str) -> None:
    """Started by a program that gives no stdin at all."""
    script = f"{sys.executable} -m pykb {' '.join(MACHINE)} --dry-run {redirect}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "machine_types.py" in done.stdout


def test_on_a_terminal_the_questions_are_asked(project: Path) -> None:
    """y, n, nonsense and return: asked again only after nonsense."""
    primary, secondary = pty.openpty()
    words = [sys.executable, "-m", "pykb", *MACHINE, "--dry-run"]
    child = subprocess.Popen(words, stdin=secondary, stderr=secondary, stdout=subprocess.PIPE, text=True)
    os.close(secondary)
    shown = _type(primary, ["perhaps\n", "n\n", "\n"])
    out, _ = child.communicate(timeout=60)
    os.close(primary)
    assert shown.count("[Y/n]") == 3
    assert "please answer y or n" in shown
    # Without the resource there is nothing that the controller could be for.
    assert child.returncode == 2
    assert out == ""


def test_the_end_of_the_input_is_no_answer(project: Path) -> None:
    """Ctrl-D at a question leaves the command, as Ctrl-C does. It does not take the default."""
    primary, secondary = pty.openpty()
    words = [sys.executable, "-m", "pykb", *MACHINE, "--dry-run"]
    child = subprocess.Popen(words, stdin=secondary, stderr=secondary, stdout=subprocess.PIPE, text=True)
    os.close(secondary)
    shown = _type(primary, ["\x04"])
    out, _ = child.communicate(timeout=60)
    os.close(primary)
    assert shown.count("[Y/n]") == 1
    assert (child.returncode, out) == (130, "")


def test_nobody_is_asked_in_vain(pykb, project: Path) -> None:
    """A command whose words are wrong says so, all at once, before it asks anything."""
    ended = pykb("create", "api", "--group", "infra", "--kind", "machine")
    assert ended.code == 2
    assert "(no terminal to ask)" not in ended.err
    assert "error[kind-name]" in ended.err
    assert "error[flag-required]: `--version` is missing" in ended.err


def test_a_kind_of_ones_own_that_kubernetes_has_is_said(pykb, project: Path) -> None:
    """`--group apps --kind Deployment` without `--no-resource` makes another Deployment than most people mean."""
    ended = pykb("create", "api", "--group", "apps", "--version", "v1", "--kind", "Deployment", *BOTH, "--dry-run")
    assert ended.code == 0
    assert "warning[kind-taken]: `Deployment` is also a kind of Kubernetes, in the group `apps`" in ended.err
    assert "`--no-resource`" in ended.err
    ended = pykb("create", "api", "--group", "apps", "--version", "v1", "--kind", "Store", *BOTH, "--dry-run")
    assert "warning" not in ended.err


def _type(primary: int, answers: list[str]) -> str:
    shown = ""
    deadline = time.monotonic() + 60
    for answer in answers:
        count = shown.count("]: ")
        while shown.count("]: ") == count and time.monotonic() < deadline:
            shown += os.read(primary, 1000).decode()
        os.write(primary, answer.encode())
    while time.monotonic() < deadline:
        try:
            more = os.read(primary, 1000).decode()
        except OSError:  # EIO: the child closed its end
            break
        if not more:
            break
        shown += more
    return shown


@pytest.mark.parametrize("words", [(), ("--no-make",)])
def test_findings_as_json_are_one_document(pykb, project: Path, words: tuple[str, ...]) -> None:
    """Those of the generator, which runs as a process of its own, and those about it; nothing where there are none."""
    create = ("create", "api", "--version", "v1", *BOTH, "--format", "json", *words, "--kind")
    assert json.loads(pykb(*create, "Machine").err) == []
    types = project / "sealvm/api/v1/machine_types.py"
    types.write_text(types.read_text() + "# +kubebuilder:nothing\n")
    found = [finding["code"] for finding in json.loads(pykb(*create, "Disk").err or "[]")]
    assert found == ([] if words else ["marker-unknown", "generate-failed"])


def test_ctrl_c_while_the_manifests_are_generated_says_what_is_left_to_do(
    pykb, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The API is there, so the same command would refuse it."""
    del project

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "run", interrupted)
    ended = pykb(*MACHINE[:-1], *BOTH)
    assert ended.code == 130
    assert ended.err.endswith("\nthe files were written, but not the manifests: `pykb generate`\n\ninterrupted\n")


@pytest.mark.parametrize(
    "words",
    [
        ("--group", "Infra", "--version", "v1", "--kind", "Disk"),
        ("--group", "other", "--version", "v1", "--kind", "Disk"),
        ("--group", "infra", "--version", "v1", "--kind", "Machine"),
    ],
    ids=["bad name", "second group", "is there"],
)
def test_nobody_is_asked_where_no_answer_helps(pykb, project: Path, words: tuple[str, ...]) -> None:
    """Where every answer ends in an error, the error comes at once."""
    assert pykb(*MACHINE, *BOTH).code == 0
    ended = pykb("create", "api", *words)
    assert ended.code != 0
    assert ended.err.startswith("error[")


def test_a_kind_of_kubernetes_in_a_project_of_one_group_needs_no_second_group(pykb, project: Path) -> None:
    """What was meant is most likely a controller without a CRD."""
    assert pykb(*MACHINE, *BOTH).code == 0
    ended = pykb("create", "api", "--group", "apps", "--version", "v1", "--kind", "Deployment", *BOTH)
    assert "help: for a controller of Kubernetes' own kind: `--no-resource`\n" in ended.err


def test_a_version_starts_as_a_copy_of_another(pykb, project: Path) -> None:
    """Types and sample are those of the source, in the new group version; what marks one version is not copied."""
    assert pykb(*MACHINE, *BOTH).code == 0
    types, sample = project / "sealvm/api/v1/machine_types.py", project / "config/samples/infra_v1_machine.yaml"
    own = types.read_text().replace("    foo: str", "    # +kubebuilder:validation:MaxLength=9\n    size: str")
    types.write_text(
        own.replace("# +kubebuilder:subresource", "# +kubebuilder:deprecatedversion\n# +kubebuilder:subresource")
    )
    sample.write_text(sample.read_text().replace("foo: bar", "size: big"))
    words = ("create", "api", "--group", "infra", "--version", "v2", "--kind", "Machine", "--from", "v1", "--no-make")
    assert pykb(*words, "--no-controller").code == 0
    copied = (project / "sealvm/api/v2/machine_types.py").read_text()
    assert copied == own.replace("sealvm.api.v1.groupversion", "sealvm.api.v2.groupversion")
    assert "+kubebuilder:storageversion" in types.read_text()
    written = (project / "config/samples/infra_v2_machine.yaml").read_text()
    assert written == sample.read_text().replace("infra.sealyun.com/v1", "infra.sealyun.com/v2")
    assert pykb("generate", "--check").code == 1
    assert pykb("generate").code == 0


def test_names_of_the_project_are_completed(pykb, spawn, project: Path) -> None:
    """Groups, versions and kinds that PROJECT lists; a broken PROJECT completes nothing and says nothing."""
    assert pykb(*MACHINE, *BOTH).code == 0

    def completed(line: str) -> list[str]:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        done = spawn([], env={**os.environ, "_PYKB_COMPLETE": "complete_bash", **words}, cwd=project)
        assert done.stderr == ""
        return done.stdout.split()

    assert completed("pykb create api --group ") == ["infra"]
    assert completed("pykb create api --from v") == ["v1"]
    assert completed("pykb create webhook --kind Ma") == ["Machine"]
    assert completed("pykb create webhook --version v2") == []
    (project / "PROJECT").write_text("[[")
    assert completed("pykb create api --kind ") == []
