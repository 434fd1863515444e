"""What lies in `.pykb` of a repository of somebody else's is neither followed nor carried out."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from files_killing import run_and_break
from files_swapping import Swapper
from files_trees import Tree
from files_writers import WRITERS

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.files.apply import apply, pending, recover
from pykb.files.durable import Folder
from pykb.files.plan import OutsideError, digest, locate
from pykb.files.state import seal, unseal
from pykb.scaffold.plan import PlanBuilder

Make = Callable[..., Path]
STEP = {"path": "a.txt", "before": "", "after": digest(b"new"), "mode": 0o644, "before_mode": 0, "made_folders": []}


@pytest.fixture(autouse=True)
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def root(make_tree: Make) -> Path:
    """A project, with folders of others beside it."""
    make_tree({"keep": "mine", "deep/keep": "mine"}, "victim")
    return make_tree({"PROJECT": "", "real/file": "x"})


def journal_in(root: Path, *steps: dict[str, Any]) -> Path:
    """A transaction as pykb would leave it, with one staged file of each step."""
    place = root / ".pykb/transaction"
    place.mkdir(parents=True, mode=0o700)
    for number, _ in enumerate(steps):
        (place / f"{number}.after").write_bytes(b"new")
    sealed(root, list(steps))
    return place


def sealed(root: Path, steps: object, *, kind: str = "transaction", project: Path | None = None) -> None:
    """Write the record of a transaction, as this user."""
    place = root / ".pykb/transaction"
    with Folder.open(place) as folder:
        (place / "changes.json").write_bytes(seal(kind, project or root, folder, steps))


def refused(root: Path) -> str:
    """Why a transaction is refused; nothing in the project or around it has changed, and looking at it is no error."""
    before = everything(root.parent)
    with pytest.raises(EnvironmentProblem) as problem:
        recover(root)
    assert problem.value.diagnostic.code.slug == "transaction-unusable"
    note = pending(root)
    if (root / ".pykb/transaction").exists():
        assert note is not None
        assert note.code.slug == "transaction-pending"
    assert everything(root.parent) == before
    return problem.value.diagnostic.notes[0]


def everything(folder: Path) -> Tree:
    """Every file of a folder, and every link with where it leads; but the lock, which every command makes."""
    return {
        path.relative_to(folder).as_posix(): os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if (path.is_symlink() or path.is_file()) and path.name != "lock"
    }


def test_a_transaction_of_this_user_is_carried_out(root: Path) -> None:
    """What the other tests change one thing of. The first of two files is in place already."""
    journal_in(root, STEP, {**STEP, "path": "b.txt"})
    (root / ".pykb/transaction/0.after").rename(root / "a.txt")
    note = recover(root)
    assert note is not None
    assert note.message.endswith("completed")
    assert (root / "b.txt").read_bytes() == b"new"
    assert not (root / ".pykb/transaction").exists()


@pytest.mark.parametrize("name", ["transaction.new", "transaction", "transaction.done"])
def test_no_link_in_place_of_a_folder_of_the_transaction_is_followed(root: Path, name: str) -> None:
    """The folder that it leads to keeps all its files."""
    (root / ".pykb").mkdir()
    (root / ".pykb" / name).symlink_to("../../victim")
    assert refused(root) == f"`{name}` is a symbolic link"


@pytest.mark.parametrize("name", ["transaction.new", "transaction", "transaction.done"])
def test_a_file_in_place_of_a_folder_of_the_transaction_is_refused(root: Path, name: str) -> None:
    """A finding, not a failure of ours."""
    (root / ".pykb").mkdir()
    (root / ".pykb" / name).write_text("")
    assert refused(root) == f"`{name}` is not a folder"


def test_a_link_in_place_of_the_state_is_not_looked_into(root: Path) -> None:
    """Neither by a recovery nor by a command that writes."""
    (root.parent / "victim/transaction.new").mkdir()
    (root.parent / "victim/transaction.new/keep").write_text("mine")
    (root / ".pykb").symlink_to("../victim")
    assert recover(root) is None
    assert pending(root) is None
    with pytest.raises(EnvironmentProblem):
        apply_one(root)
    assert (root.parent / "victim/transaction.new/keep").exists()


@pytest.mark.parametrize("name", ["lock", "backup", "transaction.new"])
def test_a_command_that_writes_follows_no_link_in_the_state(root: Path, name: str) -> None:
    """What the links lead to is neither made nor changed."""
    (root / ".pykb").mkdir()
    target = root.parent / "victim" / ("keep" if name == "lock" else "deep")
    (root / ".pykb" / name).symlink_to(target)
    before = everything(root.parent)
    with suppress(EnvironmentProblem, OSError):
        assert apply_one(root) is not None
    after = everything(root.parent)
    after.pop(f"{root.name}/.pykb/.gitignore", None)
    assert after == before


def apply_one(root: Path) -> Diagnostic | None:
    """Write over one file, with a backup."""
    from pykb.scaffold.plan import OnExists

    builder = PlanBuilder(root)
    builder.create("real/file", b"y", on_exists=OnExists.OVERWRITE)
    return apply(builder.build())


def test_what_another_user_left_is_not_carried_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder, and each file in it."""
    journal_in(root, STEP)
    real, uid = os.stat, os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: uid + 1)
    assert refused(root) == f"`transaction` belongs to another user (uid {uid})"

    def stat(path: Any, **options: Any) -> os.stat_result:
        found = real(path, **options)
        return os.stat_result((*found[:4], uid + 1, *found[5:])) if path == "transaction" else found

    monkeypatch.setattr(os, "stat", stat)
    assert "belongs to another user" in refused(root)


