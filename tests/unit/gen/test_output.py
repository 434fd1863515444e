"""Files are written all or not at all; stale ones of ours go, those of users stay."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics, EnvironmentProblem
from pykb.files.apply import apply
from pykb.files.plan import Plan, plan_of
from pykb.gen import output
from pykb.gen.output import Artifact, OutputRules, check_places, common_folder, texts
from pykb.gen.prune import emptied, stale_crds

CRD = """\
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: olds.example.com
spec:
  group: example.com
  names:
    plural: olds
"""


def artifacts(text: str = "x") -> dict[str, tuple[Artifact, ...]]:
    """One file of one generator."""
    return {"crd": (Artifact("a.yaml", ({"k": text},)),)}


def plan(root: Path, rules: OutputRules, text: str = "x", found: Diagnostics | None = None) -> Plan:
    """What it takes to write those artifacts."""
    return plan_of(root, texts(root, artifacts(text), rules), Diagnostics() if found is None else found)


def write(root: Path, files: dict[str, str | None]) -> list[str]:
    """Give files these texts; the paths of those that changed."""
    found = Diagnostics()
    plan = plan_of(root, files, found)
    assert not found
    assert apply(plan) is None
    return [change.path for change in plan.changes]


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    """The same artifacts need no change, and the file is not touched."""
    rules = OutputRules({"crd": "out"})
    first = plan(tmp_path, rules)
    assert [change.path for change in first.changes] == ["out/a.yaml"]
    apply(first)
    assert plan(tmp_path, rules).is_empty
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.yaml"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]


def test_nothing_is_written_when_a_folder_appears_in_the_place_of_a_file(tmp_path: Path) -> None:
    """One in the place of the second file leaves the first as it was."""
    (tmp_path / "a.yaml").write_text("before")
    plan = plan_of(tmp_path, {"a.yaml": "after", "b.yaml": "after"}, Diagnostics())
    (tmp_path / "b.yaml").mkdir()
    with pytest.raises(EnvironmentProblem, match=r"b\.yaml"):
        apply(plan)
    assert (tmp_path / "a.yaml").read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.yaml", "b.yaml"]


def test_a_link_to_a_file_of_another_project_is_not_written_through(tmp_path: Path) -> None:
    """Nor replaced: it is said."""
    (tmp_path / "mine").write_text("before")
    (tmp_path / "p").mkdir()
    (tmp_path / "p/a.yaml").symlink_to("../mine")
    found = Diagnostics()
    assert plan_of(tmp_path / "p", {"a.yaml": "after"}, found).is_empty
    assert [d.code.slug for d in found] == ["path-outside"]


def test_the_mode_of_a_file_is_kept(tmp_path: Path) -> None:
    """A replaced file is as readable as before, a new one as the umask says."""
    (tmp_path / "a.yaml").write_text("before")
    (tmp_path / "a.yaml").chmod(0o640)
    before = os.umask(0o027)
    try:
        write(tmp_path, {"a.yaml": "after", "b.yaml": "after"})
    finally:
        os.umask(before)
    assert (tmp_path / "a.yaml").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "b.yaml").stat().st_mode & 0o777 == 0o640


def test_output_cannot_leave_the_project(tmp_path: Path) -> None:
    """A directory above the project is refused before the work, and once more by what writes."""
    found, rules = (
        Diagnostics(),
        OutputRules({"crd": "../elsewhere", "rbac": "../printed"}, printed=frozenset({"rbac"})),
    )
    assert [d.code.slug for d in check_places(tmp_path, rules, ("crd", "rbac"))] == ["generate-path-outside"]
    assert plan(tmp_path, rules, found=found).is_empty
    assert [d.code.slug for d in found] == ["path-outside"]


def test_output_may_leave_the_project_when_told_so(tmp_path: Path) -> None:
    """Everything is one transaction below the folder that project and outputs have in common."""
    (tmp_path / "p").mkdir()
    rules = OutputRules({"crd": "../charts/crds"})
    below = common_folder(tmp_path / "p", rules, ("crd",))
    assert below == tmp_path
    files = texts(tmp_path / "p", artifacts(), rules, below=below)
    assert apply(plan_of(below, files, Diagnostics())) is None
    assert [path.parent for path in tmp_path.rglob("*.yaml")] == [tmp_path / "charts/crds"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["charts", "p"]
    assert common_folder(tmp_path / "p", OutputRules({"crd": "config"}), ("crd",)) == tmp_path / "p"


@pytest.mark.parametrize(
    ("blocked", "message"),
    [
        ("out", "`out` is a file, but must be a folder"),
        ("out/deep", "`out/deep` is a file, but must be a folder"),
        ("out/deep/a.yaml/", "`out/deep/a.yaml` is a folder, but must be a file"),
    ],
)
def test_what_stands_in_the_way_is_said_before_anything_is_written(tmp_path: Path, blocked: str, message: str) -> None:
    """A file where a folder must be, or the other way."""
    place = tmp_path / blocked
    place.parent.mkdir(parents=True, exist_ok=True)
    place.mkdir() if blocked.endswith("/") else place.touch()
    found = Diagnostics()
    assert plan(tmp_path, OutputRules({"crd": "out/deep"}), found=found).is_empty
    assert [d.message for d in found] == [message]


def test_check_shows_the_difference_and_names_the_file(tmp_path: Path) -> None:
    """A unified diff, and one finding a file."""
    rules = OutputRules({"crd": "out"})
    write(tmp_path, {"out/a.yaml": "---\nk: old\n"})
    diff, found = output.check(plan(tmp_path, rules, "new"))
    assert (
        diff
        == "diff --git a/out/a.yaml b/out/a.yaml\n--- a/out/a.yaml\n+++ b/out/a.yaml\n@@ -1,2 +1,2 @@\n ---\n-k: old\n+k: new\n"
    )
    assert [d.message for d in found] == ["`out/a.yaml` does not match the types"]


def test_printed_and_discarded_generators_write_no_files(tmp_path: Path) -> None:
    """`output:stdout` and `output:none`."""
    rules = OutputRules(printed=frozenset({"crd"}), discarded=frozenset({"rbac"}))
    files = {**artifacts(), "rbac": artifacts()["crd"]}
    assert texts(tmp_path, files, rules) == {}
    assert output.printed(files, rules) == "---\nk: x\n"


@pytest.mark.parametrize(
    ("name", "text", "groups", "is_stale"),
    [
        ("example.com_olds.yaml", CRD, {"example.com"}, True),
        ("example.com_olds.yaml", "# A header.\n" + CRD, {"example.com"}, True),
        ("example.com_olds.yaml", CRD, {"other.com"}, False),  # a group that is none of the project's
        ("olds.yaml", CRD, {"example.com"}, False),  # a name of the user's own
        ("example.com_others.yaml", CRD, {"example.com"}, False),  # not the CRD that the name promises
        ("example.com_olds.yaml", CRD.replace("plural: olds", "plural:   olds"), {"example.com"}, False),  # edited
        ("example.com_olds.yaml", CRD + "  # mine\n", {"example.com"}, False),
        ("example.com_olds.yaml", "{", {"example.com"}, False),
        ("example.com_olds.yaml", CRD + "---\nkind: Other\n", {"example.com"}, False),
    ],
)
def test_only_files_that_a_generator_wrote_are_stale(
    name: str, text: str, groups: set[str], is_stale: bool, tmp_path: Path
) -> None:
    """Name, content, group and every byte have to say that nobody wrote it by hand."""
    (tmp_path / "crds").mkdir()
    (tmp_path / "crds" / name).write_text(text)
    found = stale_crds(tmp_path, "crds", [], lambda: frozenset(groups))
    assert found == ([f"crds/{name}"] if is_stale else [])
    assert stale_crds(tmp_path, "crds", [name], lambda: frozenset(groups)) == []


ROLE = """\
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: manager-role
rules:
- apiGroups:
  - ""
  resources:
  - pods
  verbs:
  - get
