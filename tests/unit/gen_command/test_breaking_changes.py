"""When `pykb generate` warns of changes that break stored objects or clients, and what it compares with."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pykb.gen.compat import EXAMPLE
from tests.unit.gen_command.test_command import generated, pykb, write

TYPES = """\
from pykb.api import CustomResource, GroupVersion, Struct

GV = GroupVersion("shop.example.com", "v1")


class BoxSpec(Struct):
{fields}


class Box(CustomResource, group_version=GV):
    spec: BoxSpec
"""
BEFORE, WIDER, BROKEN = "    size: int = 1", "    size: int | str = 1", "    width: int"
GONE = "`spec.size` of `Box` v1 was removed"


def git(folder: Path, *words: str) -> None:
    """Run git as somebody."""
    somebody = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *somebody, *words], cwd=folder, check=True, capture_output=True)


def declare(root: Path, fields: str) -> None:
    """Give the kind these fields."""
    write(root, {"shop/api/v1/box.py": TYPES.format(fields=fields)})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one kind, generated; a folder of a greater one, which is no repository yet."""
    root = tmp_path / "fleet" / "shop"
    write(root, {"PROJECT": "domain: example.com\n"})
    declare(root, BEFORE)
    for folder in ("shop", "shop/api", "shop/api/v1"):
        (root / folder / "__init__.py").touch()
    assert pykb(root, "generate").returncode == 0
    return root


def warnings(root: Path, *words: str) -> int:
    """Generate; the number of warnings."""
    done = pykb(root, "generate", *words)
    assert done.returncode == 0, done.stderr
    return done.stderr.count("warning[breaking-change]")


@pytest.fixture
def committed(project: Path) -> Path:
    """The same in a repository, committed."""
    git(project.parent, "init", "--initial-branch=main")
    git(project.parent, "add", ".")
    git(project.parent, "commit", "--message=first")
    return project


def test_without_a_repository_the_file_tells_what_was_there(project: Path) -> None:
    """Once: when the file is replaced, the change is made."""
    declare(project, BROKEN)
    done = pykb(project, "generate")
    assert (done.returncode, GONE in done.stderr) == (0, True)
    assert warnings(project) == 0


def test_between_two_commits_everything_may_change(committed: Path) -> None:
    """What counts is what was committed last, whatever happened to the file since."""
    declare(committed, BROKEN)
    assert warnings(committed) == 2
    assert warnings(committed) == 2
    declare(committed, f"{BROKEN}\n    depth: int = 1")
    assert warnings(committed) == 2
    declare(committed, WIDER)
    assert warnings(committed) == 0
    declare(committed, BROKEN)
    pykb(committed, "generate")
    git(committed.parent, "commit", "--all", "--message=second")
    declare(committed, f"{BROKEN}\n    height: int = 1")
    assert warnings(committed) == 0


def test_a_change_is_warned_of_until_it_is_committed(committed: Path) -> None:
    """Also by `--strict` and `--check`, which let it pass: it may be meant, and nobody has it yet."""
    declare(committed, BROKEN)
    assert [warnings(committed) for _ in range(3)] == [2, 2, 2]
    for option in ("--strict", "--check"):
        done = pykb(committed, "generate", option)
        assert (done.returncode, done.stderr.count("warning[breaking-change]")) == (0, 2), done.stderr
        assert pykb(committed, "generate", option, "--allow-breaking").stderr == ""
    assert pykb(committed, "generate", "--check-compat", "HEAD").returncode == 1
    git(committed.parent, "commit", "--all", "--message=second")
    for option in ("--strict", "--check"):
        done = pykb(committed, "generate", option)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_a_removed_kind_is_warned_of_while_the_project_lists_it(committed: Path) -> None:
    """First with all that still names it. An entry that was taken out of PROJECT is meant."""
    entry = "resources:\n- {api: {crdVersion: v1}, domain: example.com, group: shop, kind: Box, version: v1}\n"
    text = 'domain: example.com\nlayout: [python.pykb.io/v1]\nprojectName: a\n{}version: "3"\n'
    write(committed, {"PROJECT": text.format(entry)})
    (committed / "shop/api/v1/box.py").write_text("", encoding="utf-8")
    write(committed, {"shop/api/v1/other.py": TYPES.format(fields=BEFORE).replace("Box(", "Crate(")})
    first, second = pykb(committed, "generate").stderr, pykb(committed, "generate").stderr
    assert ("warning[kind-gone]" in first, "breaking-change" in first) == (True, False), first
    assert ("kind-gone" in second, "`boxes.shop.example.com` is no longer generated" in second) == (False, True)
    assert "breaking-change" not in pykb(committed, "generate", "--paths", "shop").stderr
    write(committed, {"PROJECT": text.format("")})
    assert pykb(committed, "generate", "--strict").returncode == 0


def test_a_last_commit_that_cannot_be_read_is_no_clean_bill(committed: Path) -> None:
    """A warning, and an error where warnings count."""
    declare(committed, BROKEN)
    for path in (committed.parent / ".git/objects").glob("??/*"):
        path.unlink()
    done = pykb(committed, "generate")
    assert (done.returncode, "warning[repository-unreadable]" in done.stderr) == (0, True), done.stderr
    assert pykb(committed, "generate", "--check").returncode == 1
    assert pykb(committed, "generate", "--strict").returncode == 1