def test_what_came_with_a_clone_is_not_carried_out(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever made it has another key, though the folder's number may be the same: that of a fresh one is no secret."""
    place = journal_in(root, STEP)
    own = (place / "changes.json").read_bytes()
    with monkeypatch.context() as others:
        others.setenv("XDG_STATE_HOME", str(root.parent / "theirs"))
        sealed(root, [STEP])
    assert "you did not write it here" in refused(root)
    record = json.loads(own)
    for mac in ("", "0" * 64, record["mac"][:-1], record["mac"].upper(), "\u00e9", None, 7):
        (place / "changes.json").write_text(json.dumps({**record, "mac": mac}))
        refused(root)
    sealed(root, [STEP], kind="plugins")
    assert "you did not write it here" in refused(root)
    sealed(root, [STEP], project=root.parent)
    assert "you did not write it here" in refused(root)
    (place / "changes.json").write_bytes(own)
    assert recover(root) is not None


def test_a_project_that_was_copied_after_a_kill_is_left_alone(root: Path) -> None:
    """The original is completed, its copy is not."""
    journal_in(root, STEP, {**STEP, "path": "b.txt"})
    (root / ".pykb/transaction/0.after").rename(root / "a.txt")
    copy = root.parent / "copy"
    shutil.copytree(root, copy)
    assert "it came with a copy" in refused(copy)
    assert recover(root) is not None
    assert (root / "b.txt").exists()


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/x", "../victim/keep", "a/../../victim/x", "", ".", "a\0b", "link/x", "inner/x", "inner"),
        *(".git/hooks/post-commit", "sub/.git/config", ".GIT/config", "sub/.git", "hooks/post-commit"),
        *(".pykb/transaction/changes.json", ".pykb/lock", ".pykb", "PROJECT/x"),
    ],
)
def test_no_step_leaves_the_project_or_touches_git(root: Path, path: str) -> None:
    """Nor does the undoing of one remove a folder outside."""
    (root / "link").symlink_to("../victim")
    (root / "inner").symlink_to("real")
    (root / ".git/hooks").mkdir(parents=True)
    (root / "hooks").symlink_to(".git/hooks")
    journal_in(root, {**STEP, "path": path})
    refused(root)
    shutil.rmtree(root / ".pykb")
    journal_in(root, {**STEP, "made_folders": [path]})
    refused(root)


@pytest.mark.parametrize(
    "change",
    [
        {"mode": 0o4755},
        {"mode": -1},
        {"mode": True},
        {"mode": "644"},
        {"before_mode": 1 << 40},
        {"after": "abc"},
        {"after": None},
        {"before": "x" * 64},
        {"path": 1},
        {"path": ["a"]},
        {"made_folders": "ab"},
        {"made_folders": [1]},
        {"more": 1},
    ],
    ids=str,
)
def test_a_step_of_another_form_is_refused(root: Path, change: dict[str, Any]) -> None:
    """Whatever the field."""
    journal_in(root, {**STEP, **change})
    refused(root)


def test_damaged_or_missing_files_are_refused(root: Path) -> None:
    """A transaction goes forward and back wholly, or is not begun."""
    place = journal_in(root, STEP)
    (place / "0.after").write_bytes(b"evil")
    assert refused(root) == "`0.after` is damaged"
    (place / "0.after").unlink()
    (place / "0.after").symlink_to(root / "real/file")
    assert refused(root) == "`0.after` is a symbolic link"
    (place / "0.after").unlink()
    os.mkfifo(place / "0.after")
    assert refused(root) == "`0.after` is not a file"


def test_a_list_that_is_too_long_or_has_a_path_twice_is_refused(root: Path) -> None:
    """Pykb writes neither."""
    place = journal_in(root, STEP, STEP)
    assert refused(root) == "a path is listed twice"
    shutil.rmtree(place)
    place = journal_in(root, STEP)
    sealed(root, [{**STEP, "path": f"f{n}"} for n in range(10_001)])
    assert "too long" in refused(root)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "[" * 100_000, '"\\ud800"', '{"content": 1, "mac": "2"}', "1e999"]
)
def test_a_record_that_is_none_is_refused(root: Path, text: str) -> None:
    """Whatever stands in the file."""
    place = journal_in(root, STEP)
    (place / "changes.json").write_text(text)
    refused(root)


