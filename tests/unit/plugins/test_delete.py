"""`delete` is the inverse of `create`: it gives back the bytes from before, in any order."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pykb.commands.delete import plan_delete
from pykb.commands.options import NewApi, NewProject, NewWebhook, OldApi, OldWebhook
from pykb.diagnostics import Diagnostics
from pykb.files.plan import Plan
from pykb.plugins import Style
from pykb.project import Certificates
from pykb.project.file import read
from pykb.project.options import ApiOptions
from pykb.project.resource import Operand
from tests.unit.plugins.scaffolding import New, create, start, write

Tree = dict[str, bytes]
Old = OldApi | OldWebhook

OPERAND = Operand("memcached:1.6", ("memcached", "-v"), 11211, 1001)
SHORT = ApiOptions(short_name="short")
ONE_GROUP: tuple[New, ...] = (
    NewApi("infra", "v1beta1", "Machine"),
    NewApi("infra", "v1", "Machine", controller=False, api=ApiOptions("v1beta1")),
    NewWebhook("infra", "v1", "Machine", conversion=True, spoke=("v1beta1",)),
    NewWebhook("infra", "v1", "Machine", validation=True),
    NewWebhook("infra", "v1", "Machine", defaulting=True, defaulting_path="/default-machines"),
    NewApi("infra", "v1", "Disk", namespaced=False, style=Style.HANDLERS),
    NewWebhook("infra", "v1", "Disk", defaulting=True),
    NewApi("infra", "v1", "Disk", resource=False, controller_name="disk-cleaner"),
    NewApi("apps", "v1", "Deployment", resource=False),
    NewWebhook("core", "v1", "Pod", validation=True),
    NewApi("infra", "v1", "Cache", operand=OPERAND, plugins=("deploy-image",)),
    NewApi("infra", "v1", "Cache", resource=False, controller_name="cache-cleaner"),
)
GROUPS: tuple[New, ...] = (
    NewApi("crew", "v1", "Captain"),
    NewWebhook("crew", "v1", "Captain", defaulting=True),
    NewApi("crew", "v1", "Captain", resource=False, controller_name="captain-backup"),
    NewApi("ship", "v1beta1", "Captain", controller=False),
    NewApi("ship", "v1", "Captain"),
    NewWebhook("ship", "v1", "Captain", conversion=True),
    NewWebhook("ship", "v1", "Captain", defaulting=True, validation=True),
    NewApi("sea-creatures", "v1alpha1", "Kraken", plural="kraken", style=Style.HANDLERS, api=SHORT),
    NewApi("crew", "v1", "Cache", operand=OPERAND, plugins=("deploy-image",)),
    NewApi("ship", "v1", "Cache", operand=Operand("redis"), plugins=("deploy-image/v1",), api=SHORT),
    NewApi("apps", "v1", "Deployment", resource=False),
    NewApi("certs", "v1", "Issuer", resource=False, external_api_path="fleet.external", external_api_domain="io"),
)
PROJECTS = {
    "one-group": (NewProject("example.com", project_name="fleet"), ONE_GROUP),
    "groups": (NewProject("example.com", project_name="fleet", multigroup=True), GROUPS),
    "namespaced": (NewProject("example.com", project_name="fleet", namespaced=True, license="none"), ONE_GROUP),
}


def tree(root: Path) -> Tree:
    """Every file and every empty folder of a project."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(".pykb"):
            found |= {name: path.read_bytes()} if path.is_file() else {}
            found |= {f"{name}/": b""} if path.is_dir() and not any(path.iterdir()) else {}
    return found


def plan_of(root: Path, options: Old) -> tuple[Plan | None, Diagnostics]:
    """Plan to delete."""
    project, problems = read(root)
    assert not problems
    if isinstance(options, OldApi):
        return plan_delete(options, project, root)
    return plan_delete(options, project, root)


def delete(root: Path, options: Old) -> None:
    """Delete an API or webhooks."""
    write(*plan_of(root, options))


def inverse(options: New) -> Old:
    """What deletes what the options create."""
    if isinstance(options, NewWebhook):
        return OldWebhook(
            options.group,
            options.version,
            options.kind,
            defaulting=options.defaulting,
            validation=options.validation,
            conversion=options.conversion,
            spoke=options.spoke,
        )
    return OldApi(
        options.group,
        options.version,
        options.kind,
        resource=options.resource,
        controller=options.controller,
        controller_name="" if options.resource else options.controller_name,
    )


