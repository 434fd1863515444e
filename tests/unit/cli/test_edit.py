"""`pykb edit` as a person runs it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from tests.unit.cli.conftest import Pykb, commit

MACHINE = ("--group", "infra", "--version", "v1", "--kind", "Machine")


def test_each_group_gets_its_folders(project: Path, pykb: Pykb) -> None:
    """A plan shows moves as such; git sees the same; a second group can be added then."""
    assert pykb("create", "api", *MACHINE, "--resource", "--controller", "--no-make").code == 0
    assert pykb("generate").code == 0
    commit(project)
    shown = pykb("edit", "--multigroup", "--dry-run").out
    types = "sealvm/api/v1/machine_types.py -> sealvm/api/infra/v1/machine_types.py"
    assert f"move      {types}\n" in shown
    assert "remove" not in shown
    data = json.loads(pykb("edit", "--multigroup", "--dry-run", "--format", "json").out)
    old, new = types.split(" -> ")
    assert {"action": "move", "path": new, "from": old} in data["changes"]
    diff = pykb("edit", "--multigroup", "--diff").out
    subprocess.run(["git", "apply", "--check", "-"], input=diff, check=True, text=True, cwd=project)
    assert pykb("edit", "--multigroup").code == 0
    assert pykb("generate", "--check").code == 0
    other = ("create", "api", "--group", "ship", "--version", "v1", "--kind", "Machine", "--resource", "--controller")
    assert pykb(*other, "--no-make").code == 0
    assert pykb("edit", "--multigroup").err.startswith("note[unchanged]")


def files(project: Path) -> dict[str, bytes]:
    """The files of the project that git tracks or would track."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    shown = subprocess.run(words, cwd=project, check=True, capture_output=True, text=True).stdout
    paths = [path for path in shown.split("\0") if path and (project / path).is_file()]
    return {path: (project / path).read_bytes() for path in sorted(set(paths))}


def test_the_folders_of_one_group_go_again(project: Path, pykb: Pykb) -> None:
    """The project is as before to the byte, with the user's own files and edits where they belong."""
    assert pykb("create", "api", *MACHINE, "--resource", "--controller", "--no-make").code == 0
    assert pykb("create", "webhook", *MACHINE, "--defaulting", "--no-make").code == 0
    deployment = ("--group", "apps", "--version", "v1", "--kind", "Deployment")
    assert pykb("create", "api", *deployment, "--no-resource", "--controller", "--no-make").code == 0
    pod = ("--group", "core", "--version", "v1", "--kind", "Pod")
    assert pykb("create", "webhook", *pod, "--defaulting", "--no-make").code == 0
    controller = project / "sealvm/controllers/machine_controller.py"
    controller.write_text(f"{controller.read_text()}\n\nMINE = 1\n")
    (project / "sealvm/api/v1/own.py").write_text("from sealvm.api.v1 import Machine\n")
    commit(project)
    before = files(project)
    assert pykb("edit", "--multigroup", "--no-make").code == 0
    (project / "sealvm/controllers/infra/helper.py").write_text("from sealvm.api.infra import v1\n")
    commit(project)
    assert pykb("edit", "--no-multigroup", "--no-make").code == 0
    after = files(project)
    assert after.pop("sealvm/controllers/helper.py") == b"from sealvm.api import v1\n"
    assert after == before


def test_an_edited_package_that_two_groups_would_share_stays(project: Path, pykb: Pykb) -> None:
    """Only one of the two files could have the place of both."""
    assert pykb("edit", "--multigroup", "--no-make").code == 0
    assert pykb("create", "api", *MACHINE, "--resource", "--no-controller", "--no-make").code == 0
    for names in (MACHINE, ("--group", "core", "--version", "v1", "--kind", "Pod")):
        assert pykb("create", "webhook", *names, "--defaulting", "--no-make").code == 0
    packages = [f"sealvm/webhooks/{group}/v1/__init__.py" for group in ("infra", "core")]
    (project / packages[1]).write_text("MINE = 1\n")
    commit(project)
    before = files(project)
    ended = pykb("edit", "--no-multigroup", "--no-make")
    both = " and ".join(f"`{path}`" for path in packages)
    assert f"error[not-followed]: {both} would both move to `sealvm/webhooks/v1/__init__.py`\n" in ended.err
    assert (ended.code, files(project)) == (1, before)


