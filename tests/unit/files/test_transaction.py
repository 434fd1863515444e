"""A plan is applied wholly or not at all, whatever happens in between."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from files_killing import FAILED, FINISHED, run_and_break
from files_trees import Tree, read_tree
from files_writers import WRITERS

from pykb.diagnostics import EnvironmentProblem
from pykb.files.apply import apply, recover
from pykb.files.state import opened
from pykb.scaffold.plan import PlanBuilder
from tests.killing import killed_after

CREATE = WRITERS["create"]


@pytest.fixture(autouse=True)
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill loses nothing that the kernel has, so waiting for the disk shows nothing here."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def test_a_plan_makes_its_changes_with_project_last(tmp_path: Path) -> None:
    """Applying gives the planned tree; the last change is PROJECT's; backups hold what was overwritten."""
    root = CREATE.fresh(tmp_path / "p")
    plan = CREATE.make(root)
    assert [change.path for change in plan.changes][-1] == "PROJECT"
    assert apply(plan) is None
    assert read_tree(root) == CREATE.new(plan)
    (backup,) = (root / ".pykb/backup").rglob("edited_types.py")
    assert backup.read_text() == CREATE.before["app/edited_types.py"]
    assert not (root / ".pykb/transaction").exists()


@pytest.mark.parametrize("name", WRITERS)
def test_killed_at_any_change_of_the_file_system_the_project_is_as_before_or_as_after(
    tmp_path: Path, name: str
) -> None:
    """For every N: a process killed at its Nth change leaves what the next command makes whole, in one direction."""
    writer, outcomes = WRITERS[name], []
    root = writer.fresh(tmp_path / "p")
    plan = writer.make(root)
    after = writer.new(plan)
    for at in range(0, 2000, writer.stride):
        writer.fresh(root)
        end = run_and_break(partial(apply, plan), at, how="kill")
        if end == FINISHED:
            break
        assert end == "killed"
        recover(root)
        tree = read_tree(root)
        assert tree in (writer.old, after), f"mixed after a kill at change {at}"
        outcomes.append(tree == after)
        assert recover(root) is None
    else:
        pytest.fail("the child never finished")
    assert len(outcomes) > 20
    assert sorted(outcomes) == outcomes, "once decided, always forward"
    assert set(outcomes) == {False, True}


def kills_of_create(root: Path) -> int:
    """How many changes of the file system it takes to apply that plan."""
    plan, total = CREATE.make(CREATE.fresh(root)), 0
    while run_and_break(partial(apply, plan), total, how="kill") != FINISHED:
        CREATE.fresh(root)
        total += 1
    return total