@pytest.mark.parametrize("name", PROJECTS)
def test_every_deletion_gives_back_the_bytes_from_before(name: str, tmp_path: Path) -> None:
    """The last thing that was created goes first."""
    options, additions = PROJECTS[name]
    root = start(options, tmp_path / "fleet")
    states = [tree(root)]
    for each in additions:
        create(root, each)
        states.append(tree(root))
    for each in reversed(additions):
        states.pop()
        delete(root, inverse(each))
        assert tree(root) == states[-1], each
    assert len(states) == 1


def whole_entries(additions: tuple[New, ...]) -> list[Old]:
    """The deletion of every entry of PROJECT."""
    names = dict.fromkeys((each.group, each.version, each.kind) for each in additions)
    return [OldApi(*each, controller=True) for each in names]


@pytest.mark.parametrize(("name", "seed"), [("one-group", 0), ("groups", 1)])
def test_entries_go_in_any_order(name: str, seed: int, tmp_path: Path, made: dict[str, tuple[Tree, Path]]) -> None:
    """At the end, the project is as `init` made it. What other entries use is never lost on the way."""
    empty, full = made[name]
    root = tmp_path / "fleet"
    shutil.copytree(full, root)
    waiting = whole_entries(PROJECTS[name][1])
    random.Random(seed).shuffle(waiting)
    while waiting:
        kinds = {(r.group, r.version, r.kind) for r in read(root)[0].resources}
        fitting = [each for each in waiting if (each.group, each.version, each.kind) in kinds]
        delete(root, fitting[0])
        waiting = [each for each in fitting if each != fitting[0]]
    assert tree(root) == empty


def test_webhooks_go_in_any_order(tmp_path: Path, made: dict[str, tuple[Tree, Path]]) -> None:
    """Their configuration goes with the last one."""
    root = tmp_path / "fleet"
    shutil.copytree(made["one-group"][1], root)
    webhooks = [each for each in ONE_GROUP if isinstance(each, NewWebhook)]
    apis = [each for each in ONE_GROUP if isinstance(each, NewApi)]
    plain = start(PROJECTS["one-group"][0], tmp_path / "plain/fleet", *apis)
    random.Random(0).shuffle(webhooks)
    for each in webhooks:
        assert (root / "config/webhook").is_dir()
        delete(root, inverse(each))
    assert tree(root) == tree(plain)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Tree, Path]]:
    """Each project as `init` makes it, and with everything."""
    found = {}
    for name, (options, additions) in PROJECTS.items():
        folder = tmp_path_factory.mktemp(name)
        empty = tree(start(options, folder / "empty/fleet"))
        found[name] = (empty, start(options, folder / "fleet", *additions))
    return found


@pytest.fixture
def machine(tmp_path: Path, made: dict[str, tuple[Tree, Path]]) -> Path:
    """A project with everything, to change."""
    root = tmp_path / "fleet"
    shutil.copytree(made["one-group"][1], root)
    return root


DISK = OldApi("infra", "v1", "Disk")
MACHINE_WEBHOOKS = OldWebhook("infra", "v1", "Machine", defaulting=True, validation=True)


def edit(root: Path, path: str, old: str, new: str) -> None:
    """Edit a file by hand."""
    text = (root / path).read_bytes().decode()
    assert old in text
    (root / path).write_bytes(text.replace(old, new).encode())


def findings(root: Path, options: Old) -> list[tuple[str, str, int]]:
    """The code, path and line of each finding."""
    _, found = plan_of(root, options)
    return [
        (each.code.slug, each.span.path, each.span.line) if each.span else (each.code.slug, "", 0) for each in found
    ]


@pytest.mark.parametrize(
    "path",
    [
        "fleet/controllers/disk_cleaner_controller.py",
        "fleet/webhooks/v1/disk_webhook.py",
        "config/samples/infra_v1_disk.yaml",
    ],
)
def test_an_edited_file_goes_only_by_force_and_into_the_backup(machine: Path, path: str) -> None:
    """Any of those that only this kind has."""
    text = (machine / path).read_text() + "# mine\n"
    (machine / path).write_text(text)
    before = tree(machine)
    assert findings(machine, DISK) == [("edited-by-hand", path, 1)]
    delete(machine, replace(DISK, force=True))
    assert path not in tree(machine)
    assert text in [copy.read_text() for copy in (machine / ".pykb/backup").rglob("*") if copy.is_file()]
    assert set(tree(machine)) < set(before)