def test_an_edited_package_of_a_group_and_a_second_group_stay(project: Path, pykb: Pykb) -> None:
    """Nothing is lost: the command writes nothing."""
    assert pykb("edit", "--multigroup", "--no-make").code == 0
    assert pykb("create", "api", *MACHINE, "--resource", "--controller", "--no-make").code == 0
    package = project / "sealvm/api/infra/__init__.py"
    empty = package.read_text()
    package.write_text(f"{empty}MINE = 1\n")
    commit(project)
    before = files(project)
    ended = pykb("edit", "--no-multigroup")
    assert (ended.code, "error[not-followed]: `sealvm/api/infra/__init__.py` has edits" in ended.err) == (1, True)
    package.write_text(empty)
    (project / "sealvm/controllers/machine_controller.py").write_text("")
    assert "which exists" in pykb("edit", "--no-multigroup").err
    (project / "sealvm/controllers/machine_controller.py").unlink()
    other = ("create", "api", "--group", "ship", "--version", "v1", "--kind", "Machine", "--resource", "--no-make")
    assert pykb(*other).code == 0
    assert "error[groups-fixed]: the project has 2 API groups" in pykb("edit", "--no-multigroup").err
    assert {path: text for path, text in files(project).items() if path in before and "infra" in path} == {
        path: text if path != "sealvm/api/infra/__init__.py" else empty.encode()
        for path, text in before.items()
        if "infra" in path
    }


def test_a_kind_of_kubernetes_with_the_name_of_an_own_one_keeps_the_folders(project: Path, pykb: Pykb) -> None:
    """Both would have the same module and controller."""
    assert pykb("edit", "--multigroup", "--no-make").code == 0
    kinds = (("infra", "Deployment"), ("apps", "Deployment"), ("core", "Pod"))
    for group, kind in kinds:
        names = ("--group", group, "--version", "v1", "--kind", kind)
        resource = "--resource" if group == "infra" else "--no-resource"
        assert pykb("create", "api", *names, resource, "--controller", "--no-make").code == 0
    shown = pykb("edit", "--no-multigroup").err
    assert "the project has 2 API groups, which need folders of their own: apps, infra\n" in shown


def test_without_an_option_there_is_nothing_to_do(project: Path, pykb: Pykb) -> None:
    """And the exit code is that of a wrong command line."""
    del project
    ended = pykb("edit")
    assert ended.code == 2
    assert "error[nothing-to-do]" in ended.err


def test_the_issuer_of_certificates_can_be_switched(project: Path, pykb: Pykb) -> None:
    """A plan writes nothing; a later webhook follows; what is left to do is said."""
    assert pykb("create", "api", *MACHINE, "--resource", "--controller", "--no-make").code == 0
    assert pykb("create", "webhook", *MACHINE, "--defaulting", "--no-make").code == 0
    commit(project)
    wanted = ("edit", "--certificates", "cert-manager", "--no-make")
    shown = pykb(*wanted, "--dry-run").out
    assert "create    config/certmanager/issuer.yaml\n" in shown
    assert "remove    config/certificates/secret.yaml\n" in shown
    diff = pykb(*wanted, "--diff").out
    subprocess.run(["git", "apply", "--check", "-"], input=diff, check=True, text=True, cwd=project)
    ended = pykb(*wanted)
    assert ended.code == 0
    assert "`make deploy` needs cert-manager in the cluster" in ended.err
    assert pykb("create", "webhook", *MACHINE, "--programmatic-validation", "--no-make").code == 0
    assert not (project / "config/certificates").exists()
    assert pykb(*wanted).err.startswith("note[unchanged]")


def test_a_chart_that_is_left_behind_is_mentioned(project: Path, pykb: Pykb) -> None:
    """It is made of what the generator writes after the command. Without a chart there is nothing to say."""
    said = "note: `charts/sealvm` is older than this change: `pykb edit --plugins helm` brings it up to date\n"
    create = ("create", "api", *MACHINE, "--resource", "--controller", "--no-make")
    assert said not in pykb(*create).err
    text = (project / "PROJECT").read_text()
    (project / "PROJECT").write_text(text.replace("layout:\n", "layout:\n- helm.pykb.dev/v1\n"))
    (project / "charts/sealvm").mkdir(parents=True)
    for command in (
        ("create", "webhook", *MACHINE, "--defaulting", "--no-make"),
        ("edit", "--certificates", "cert-manager", "--no-make"),
        ("delete", "webhook", *MACHINE, "--no-make"),
    ):
        ended = pykb(*command)
        assert ended.code == 0
        assert said in ended.err
    ended = pykb("edit", "--multigroup", "--dry-run")
    assert ended.code == 0
    assert said not in ended.err
