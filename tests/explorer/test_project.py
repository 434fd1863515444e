"""A project that cannot be explored: one message with what is wrong, where, and what to do."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from pydantic import BaseModel

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.explore import Explorer, Fault, FaultKind, History, Step, Verb, subject_of
from pykb.explore._outcome import Outcome
from pykb.explore._time import VirtualTime
from pykb.explore._world import cluster_of, play
from pykb.runtime import Manager
from pykb.runtime.fake import fake_client

APP = Path(__file__).parents[2] / "testdata" / "app"
PACKAGE = "app_operator"
SAMPLE = "config/samples/appcontroller_v1_app.yaml"
DEFINITION = "config/crd/bases/appcontroller.k8s.io_apps.yaml"
CONTROLLER = f"{PACKAGE}/controllers/app_controller.py"


@pytest.fixture
def root(tmp_path, monkeypatch) -> Path:
    """A copy of the sample App, whose modules are imported anew."""
    folder = tmp_path / "app"
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns(".venv", ".pykb", "__pycache__"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        monkeypatch.delitem(sys.modules, name)
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def problem(root: Path, kind: str = "") -> Diagnostic:
    """Why a project cannot be explored."""
    with pytest.raises(EnvironmentProblem) as caught:
        subject_of(root, package=PACKAGE, kind=kind).register(Manager(client=fake_client()))
    assert caught.value.diagnostic.code.slug == "explore-not-explored"
    return caught.value.diagnostic


def change(root: Path, file: str, old: str, new: str) -> None:
    """Replace a text in a file."""
    text = (root / file).read_text(encoding="utf-8")
    assert old in text
    (root / file).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_before_there_is_a_kind(root):
    """As after `pykb init`."""
    for file in (SAMPLE, DEFINITION):
        (root / file).unlink()
    found = problem(root)
    assert found.message == "this project has no kind of its own to explore"
    assert "pykb create api" in found.help[0]


def test_before_the_definition_is_generated(root):
    """The sample is there."""
    (root / DEFINITION).unlink()
    found = problem(root)
    assert found.message == "there is no CustomResourceDefinition of App in `config/crd/bases`"
    assert found.help == ("pykb generate",)


def test_without_samples(root):
    """Names the kinds that need one."""
    (root / SAMPLE).unlink()
    found = problem(root)
    assert found.message == "there is no sample of App in `config/samples`"
    assert "write one" in found.help[0]


def test_a_kind_that_is_misspelt(root):
    """The nearest is named."""
    found = problem(root, "Ap")
    assert found.message == "there is no sample of the kind `Ap`"
    assert found.help == ("did you mean `App`?",)


@pytest.mark.parametrize(
    ("file", "old", "new", "line", "said"),
    [
        (CONTROLLER, "from pykb.runtime import", "from pykb.runtimee import", None, "No module named 'pykb.runtimee'"),
        (CONTROLLER, "class AppReconciler", "def x(:\n\nclass AppReconciler", None, "SyntaxError"),
        (CONTROLLER, "class AppReconciler", "raise SystemExit(3)\n\nclass AppReconciler", None, "SystemExit: 3"),
        (f"{PACKAGE}/__main__.py", "def register", "def enlist", 0, "has no `register`"),
        (SAMPLE, "kind: App", "kind: [App", 3, "is not YAML"),
        (SAMPLE, "  name: app-sample", "  nam: app-sample", 1, "has no `metadata.name`"),
        (DEFINITION, "  group:", "  grop:", 1, "lacks a group"),
        ("config/rbac/role.yaml", "rules:", "rules: [", None, "is not YAML"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_its_place(root, file, old, new, line, said):
    """Its line, where it has one."""
    change(root, file, old, new)
    found = problem(root)
    assert said in found.message
    if line == 0:
        assert found.help
        return
    assert found.span is not None
    assert found.span.path == file
    assert line is None or found.span.line == line


class Wordless(BaseException):
    """What a library in another language may raise."""

    def __str__(self) -> str:
        """Fail as well."""
        raise ValueError("no words")


class Login(BaseModel):
    """A model whose errors quote a secret."""

    port: int


RAISED = [
    ("raise ValueError('a\\x1b[2J\\rb')", "ValueError: a\\x1b[2J\\x0db"),
    ("raise __import__('tests.explorer.test_project', fromlist=['x']).Wordless", "raised `ValueError`"),
    ("__import__('tests.explorer.test_project', fromlist=['x']).Login(port='s3cret')", "Login: "),
    ("raise SystemExit(0)", "SystemExit: 0"),
    ("raise BaseExceptionGroup('several', [GeneratorExit()])", "BaseExceptionGroup: several"),
    ("raise GeneratorExit", "GeneratorExit"),
    ("raise ValueError('x' * 10**6)", "(1000000 characters)"),
]


@pytest.mark.parametrize(("raised", "said"), RAISED, ids=range(len(RAISED)))
@pytest.mark.parametrize("is_import", [True, False])
def test_whatever_the_program_raises_is_one_safe_message(root, raised, said, is_import):
    """While it is imported, and in `register`. Without secrets, and without what a terminal would act on."""
    main = f"{PACKAGE}/__main__.py"
    old = "def register" if is_import else "    # +pykb:scaffold:builder"
    change(root, main, old, f"{raised}\n\n\n{old}" if is_import else f"    {raised}\n{old}")
    subject = subject_of(root, package=PACKAGE)

    async def started() -> None:
        await play(subject, await cluster_of(subject), History(()), Outcome())

    with pytest.raises(EnvironmentProblem) as caught:
        VirtualTime().run(started, 0)
    message = caught.value.diagnostic.message
    assert said in message
    assert message.isprintable()
    assert "s3cret" not in message
    assert len(message) < 5000


def test_other_documents_are_left_out(root):
    """A file with notes is not a sample."""
    (root / "config" / "samples" / "notes.yaml").write_text("a: b\n--- \n- 1\n", encoding="utf-8")
    assert [sample["kind"] for sample in subject_of(root, package=PACKAGE).samples] == ["App"]


def test_a_sample_that_the_schema_refuses_is_told_with_its_file(root):
    """And nothing else is said."""
    change(root, SAMPLE, "replicas: 2", "replicas: many")
    report = Explorer(subject_of(root, package=PACKAGE)).run()
    [found] = report.diagnostics()
    assert "spec.deployment.replicas" in found.message
    assert found.span.path == SAMPLE
    assert not report.notes()


HISTORY = History(
    (Step(Verb.CREATE, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}, after_write=1),),
    Fault(FaultKind.REFUSE, 1, 500),
    1.5,
    (Fault(FaultKind.CRASH_AFTER, 2, step=1, what="creates configmaps/a"),),
)


def test_a_history_is_read_as_it_was_written():
    """From JSON."""
    assert History.from_json(json.loads(json.dumps(HISTORY.to_json()))) == HISTORY


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("steps", 0, "manifest"), {}),
        (("steps", 0, "manifest"), []),
        (("steps", 0, "manifest", "metadata"), 3),
        (("steps", 0, "manifest", "metadata", "name"), {}),
        (("steps", 0, "after_write"), "first"),
        (("steps", 0, "note"), []),
        (("steps", 0, "verb"), "steal"),
        (("steps", 0), None),
        (("steps",), {"a": 1}),
        (("fault", "request"), []),
        (("fault", "kind"), "flood"),
        (("further", 0, "what"), 3),
        (("further",), 1),
        (("idle",), "long"),
    ],
)
def test_what_is_no_history_is_refused(place, value):
    """Before anything runs."""
    values = json.loads(json.dumps(HISTORY.to_json()))
    target = values
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    with pytest.raises(ValueError, match=r".+"):
        History.from_json(values)


def test_a_history_of_another_project_says_what_is_refused(root):
    """Instead of an error."""
    stranger = {
        "apiVersion": "other.example.com/v1",
        "kind": "Other",
        "metadata": {"name": "a", "namespace": "default"},
    }
    lines = list(Explorer(subject_of(root, package=PACKAGE)).replay(History((Step(Verb.CREATE, stranger),))))
    assert any(line.startswith("refused: Somebody creates Other a: ") for line in lines)


MULTIGROUP = Path(__file__).parents[2] / "testdata" / "multigroup"


def test_a_project_of_handlers_only_is_explored(monkeypatch):
    """The scaffolded handlers of a kind, run by kopf."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    subject = subject_of(MULTIGROUP, package="fleet", kind="Kraken")
    report = Explorer(subject, only=("explore-crash", "explore-history", "explore-loop")).run()
    report.check()
    assert not report.notes()
    assert report.histories["explore-crash"] > 4
    assert report.histories["explore-history"] > 0