def test_another_line_length_is_no_edit(machine: Path) -> None:
    """A formatter has broken the lines of the project. A changed comment or value is an edit."""
    run_ruff = [sys.executable, "-m", "ruff", "format", "--no-cache", "--line-length", "72", "fleet", "tests"]
    before = tree(machine)
    subprocess.run(run_ruff, cwd=machine, check=True, capture_output=True)
    assert tree(machine) != before
    assert findings(machine, DISK) == []
    assert findings(machine, MACHINE_WEBHOOKS) == []
    edit(machine, "fleet/webhooks/v1/disk_webhook.py", "verbs=create;update", "verbs=create")
    assert [slug for slug, *_ in findings(machine, DISK)] == ["edited-by-hand"]


def test_other_line_ends_and_another_licence_are_no_edits(machine: Path) -> None:
    """A formatter or an editor has made them."""
    path = machine / "fleet/api/v1/disk_types.py"
    path.write_bytes(path.read_bytes().replace(b"Licensed under", b"Ours, under").replace(b"\n", b"\r\n"))
    assert findings(machine, DISK) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("(manager.client).setup(manager)", "(manager.client, retries=3).setup(manager)", "edited-by-hand"),
        ("    DiskCleanerReconciler(m", "    if manager:\n        DiskCleanerReconciler(m", ""),
        ("    DiskCleanerReconciler(m", "    one = 1; DiskCleanerReconciler(m", "still-used"),
        (
            "    DiskCleanerReconciler(manager.client)",
            "    used = DiskCleanerReconciler(manager.client)",
            "edited-by-hand",
        ),
    ],
)
def test_an_edited_registration_stops_the_command(machine: Path, old: str, new: str, expected: str) -> None:
    """The line is named as it is on disk."""
    main = "fleet/__main__.py"
    edit(machine, main, "DiskCleanerReconciler" + old if old.startswith("(") else old, _named(old, new))
    cleaner = OldApi("infra", "v1", "Disk", resource=False, controller_name="disk-cleaner")
    lines = (machine / main).read_text().splitlines()
    at = next(number for number, line in enumerate(lines, 1) if "DiskCleanerReconciler(" in line)
    found = findings(machine, cleaner)
    assert {(code, line) for code, _, line in found} <= {(expected, at), ("still-used", at)}
    assert bool(found) == bool(expected)
    if not expected:
        delete(machine, cleaner)
        assert "    if manager:\n        pass\n" in (machine / main).read_text()


def _named(old: str, new: str) -> str:
    return "DiskCleanerReconciler" + new if old.startswith("(") else new


def test_code_that_uses_the_kind_stops_the_command(machine: Path) -> None:
    """Absolute, relative and indirect imports; a use by force is a warning."""
    (machine / "fleet/own.py").write_text(
        "import fleet.api.v1.disk_types\nfrom .api.v1 import Disk\nfrom fleet.api import v1\n\nused = v1.Disk\nkept = v1.Machine\n"
    )
    expected = [("still-used", "fleet/own.py", line) for line in (1, 2, 5)]
    assert findings(machine, DISK) == expected
    assert findings(machine, replace(DISK, force=True)) == expected
    delete(machine, replace(DISK, force=True))


def test_files_of_ones_own_keep_their_packages(machine: Path) -> None:
    """A package with a module of the user's stays, as does an edited `__init__.py`."""
    (machine / "fleet/controllers/naming.py").write_text("PREFIX = 1\n")
    (machine / "config/webhook/service.yaml").write_text("# mine\n")
    (machine / "fleet/webhooks/__init__.py").write_text("SIZE = 1\n")
    for each in whole_entries(ONE_GROUP):
        delete(machine, each)
    left = {path for path in tree(machine) if path.startswith(("fleet/", "config/webhook"))}
    assert left == {
        "config/webhook/service.yaml",
        "fleet/__init__.py",
        "fleet/__main__.py",
        "fleet/controllers/__init__.py",
        "fleet/controllers/naming.py",
        "fleet/webhooks/__init__.py",
    }


