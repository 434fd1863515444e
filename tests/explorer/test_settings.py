"""`[tool.pykb.explore]` in pyproject.toml: the command and the tests read the same."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from pykb.api.core.v1 import Service
from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.explore import ClusterView, Explorer, Report, subject_of
from pykb.explore._settings import Settings, settings_of
from pykb.runtime import Manager
from pykb.testing._explorers import ProjectExplorer
from tests.explorer.zoo import kinds, specs

APP = Path(__file__).parents[2] / "testdata" / "app"
ACTORS = """
from pykb.api.core.v1 import ConfigMap
from pykb.runtime import Client

async def waits(cluster: Client) -> None:
    await cluster.get(ConfigMap, "default/nobody-makes-it")

async def stumbles(cluster: Client) -> None:
    raise KeyError("no such thing")

def plain(cluster: Client) -> None:
    ...
"""


PROMISES = """
from pykb.explore import ClusterView, always
from pykb.api.apps.v1 import Deployment

def has_no_deployment(cluster: ClusterView) -> bool:
    return not cluster.list(Deployment)

@always
def never_has_one(cluster: ClusterView) -> bool:
    return not cluster.list(Deployment)

async def waits(cluster: ClusterView) -> bool:
    return True

NAMES = ["a"]
"""


@pytest.fixture
def root(tmp_path, monkeypatch) -> Iterator[Path]:
    """A copy of the sample App, whose modules are imported anew."""
    folder = tmp_path / "app"
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns(".venv", ".pykb", "__pycache__"))
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    _forget()
    (folder / "app_operator" / "others.py").write_text(ACTORS, encoding="utf-8")
    (folder / "app_operator" / "promises.py").write_text(PROMISES, encoding="utf-8")
    yield folder
    _forget()


def _forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "app_operator"]:
        del sys.modules[name]


def settle(root: Path, text: str) -> None:
    """Write the settings."""
    file = root / "pyproject.toml"
    file.write_text(f"{file.read_text(encoding='utf-8')}\n[tool.pykb.explore]\n{text}\n", encoding="utf-8")


def refused(root: Path) -> Diagnostic:
    """What is wrong with the settings."""
    with pytest.raises(EnvironmentProblem) as caught:
        settings_of(root)
    return caught.value.diagnostic


def test_without_a_table_everything_is_as_by_default(root, tmp_path):
    """Nor is a file needed."""
    assert settings_of(root) == Settings() == settings_of(tmp_path)


def test_all_settings_are_read(root):
    """With the reason and the line of what is ignored."""
    text = """seconds = 2.5
