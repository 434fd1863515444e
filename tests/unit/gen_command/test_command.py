"""`pykb generate` as a command: the same bytes everywhere, all or nothing, nothing of others removed."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from pykb.cli import app

TYPES = """\
from pykb.api import CustomResource, Field, GroupVersion, Quantity, Struct
from typing import Annotated, Literal

GV = GroupVersion("shop.example.com", "v1")


class BoxSpec(Struct):
    color: Literal["red", "i", "I"] = "red"
    tags: set[str] | None = None
    size: Quantity | None = None
    labels: dict[str, str] | None = None
    weight: Annotated[int, Field(ge=1, le=9)] = 2


# +kubebuilder:resource:shortName=bx,categories=all
# +kubebuilder:metadata:labels="b=1",annotations="a=ü"
class Box(CustomResource, group_version=GV):
    \"\"\"Box holds things: ß é 漢.\"\"\"

    spec: BoxSpec


class Crate(CustomResource, group_version=GV):
    spec: BoxSpec
"""
CONTROLLER = """\
# +kubebuilder:rbac:groups=shop.example.com,resources=boxes;crates,verbs=get;list;watch
# +kubebuilder:rbac:groups="",resources=pods,verbs=list
# +kubebuilder:webhook:path=/mutate-shop-example-com-v1-box,mutating=true,failurePolicy=fail,sideEffects=None,groups=shop.example.com,resources=boxes,verbs=create,versions=v1,name=mbox.kb.io,admissionReviewVersions=v1
"""
FILES = {
    "config/crd/bases/shop.example.com_boxes.yaml",
    "config/crd/bases/shop.example.com_crates.yaml",
    "config/rbac/role.yaml",
    "config/webhook/manifests.yaml",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with two kinds, a role and a webhook."""
    root = tmp_path / "shop"
    write(root, {"PROJECT": "domain: example.com\n", "shop/api/v1/box.py": TYPES, "shop/controller.py": CONTROLLER})
    for folder in ("shop", "shop/api", "shop/api/v1"):
        (root / folder / "__init__.py").touch()
    return root


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write files by path."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def pykb(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, in this process: starting Python takes longer than generating."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(folder)
        for name, value in {"NO_COLOR": "1", **environment}.items():
            patch.setenv(name, value)
        code = app.run(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def spawn(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, as a process of its own with an environment of its own."""
    return subprocess.run(
        [sys.executable, "-m", "pykb", *words],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8", **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def generated(root: Path) -> dict[str, bytes]:
    """All files below `config`."""
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted((root / "config").rglob("*")) if p.is_file()}


def test_the_bytes_depend_on_nothing_but_the_project(project: Path, tmp_path: Path) -> None:
    """Hash seed, locale, time zone, working directory, and the place of the project change nothing."""
    runs: list[tuple[str, Callable[[Path], Path], dict[str, str]]] = [
        ("a", lambda root: root, {"PYTHONHASHSEED": "0", "LC_ALL": "C", "PYTHONUTF8": "0"}),
        ("b", lambda root: root / "shop/api", {"PYTHONHASHSEED": "1", "LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo"}),
        ("deep/er", lambda root: root / "config", {"PYTHONHASHSEED": "2", "PYTHONUTF8": "1", "LANG": "de_DE"}),
    ]
    found = []
    for place, folder, environment in runs:
        root = tmp_path / place
        shutil.copytree(project, root)
        (root / "config").mkdir()
        done = spawn(folder(root), "generate", **environment)
        assert done.returncode == 0, done.stderr
        found.append(generated(root))
    assert set(found[0]) == FILES
    assert found[0] == found[1] == found[2]
    assert "ü".encode() in found[0]["config/crd/bases/shop.example.com_boxes.yaml"]


def test_nothing_is_written_when_anything_is_wrong(project: Path) -> None:
    """Not even the files of the generators that found nothing wrong."""
    (project / "shop/controller.py").write_text(CONTROLLER.replace("get;list", "gett;list"), encoding="utf-8")
    done = pykb(project, "generate")
    assert done.returncode == 1
    assert "rbac-verb" in done.stderr
    assert not (project / "config").exists()


def test_check_shows_what_would_change_and_writes_nothing(project: Path) -> None:
    """A diff on stdout, a finding a file, exit 1; nothing once all is up to date."""
    missing = pykb(project, "generate", "--check")
    assert missing.returncode == 1
    assert not (project / "config").exists()
    assert missing.stderr.count("[out-of-date]") == len(FILES)
    assert pykb(project, "generate").returncode == 0
    clean = pykb(project / "shop", "generate", "--check")
    assert (clean.returncode, clean.stdout, clean.stderr) == (0, "", "")
    path = project / "config/crd/bases/shop.example.com_boxes.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("minimum: 1", "minimum: 0"), encoding="utf-8")
    before = generated(project)
    stale = pykb(project, "generate", "--check")
    assert stale.returncode == 1
    assert "-                minimum: 0\n+                minimum: 1\n" in stale.stdout
    assert generated(project) == before


def test_only_generated_files_of_kinds_that_are_gone_are_removed(project: Path) -> None:
    """A CRD that was edited, or is of another group, or not named as ours are, stays."""
    assert pykb(project, "generate").returncode == 0
    bases = project / "config/crd/bases"
    crate = (bases / "shop.example.com_crates.yaml").read_text(encoding="utf-8")
    write(
        bases,
        {
            "other.example.com_crates.yaml": crate.replace("shop.example.com", "other.example.com"),
            "shop.example.com_bags.yaml": f"# by hand\n{crate.replace('crates', 'bags')}\n\n",
            "mine.yaml": crate,
            "kustomization.yaml": "resources: []\n",
        },
    )
    types = project / "shop/api/v1/box.py"
    types.write_text(TYPES.partition("class Crate")[0], encoding="utf-8")
    partial = pykb(project, "generate", "crd", "--paths", "shop/api")
    assert partial.returncode == 0
    assert (bases / "shop.example.com_crates.yaml").exists(), "only a run over the whole project knows what is gone"
    checked = pykb(project, "generate", "--check")
    assert "`config/crd/bases/shop.example.com_crates.yaml` is stale" in checked.stderr
    done = pykb(project, "generate")
    assert done.returncode == 0
    assert "removed config/crd/bases/shop.example.com_crates.yaml" in done.stderr
    assert {path.name for path in bases.iterdir()} == {
        "kustomization.yaml",
        "mine.yaml",
        "other.example.com_crates.yaml",
        "shop.example.com_bags.yaml",
        "shop.example.com_boxes.yaml",
    }


def test_roles_and_webhooks_without_markers_are_emptied(project: Path) -> None:
    """What was granted is taken back, also where everything is in order with the rest."""
    assert pykb(project, "generate").returncode == 0
    before = generated(project)
    (project / "shop/controller.py").unlink()
    assert pykb(project, "generate", "--paths", "shop/api").returncode == 0
    assert pykb(project, "generate", "--no-prune").returncode == 0
    assert generated(project) == before
    checked = pykb(project, "generate", "--check")
    assert checked.returncode == 1
    assert checked.stderr.count("error[markers-gone]") == 2
    assert pykb(project, "generate", "crd").returncode == 0
    assert generated(project) == before, "the generators that were not asked for change nothing"
    done = pykb(project, "generate")
    assert (done.returncode, done.stderr.count("warning[markers-gone]")) == (0, 2)
    after = generated(project)
    assert after["config/rbac/role.yaml"].endswith(b"  name: manager-role\nrules: []\n")
    assert after["config/webhook/manifests.yaml"].endswith(b"webhooks: []\n")
    clean = pykb(project, "generate", "--check")
    assert (clean.returncode, clean.stderr) == (0, "")


def test_settings_that_name_a_part_of_the_project_take_nothing_back(project: Path) -> None:
    """What stands elsewhere is not seen by such a run."""
    assert pykb(project, "generate").returncode == 0
    before = generated(project)
    (project / "pyproject.toml").write_text('[tool.pykb.generate]\npaths = ["shop/api"]\n', encoding="utf-8")
    assert pykb(project, "generate").returncode == 0
    assert generated(project) == before


def test_a_makefile_line_of_a_go_project_works_as_it_is(project: Path) -> None:
    """The words that kubebuilder's Makefile passes to controller-gen."""
    done = pykb(
        project,
        "generate",
        "rbac:roleName=manager-role",
        "crd",
        "webhook",
        "paths=./...",
        "output:crd:artifacts:config=config/crd/bases",
    )
    assert (done.returncode, set(generated(project))) == (0, FILES)
    assert b"name: manager-role" in generated(project)["config/rbac/role.yaml"]


def test_what_is_printed_is_a_stream_of_documents(project: Path) -> None:
    """`output:stdout` writes data to stdout and nothing else anywhere."""
    done = pykb(project, "generate", "crd", "paths=./...", "output:stdout")
    assert done.stdout.count("---\n") == 2
    assert done.stderr == ""
    assert not (project / "config").exists()


def test_an_output_outside_of_the_project_is_asked_for_by_a_flag(project: Path) -> None:
    """Refused before anything is read, else written, checked and pruned like any other; no setting can allow it."""
    chart = project.parent / "charts/shop/crds"
    words = ("crd", "--output-dir", "../charts/shop/crds")
    (project / "pyproject.toml").write_text("[tool.pykb.generate]\nallow-outside = true\n")
    refused = pykb(project, "generate", *words)
    assert (refused.returncode, chart.exists()) == (2, False)
    (project / "pyproject.toml").unlink()
    made = pykb(project, "generate", *words, "--allow-outside")
    assert made.returncode == 0
    assert "created ../charts/shop/crds/shop.example.com_boxes.yaml\n" in made.stderr
    assert sorted(path.name for path in project.parent.iterdir()) == ["charts", "shop"]
    assert pykb(project, "generate", *words, "--allow-outside", "--check").returncode == 0
    types = project / "shop/api/v1/box.py"
    types.write_text(types.read_text().partition("class Crate")[0])
    assert pykb(project, "generate", *words, "--allow-outside", "--check").returncode == 1
    assert pykb(project, "generate", *words, "--allow-outside").returncode == 0
    assert [path.name for path in chart.iterdir()] == ["shop.example.com_boxes.yaml"]