def test_edits_around_the_lines_that_go_stay(machine: Path) -> None:
    """In Python and YAML: other lines, comments, order, line ends."""
    edit(
        machine,
        "config/default/kustomization.yaml",
        "- ../webhook\n",
        "# mine\n- ../own\n- ../webhook # why\n- ../last\n",
    )
    edit(machine, "config/crd/kustomization.yaml", "- bases", "# above\n- bases")
    edit(machine, "fleet/__main__.py", "def register", "LIMIT = 1\n\n\ndef register")
    for each in ONE_GROUP:
        if isinstance(each, NewWebhook):
            delete(machine, inverse(each))
    delete(machine, DISK)
    text = (machine / "config/default/kustomization.yaml").read_text()
    assert "# mine\n- ../own\n- ../last\n" in text
    assert "webhook-service" not in text
    assert "LIMIT = 1" in (machine / "fleet/__main__.py").read_text()
    assert "# above" in (machine / "config/crd/kustomization.yaml").read_text()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "        return None\n\n    async def validate_update",
            "        return ['careful']\n\n    async def validate_update",
        ),
        (
            "failurePolicy=fail,sideEffects=None,groups=infra.example.com,resources=machines,verbs=create;update",
            "failurePolicy=ignore",
        ),
    ],
)
def test_an_edited_webhook_in_a_module_that_stays_is_found(machine: Path, old: str, new: str) -> None:
    """The class with its marker is compared."""
    path = "fleet/webhooks/v1/machine_webhook.py"
    edit(machine, path, old, new)
    gone = OldWebhook("infra", "v1", "Machine", validation=True)
    if "ignore" not in new:
        assert [each[:2] for each in findings(machine, gone)] == [("edited-by-hand", path)]
    delete(machine, replace(gone, force=True))
    text = (machine / path).read_text()
    assert "Validator" not in text
    assert "MachineDefaulter" in text


def test_a_controller_can_stay_when_its_version_goes(machine: Path) -> None:
    """It is listed with the version that is left, once it does not use the other."""
    old = OldApi("infra", "v1beta1", "Machine", controller=False)
    assert {slug for slug, *_ in findings(machine, old)} == {"still-used"}
    for path in ("fleet/controllers/machine_controller.py", "tests/controllers/test_machine_controller.py"):
        edit(machine, path, "fleet.api.v1beta1", "fleet.api.v1")
    delete(machine, old)
    (left,) = (each for each in read(machine)[0].resources if each.kind == "Machine")
    assert (left.version, left.controller) == ("v1", True)
    assert (machine / "fleet/controllers/machine_controller.py").exists()
    assert "storageversion" not in (machine / "fleet/api/v1/machine_types.py").read_text()


def test_a_version_of_a_project_without_an_issuer(tmp_path: Path) -> None:
    """The last webhooks go, so the issuer is another one; and the other version may have been copied."""
    options, _ = PROJECTS["one-group"]
    first, second = NewApi("infra", "v1", "Machine"), NewApi("infra", "v2", "Machine", controller=False)
    hook = NewWebhook("infra", "v1", "Machine", defaulting=True, certificates=Certificates.CERT_MANAGER)
    root = start(options, tmp_path / "fleet", first, second, hook)
    edit(root, "PROJECT", "plugins:\n  kustomize.common.pykb.dev/v1:\n    certificates: cert-manager\n", "")
    old = OldApi("infra", "v1", "Machine", controller=True)
    delete(root, old)
    assert not (root / "config/certmanager").exists()
    assert (root / "fleet/api/v2/machine_types.py").exists()


def test_a_project_of_before_the_options_were_recorded(machine: Path) -> None:
    """The style of a controller is that of its files, and types that equal those of another version are a copy."""
    text = (machine / "PROJECT").read_text()
    start, end = text.index("  base.python.pykb.dev/v1:"), text.index("  deploy-image.pykb.dev/v1:")
    (machine / "PROJECT").write_text(text[:start] + text[end:])
    delete(machine, OldWebhook("infra", "v1", "Disk"))
    assert "handlers:\n      - disk\n" in (machine / "PROJECT").read_text()
    delete(machine, DISK)
    delete(machine, OldApi("infra", "v1", "Machine"))
    assert "from:" not in (machine / "PROJECT").read_text()