def test_a_recovery_that_is_killed_itself_is_recovered_by_the_next(tmp_path: Path) -> None:
    """For kills in the middle of the transaction, and then for every N: recovery killed at its Nth change."""
    root = tmp_path / "p"
    total = kills_of_create(root)
    for at in range(total // 2, total, 7):
        for again in range(200):
            plan = CREATE.make(CREATE.fresh(root))
            run_and_break(partial(apply, plan), at, how="kill")
            end = run_and_break(partial(recover, root), again, how="kill")
            recover(root)
            assert read_tree(root) in (CREATE.old, CREATE.new(plan)), f"mixed after kills at {at} and {again}"
            if end == FINISHED:
                break


@pytest.mark.parametrize(
    ("how", "name"), [*(("raise", name) for name in WRITERS), ("interrupt", "create"), ("interrupt", "move")]
)
def test_failing_at_any_change_of_the_file_system_leaves_the_project_whole(tmp_path: Path, how: str, name: str) -> None:
    """For every N: when the Nth change fails (disk full, Ctrl-C), the project is as before, or as after, at once.

    An emptied folder may stay until the next command.
    """
    writer, failures = WRITERS[name], 0
    root = writer.fresh(tmp_path / "p")
    plan = writer.make(root)
    after = writer.new(plan)
    for at in range(0, 2000, writer.stride):
        writer.fresh(root)
        end = run_and_break(partial(apply, plan), at, how=how)
        tree = {path: text for path, text in read_tree(root).items() if not path.endswith("/")}
        assert tree in (writer.old, after), f"mixed after a failure at change {at}"
        failures += end == FAILED
        recover(root)
        assert read_tree(root) in (writer.old, after)
        if end == FINISHED and tree == after and at > 100:
            break
    assert failures > 20


def test_a_kill_leaves_git_status_clean(tmp_path: Path) -> None:
    """What a killed command leaves behind before it decided is nothing that git would show."""
    root = CREATE.fresh(tmp_path / "p")
    for words in (["init", "-q"], ["add", "-A"], ["-c", "user.email=a@b", "-c", "user.name=a", "commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    for at in range(3, 30, 4):
        plan = CREATE.make(root)
        assert run_and_break(partial(apply, plan), at, how="kill") == "killed"
        status = subprocess.run(["git", "status", "--short"], cwd=root, check=True, capture_output=True, text=True)
        assert status.stdout == ""


def test_a_file_that_changed_since_the_plan_is_not_written_over(tmp_path: Path) -> None:
    """Someone's edit between planning and applying wins; nothing at all is written."""
    root = CREATE.fresh(tmp_path / "p")
    plan = CREATE.make(root)
    (root / "app/__main__.py").write_text("their edit\n")
    problem = apply(plan)
    assert problem is not None
    assert problem.code.slug == "file-changed"
    assert read_tree(root) == {**CREATE.old, "app/__main__.py": b"their edit\n"}
    assert not (root / ".pykb").exists() or not list((root / ".pykb").glob("transaction*"))


def test_an_edit_after_a_kill_survives_recovery(tmp_path: Path) -> None:
    """Recovery never writes over what a person wrote after the kill: it undoes the rest instead."""
    root = tmp_path / "p"
    total = kills_of_create(root)
    seen = set()
    for at in range(total // 2, total, 3):
        plan = CREATE.make(CREATE.fresh(root))
        run_and_break(partial(apply, plan), at, how="kill")
        if not (root / ".pykb/transaction").is_dir():
            continue
        (root / "PROJECT").write_text("edited by hand\n")
        note = recover(root)
        assert note is not None
        seen.add(note.message)
        assert read_tree(root) == {**CREATE.old, "PROJECT": b"edited by hand\n"}
    assert seen == {"the previous command was interrupted; its changes were undone"}


def tree_killed_after(root: Path, files: int) -> tuple[Tree, Tree]:
    """Apply a plan of six files and die after some of them. Gives the trees before and after."""
    root.mkdir()
    for name in ("a", "b", "c", "gone"):
        (root / name).write_text("old")
    before = read_tree(root)
    builder = PlanBuilder(root)
    builder.update("gone", None)
    for name in ("a", "new/x", "b", "new/y", "c"):
        builder.update(name, b"new")
    with killed_after(files):
        apply(builder.build())
    return before, {name: text for name, text in before.items() if name != "gone"} | dict.fromkeys(
        ("a", "new/x", "b", "new/y", "c"), b"new"
    )


@pytest.mark.parametrize("files", range(6))
def test_what_was_taken_back_after_a_kill_is_not_written_again(tmp_path: Path, files: int) -> None:
    """As by `git restore . && git clean -fd`: wholly, or only what git knows, or only what it does not."""
    for number, (restores, cleans) in enumerate([(True, True), (True, False), (False, True), (False, False)]):
        root = tmp_path / str(number)
        before, after = tree_killed_after(root, files)
        now = read_tree(root)
        taken = {name for name in before if restores and now.get(name) != before[name]}
        taken |= {name for name in now if cleans and name not in before and (root / name).is_file()}
        for name in taken:
            if name in before:
                (root / name).write_bytes(before[name])
            else:
                (root / name).unlink()
        assert recover(root) is not None
        assert read_tree(root) == (before if taken or files == 0 else after)
        assert recover(root) is None


def test_the_changes_of_a_killed_command_are_undone_if_the_user_says_so(tmp_path: Path) -> None:
    """The question says what is left to do."""
    before, _ = tree_killed_after(tmp_path / "p", 2)
    asked: list[str] = []
    note = recover(tmp_path / "p", completes=lambda left: bool(asked.append(left)))
    assert asked == ["4 of 6 files are left, `new/y` last"]
    assert note is not None
    assert note.message.endswith("undone")
    assert read_tree(tmp_path / "p") == before


def test_a_file_that_the_system_protects_is_named_by_its_own_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An immutable file, say: the system names the staged one first."""
    real = os.replace

    def protect(source: str, target: str, **folders: int) -> None:
        if target == "__main__.py":
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), source, None, target)
        real(source, target, **folders)

    root = CREATE.fresh(tmp_path / "p")
    monkeypatch.setattr(os, "replace", protect)
    with pytest.raises(EnvironmentProblem, match=r"cannot write `app/__main__\.py`: Operation not permitted"):
        apply(CREATE.make(root))
    assert read_tree(root) == CREATE.old


def test_two_commands_at_once_do_not_mix(tmp_path: Path) -> None:
    """While another process holds the lock, applying is refused, with nothing written."""
    root = CREATE.fresh(tmp_path / "p")
    plan = CREATE.make(root)
    with opened(root) as state, state.lock("lock") as free:
        assert free
        with pytest.raises(EnvironmentProblem) as refused:
            apply(plan)
    assert refused.value.diagnostic.code.slug == "busy"
    assert read_tree(root) == CREATE.old


def test_nothing_of_pykb_is_left_where_nothing_was_before(tmp_path: Path) -> None:
    """A command that only creates leaves no folder of pykb's own behind."""
    root = tmp_path / "p"
    root.mkdir()
    builder = PlanBuilder(root)
    builder.create("a.txt", b"a")
    assert apply(builder.build()) is None
    assert sorted(path.name for path in root.iterdir()) == ["a.txt"]


def test_modes_of_files_are_kept_and_given(make_tree: Callable[..., Path]) -> None:
    """An update keeps the mode of a file, a creation sets the planned one, whatever the umask."""
    root = make_tree({"run.sh": "old"})
    (root / "run.sh").chmod(0o755)
    builder = PlanBuilder(root)
    builder.update("run.sh", b"new")
    builder.create("tool.sh", b"x", mode=0o755)
    builder.create("plain", b"x")
    apply(builder.build())
    modes = {name: (root / name).stat().st_mode & 0o777 for name in ("run.sh", "tool.sh", "plain")}
    assert modes == {"run.sh": 0o755, "tool.sh": 0o755, "plain": 0o644}


def test_a_link_inside_the_project_is_written_through(make_tree: Callable[..., Path]) -> None:
    """A link to a file of the project stays a link; the file it names is changed."""
    root = make_tree({"real/main.py": "x = 1\n"})
    (root / "main.py").symlink_to("real/main.py")
    builder = PlanBuilder(root)
    builder.update("main.py", b"x = 2\n")
    apply(builder.build())
    assert (root / "main.py").is_symlink()
    assert (root / "real/main.py").read_text() == "x = 2\n"


def test_an_empty_plan_touches_nothing(tmp_path: Path) -> None:
    """Not even the state folder is made."""
    apply(PlanBuilder(tmp_path).build())
    assert list(tmp_path.iterdir()) == []