def test_a_record_with_random_damage_is_followed_or_refused(root: Path) -> None:
    """Bytes changed anywhere in the folder: never another failure, never a file outside of what was planned."""
    for seed in range(300):
        rng = random.Random(seed)
        shutil.rmtree(root / ".pykb", ignore_errors=True)
        (root / "a.txt").unlink(missing_ok=True)
        place = journal_in(root, STEP, {**STEP, "path": "b/c.txt", "made_folders": ["b"]})
        before = {path: content for path, content in everything(root.parent).items() if "/.pykb/" not in path}
        target = rng.choice(sorted(place.iterdir()))
        content = bytearray(target.read_bytes())
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(content))
            content[at : at + rng.randint(0, 2)] = rng.choice([b"", b'"', b"..", b"/", b"\xff", b"0", b"[", b"9" * 30])
        target.write_bytes(content)
        try:
            recover(root)
        except EnvironmentProblem as error:
            assert error.diagnostic.code.slug == "transaction-unusable"  # noqa: PT017 - either end is right
        after = {path: content for path, content in everything(root.parent).items() if "/.pykb/" not in path}
        assert before.items() <= after.items()
        for path in set(after) - set(before):
            assert path.startswith(f"{root.name}/")
            (root.parent / path).unlink()


def test_a_link_that_leads_elsewhere_after_the_plan_is_a_change(root: Path) -> None:
    """The plan was made for the file that it named then."""
    (root / "other").mkdir()
    (root / "other/file").write_text("x")
    (root / "link").symlink_to("real")
    builder = PlanBuilder(root)
    builder.update("link/file", b"y")
    plan = builder.build()
    (root / "link").unlink()
    (root / "link").symlink_to("other")
    problem = apply(plan)
    assert problem is not None
    assert problem.code.slug == "file-changed"


@pytest.mark.parametrize("path", [".git/config", "x/.git/hooks/y", ".Git/x", ".pykb/transaction/x", ".pykb/lock"])
def test_no_plan_writes_where_git_or_a_transaction_has_its_files(root: Path, path: str) -> None:
    """Whoever names the path: a template, an option, a plugin."""
    with pytest.raises(OutsideError):
        locate(root, path)


def test_a_killed_command_in_a_project_reached_by_a_link_is_completed(root: Path, tmp_path: Path) -> None:
    """The project's own place may be a link; only what is below may not."""
    (tmp_path / "way").symlink_to(root)
    builder = PlanBuilder(tmp_path / "way")
    builder.create("new/a.txt", b"a")
    builder.create("new/b.txt", b"b")
    plan = builder.build()
    for at in range(100):
        if run_and_break(partial(apply, plan), at, how="kill") == "finished":
            break
        recover(tmp_path / "way")
        if (root / "new/b.txt").exists():
            return
        shutil.rmtree(root / ".pykb", ignore_errors=True)
    pytest.fail("it never was decided")


def test_a_record_counts_also_after_its_folder_was_renamed(root: Path) -> None:
    """What a transaction relies on: the number of the folder stays."""
    (root / "a").mkdir()
    with Folder.open(root / "a") as folder:
        text = seal("x", root, folder, [1])
        (root / "a").rename(root / "b")
        assert unseal("x", root, folder, text) == [1]


# -- races


def whole(folder: Path) -> dict[str, bytes | None]:
    """Every entry of a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.fixture(scope="module")
def swapper() -> Swapper:
    """Swaps a folder for a link."""
    return Swapper()


@pytest.mark.parametrize(
    "name",
    [".pykb", ".pykb/transaction.new", ".pykb/transaction", ".pykb/transaction.done", ".pykb/backup", "app", "app/api"],
)
def test_no_folder_that_becomes_a_link_in_the_meantime_is_followed(tmp_path: Path, swapper: Swapper, name: str) -> None:
    """Before each call of the file system that a command makes, and that the next one makes then.

    The link leads to a folder with all the names that pykb uses.
    """
    writer, victim, root = WRITERS["create"], tmp_path / "victim", tmp_path / "p"
    for inner in ("", "transaction", "transaction.new", "transaction.done", "backup", "api", "api/v1"):
        (victim / inner).mkdir(parents=True)
        for file in ("lock", ".gitignore", "0.after", "0.before", "changes.json", "__main__.py", "undo"):
            (victim / inner / file).write_text("mine")
    before = whole(victim)
    swaps = 0
    for at in range(2000):
        plan = writer.make(writer.fresh(root))

        def action() -> None:
            with suppress(EnvironmentProblem):
                apply(plan)  # noqa: B023 - it is called here
            with suppress(EnvironmentProblem):
                recover(root)

        if not swapper.run(action, root / name, victim, at=at):
            break
        swaps += 1
        assert whole(victim) == before, f"after a swap at call {at}"
    assert swaps > 50