"""
NONE = ROLE.partition("rules:")[0] + "rules: []\n"
IN_NAMESPACE = ROLE.replace("ClusterRole", "Role").replace("manager-role", "manager-role\n  namespace: system")
HOOKS = """\
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata:
  name: validating-webhook-configuration
webhooks:
- name: vbox.kb.io
"""


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (ROLE, NONE),
        ("# A header.\n" + ROLE, "# A header.\n" + NONE),
        (
            ROLE + IN_NAMESPACE,
            NONE + NONE.replace("ClusterRole", "Role").replace("role\n", "role\n  namespace: system\n"),
        ),
        (HOOKS, HOOKS.partition("webhooks:")[0] + "webhooks: []\n"),
        (NONE, None),
        ("", None),
        (ROLE.replace("name: manager-role", "name:  manager-role"), None),  # edited
        (ROLE + "# mine\n", None),
        (ROLE.replace("metadata:\n", "metadata:\n  labels:\n    a: b\n"), None),  # no generator writes labels
        (ROLE + "---\nkind: Other\n", None),
        (ROLE + "aggregationRule: {}\n", None),
        ("---\n{", None),
    ],
)
def test_only_what_a_generator_wrote_is_emptied(text: str, after: str | None, tmp_path: Path) -> None:
    """Names and namespaces stay, so that bindings and kustomizations that name them still hold."""
    (tmp_path / "role.yaml").write_text(text)
    assert emptied(tmp_path, "role.yaml") == after


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """Nothing is emptied where nothing was."""
    assert emptied(tmp_path, "role.yaml") is None


def test_a_link_is_never_stale(tmp_path: Path) -> None:
    """No generator makes one."""
    (tmp_path / "crds").mkdir()
    (tmp_path / "real.yaml").write_text(CRD)
    (tmp_path / "crds/example.com_olds.yaml").symlink_to("../real.yaml")
    assert stale_crds(tmp_path, "crds", [], lambda: frozenset({"example.com"})) == []
    (tmp_path / "role").write_text(ROLE)
    (tmp_path / "role.yaml").symlink_to("role")
    assert emptied(tmp_path, "role.yaml") is None