def test_the_handlers_of_a_registry_are_explored(root):
    """`manager.add_kopf_handlers` runs them in the world."""
    main = f"{PACKAGE}/__main__.py"
    change(root, main, "    # +pykb:scaffold:builder", "    manager.add_kopf_handlers(HANDLERS)")
    registry = (
        "import kopf\n\nHANDLERS = kopf.OperatorRegistry()\n\n\n@kopf.timer('apps', registry=HANDLERS, interval=9)\n"
    )
    timer = "def tick(**_: object) -> None:\n    raise KeyError('tock')\n\n\ndef register"
    change(root, main, "def register", registry + timer)
    report = Explorer(subject_of(root, package=PACKAGE), only=("explore-bug",)).run()
    messages = [finding.message for finding in report.findings]
    assert any(message.startswith("KeyError") and message.endswith("'tock'") for message in messages)
    assert {finding.span.path for finding in report.findings if finding.message.startswith("KeyError")} == {main}


@pytest.mark.slow  # its limit is of the wall: beside a whole check, it may end before anything began
def test_an_import_without_end(root):
    """The limit of time ends it, also in a process of its own, and the message has its line."""
    text = (root / CONTROLLER).read_text(encoding="utf-8")
    endless = "import time\n\nwhile True:\n    time.sleep(0.01)\n"
    (root / CONTROLLER).write_text(f"{text}\n\n{endless}", encoding="utf-8")
    [found] = Explorer(subject_of(root, package=PACKAGE), seconds=3, workers=2).run().problems
    assert "ended before the first history did, while the operator was at this line" in found.message
    assert found.span is not None
    assert found.span.path == CONTROLLER
    assert found.span.line > len(text.splitlines())