def test_git_is_asked_once_where_nothing_changed(committed: Path, tmp_path: Path) -> None:
    """And reads only definitions that differ."""
    log = tmp_path / "bin/log"
    write(log.parent, {"git": f'#!/bin/sh\necho "$@" >> {log}\nexec {shutil.which("git")} "$@"\n'})
    (log.parent / "git").chmod(0o755)
    path = f"{log.parent}:{os.environ['PATH']}"
    assert pykb(committed, "generate", PATH=path).returncode == 0
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1
    declare(committed, BROKEN)
    assert "breaking-change" in pykb(committed, "generate", PATH=path).stderr
    assert len(log.read_text(encoding="utf-8").splitlines()) == 1 + 3


def test_what_nobody_has_committed_may_take_any_shape(project: Path) -> None:
    """As long as a kind is being designed."""
    git(project.parent, "init")
    declare(project, BROKEN)
    assert warnings(project) == 0
    git(project.parent, "commit", "--allow-empty", "--message=first")
    declare(project, BEFORE)
    assert warnings(project) == 0


def test_the_example_field_goes_without_a_word(project: Path) -> None:
    """The template has it in these words; nobody has deployed it."""
    template = Path(__file__).parents[3] / "templates/files/api/version/types.py.j2"
    assert EXAMPLE in template.read_text(encoding="utf-8")
    declare(project, f'    foo: str | None = None\n    """{EXAMPLE}Box needs."""')
    pykb(project, "generate")
    declare(project, BROKEN)
    assert warnings(project) == 0


def test_a_file_that_somebody_broke_is_replaced(project: Path) -> None:
    """No server has ever had it."""
    path = project / "config/crd/bases/shop.example.com_boxes.yaml"
    before = path.read_text(encoding="utf-8")
    path.write_text(
        re.sub(r"^( +)default: 1$", r"\g<0>\n\1x-kubernetes-validations: [5]", before, flags=re.MULTILINE), "utf-8"
    )
    declare(project, BEFORE)
    assert warnings(project) == 0
    assert path.read_text(encoding="utf-8") == before


def test_what_is_meant_is_silenced(project: Path) -> None:
    """On the command line, or for the project."""
    declare(project, BROKEN)
    assert warnings(project, "--allow-breaking") == 0
    (project / "pyproject.toml").write_text("[tool.pykb.generate]\nallow-breaking = true\n", encoding="utf-8")
    declare(project, BEFORE)
    assert warnings(project) == 0
    declare(project, BROKEN)
    assert warnings(project, "--no-allow-breaking") == 2


def test_a_revision_is_compared_with_for_machines(committed: Path) -> None:
    """Errors, and nothing written; whether the files are up to date is another question."""
    git(committed.parent, "tag", "v0.1.0")
    assert pykb(committed, "generate", "--check-compat", "v0.1.0").returncode == 0
    declare(committed, BROKEN)
    before = generated(committed)
    done = pykb(committed, "generate", "--check-compat", "v0.1.0")
    assert (done.returncode, f"error[breaking-change]: {GONE}" in done.stderr) == (1, True)
    assert generated(committed) == before
    assert pykb(committed, "generate", "--check-compat", "HEAD", "--allow-breaking").returncode == 0
    pykb(committed, "generate")
    git(committed.parent, "commit", "--all", "--message=second")
    assert pykb(committed, "generate", "--check-compat", "HEAD", "--check").returncode == 0
    assert pykb(committed, "generate", "--check-compat", "v0.1.0", "--check").returncode == 1


def test_a_kind_that_went_since_a_revision_is_missed(committed: Path) -> None:
    """A file of another group in the same folder is nobody's kind."""
    other = (committed / "config/crd/bases/shop.example.com_boxes.yaml").read_text(encoding="utf-8")
    write(committed, {"config/crd/bases/other.yaml": other.replace("shop.example.com", "other.example.com")})
    git(committed.parent, "add", ".")
    git(committed.parent, "commit", "--message=second")
    write(committed, {"shop/api/v1/box.py": TYPES.format(fields=BEFORE).replace("class Box(", "class Crate(")})
    done = pykb(committed, "generate", "--check-compat", "HEAD")
    assert done.returncode == 1
    assert done.stderr.count("error[breaking-change]") == 1
    assert "`boxes.shop.example.com` is no longer generated" in done.stderr


@pytest.mark.parametrize("revision", ["--output=stolen", "-h", "", "HEAD:shop", "main..main", "nowhere", "HEAD\n--all"])
def test_a_revision_is_no_option_of_git(committed: Path, revision: str) -> None:
    """It is one commit, or nothing."""
    done = pykb(committed, "generate", f"--check-compat={revision}")
    assert (done.returncode, "error[git-revision]: git does not know the commit `" in done.stderr) == (1, True), (
        done.stderr
    )
    assert not list(committed.parent.rglob("stolen*"))


def test_without_git_there_are_only_files(project: Path) -> None:
    """And no revisions."""
    git(project.parent, "init")
    declare(project, BROKEN)
    done = pykb(project, "generate", "--check-compat", "HEAD", PATH="/nowhere")
    message = "error[git-revision]: `HEAD` cannot be read: there is no git repository here, or no `git` on PATH\n"
    assert (done.returncode, message in done.stderr) == (1, True)
    assert GONE in pykb(project, "generate", PATH="/nowhere").stderr


@pytest.mark.parametrize(("oldest", "notes"), [("", 0), ('kubernetes = ">=1.30"', 0), ('kubernetes = ">=1.29"', 1)])
def test_servers_without_ratcheting_refuse_more(oldest: str, notes: int, project: Path) -> None:
    """A project that supports some is told."""
    declare(project, BROKEN)
    write(project, {"pyproject.toml": f"[tool.pykb]\n{oldest}\n"})
    shown = pykb(project, "generate").stderr
    assert "`spec.width` of `Box` v1 is new and required" in shown
    assert shown.count("before Kubernetes 1.30, the API server refuses every change of such an object") == notes