histories = 40
seed = 3
once = ["Mail"]
actors = ["app_operator.others:waits"]
ignore = [
  { field = "Deployment.spec.replicas", reason = "the HorizontalPodAutoscaler sets them" },
  { code = "explore-loop", reason = "it beats once a minute" },
]"""
    settle(root, text)
    found = settings_of(root)
    assert (found.seconds, found.histories, found.seed, found.once) == (2.5, 40, 3, ("Mail",))
    assert [each.what for each in found.ignore] == ["Deployment.spec.replicas", "explore-loop"]
    lines = (root / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    assert ["reason" in lines[each.place.line - 1] for each in found.ignore] == [True, True]


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("second = 3", "has no key `second`", "did you mean `seconds`?"),
        ("seconds = 0", "`seconds` takes a number from 1 to 604800, found `0`", "seconds = 60"),
        ("seconds = nan", "`seconds` takes a number from 1", "seconds = 60"),
        ("seconds = true", "found `true`", "seconds = 60"),
        ("histories = 1.5", "`histories` takes a whole number", "histories = 60"),
        ("seed = -1", "`seed` takes a whole number from 0", "seed = 60"),
        ('once = "Mail"', "`once` takes a list", 'once = ["Mail"]'),
        ("once = [3]", "`once` takes a list of strings, found `3`", 'once = ["Mail"]'),
        (f"once = {['a'] * 101}", "`once` has 101 entries: 100 are the most", ""),
        ('actors = ["os.system"]', "takes functions as `package.module:function`", "actors = ["),
        ('invariants = ["promises"]', "`invariants` takes functions as `package.module:function`", "invariants = ["),
        ('ignore = ["Deployment"]', 'entry 1 of `ignore` is `"Deployment"`', "reason ="),
        ('ignore = [{ field = "Deployment.spec" }]', "ignores `Deployment.spec` without a reason", "reason ="),
        ('ignore = [{ field = "a", reason = " " }]', "ignores `a` without a reason", "reason ="),
        ('ignore = [{ feld = "a", reason = "b" }]', "has no key `feld`", "did you mean `field`?"),
        ('ignore = [{ field = "a", code = "b", reason = "c" }]', "takes one `field` or one `code`", "ignore = ["),
    ],
)
def test_a_wrong_setting_is_one_message_with_its_line(root, text, message, remedy):
    """And with what to write."""
    settle(root, text)
    found = refused(root)
    assert message in found.message
    assert remedy in "".join(found.help)
    assert found.span.path == "pyproject.toml"
    line = (root / "pyproject.toml").read_text(encoding="utf-8").splitlines()[found.span.line - 1]
    assert line == text


def explored(root: Path, text: str, *only: str) -> Report:
    """What the explorer says of the project with these settings."""
    settle(root, text)
    return Explorer(subject_of(root, package="app_operator"), only=only or ("explore-loop",)).run()


def test_no_module_is_imported_before_the_exploration(root):
    """`generate` and others may read the settings of a project that nobody trusts."""
    settle(root, 'actors = ["app_operator.others:waits"]\ninvariants = ["app_operator.promises:never_has_one"]')
    subject = subject_of(root, package="app_operator")
    assert not {"app_operator.others", "app_operator.promises"} & {*sys.modules}
    assert [each.__module__ for each in subject.actors] == ["app_operator.others"]  # a crash does not put it back


def test_an_actor_that_only_fails_is_said(root):
    """It waits for ever, and so does the operator."""
    [problem] = explored(root, 'actors = ["app_operator.others:waits"]').problems
    assert problem.message.startswith("the actor `app_operator.others:waits` fails each time: NotFound: ")
    assert (problem.span.path, problem.span.line) == ("app_operator/others.py", 6)


def test_an_actor_with_a_bug_is_said(root):
    """With its line."""
    [problem] = explored(root, 'actors = ["app_operator.others:stumbles"]').problems
    assert problem.message == "the actor `app_operator.others:stumbles` fails each time: KeyError: 'no such thing'"
    assert problem.span.line == 9


@pytest.mark.parametrize(
    ("name", "message", "remedy"),
    [
        ("app_operator.other:waits", "`app_operator.other` cannot be imported: ModuleNotFoundError", ""),
        ("app_operator.others:wait", "`app_operator.others` has no `wait`", "did you mean `waits`?"),
        ("app_operator.others:plain", "is no coroutine function", "async def"),
    ],
)
def test_an_actor_that_cannot_be_called_is_one_message(root, name, message, remedy):
    """At the line of the settings."""
    assert_is_refused(root, f'actors = ["{name}"]', message, remedy)


def assert_is_refused(root: Path, text: str, message: str, remedy: str) -> None:
    """The exploration does not start. The message has the line of the settings."""
    with pytest.raises(EnvironmentProblem) as caught:
        explored(root, text)
    found = caught.value.diagnostic
    assert message in found.message
    assert remedy in "".join(found.help)
    lines = (root / found.span.path).read_text(encoding="utf-8").splitlines()
    assert lines[found.span.line - 1] == text


@pytest.mark.parametrize("name", ["has_no_deployment", "never_has_one"])
def test_an_invariant_of_the_settings_is_checked(root, name):
    """In the histories of all codes, as one of a test."""
    report = explored(root, f'invariants = ["app_operator.promises:{name}"]', "explore-loop", "explore-invariant")
    assert [each.code.slug for each in report.findings] == ["explore-invariant"]
    assert f"`{name}`" in report.findings[0].message


def test_a_test_adds_an_invariant(root):
    """It does not replace those of the settings."""

    def has_no_service(cluster: ClusterView) -> bool:
        return not cluster.list(Service)

    settle(root, 'invariants = ["app_operator.promises:has_no_deployment"]')
    subject = subject_of(root, package="app_operator", invariants=[has_no_service])
    assert [each.load().name for each in subject.invariants] == ["has_no_deployment", "has_no_service"]


@pytest.mark.parametrize(
    ("name", "message", "remedy"),
    [
        ("app_operator.promise:never_has_one", "`app_operator.promise` cannot be imported: ModuleNotFoundError", ""),
        ("app_operator.promises:never_had_one", "has no `never_had_one`", "did you mean `never_has_one`?"),
        ("app_operator.promises:waits", "is no plain function", "def holds(cluster: ClusterView)"),
        ("app_operator.promises:NAMES", "is no plain function", "def holds(cluster: ClusterView)"),
    ],
)
def test_an_invariant_that_cannot_be_called_is_one_message(root, name, message, remedy):
    """Also at the line of the settings."""
    assert_is_refused(root, f'invariants = ["{name}"]', message, remedy)


def test_what_is_ignored_holds_for_a_test_as_well(root):
    """And the limits: a setting, and what the call says instead."""
    from app_operator.__main__ import register

    settle(root, 'histories = 3\nignore = [{ code = "explore-leak", reason = "a try" }]')
    explorer = ProjectExplorer(root)
    report = explorer.run(register, limit=None)
    report.check()
    assert report.histories.total() < 12
    assert "explore-leak" not in report.histories
    assert report.unfinished
    nothing = explorer.run(register, limit=timedelta(seconds=20), only=["explore-leak"])
    assert [each.message for each in nothing.problems] == ["all codes that are wanted are ignored: explore-leak"]


def test_what_is_ignored_and_never_differs_is_said():
    """Once the exploration is complete. Before, it may differ later."""

    def register(manager: Manager) -> None:
        specs.KeepsRemovedKeys(manager.client).setup(manager)

    def said(ignore: list[str], histories: int | None = None) -> list[str]:
        report = Explorer(kinds.subject_of(register), ignore=ignore, histories=histories).run()
        return [note.message for note in report.notes() if note.code.slug == "explore-useless-ignore"]

    ignore = ["ConfigMap.data", "Gonfigmap", "explore-theft"]
    assert said(ignore, histories=1) == ["that `Gonfigmap` may differ has no effect: no history had a Gonfigmap"]
    ignore = ["ConfigMap.data", "Animal.status"]
    assert said(ignore) == ["that `Animal.status` may differ has no effect: it was always as expected"]
