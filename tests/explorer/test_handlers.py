"""Operators of kopf without a project, and what their handlers reach."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import os
import sys
import warnings
from datetime import timedelta
from textwrap import dedent

import pytest
import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.explore import Explorer, Fault, FaultKind, History, Step, Subject, Verb, subject_of_files
from pykb.explore._kopf import Bookkeeping
from pykb.explore._operator import Operator
from pykb.explore._runner import Runner
from pykb.explore._time import TooLong
from pykb.testing import ClusterView, ProjectExplorer
from tests.explorer.zoo import handlers
from tests.explorer.zoo.kinds import CRDS, SAMPLE, Animal, subject_of

CREATE, DELETE = Step(Verb.CREATE, SAMPLE), Step(Verb.DELETE, SAMPLE)
MENU = "ConfigMap kiki-menu"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write an operator of one file, and read it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "crd.yaml").write_text(yaml.safe_dump_all(CRDS), encoding="utf-8")
    (tmp_path / "cr.yaml").write_text(yaml.safe_dump(SAMPLE), encoding="utf-8")

    def written(source: str, *, crd: str = "crd.yaml", sample: str = "cr.yaml") -> Subject:
        file = tmp_path / "handlers.py"
        file.write_text(dedent(source), encoding="utf-8")
        return subject_of_files([file], crds=[tmp_path / crd], samples=[tmp_path / sample], root=tmp_path)

    return written


def changes(subject: Subject, *steps: Step, fault: Fault | None = None) -> list[str]:
    """What the operator creates and deletes, with its lines."""
    with Runner(subject, 0) as runner:
        outcome = runner.run(History(steps, fault))
    assert not outcome.failures, outcome.failures
    made = [change for change in outcome.changes if change.by and None in (change.before, change.after)]
    return [f"{change.identity.name}:{change.by.place.line if change.by.place else 0}" for change in made]


@pytest.mark.parametrize("ends", ["process", "world"])
def test_whenever_they_end_nothing_of_kopf_is_destroyed_unawaited(write, monkeypatch, ends):
    """A process dies, or the time is up, before tasks of kopf have begun. Python would warn in the middle of any test."""
    subject = write(
        """
        import kopf

        @kopf.on.create("animals")
        async def counts(spec, patch, **_):
            patch.status["count"] = spec["count"]
        """
    )
    keep_running = Operator.keep_running

    def keep_for(turns):
        async def keep(operator):
            loop = asyncio.get_running_loop()
            call_after(turns, operator.die if ends == "process" else loop.interrupt)
            await keep_running(operator)

        return keep

    with Runner(subject, 0) as runner, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        # Otherwise, a manager would replace what records the warnings.
        monkeypatch.setattr(warnings.showwarning, "reports_not_awaited", True, raising=False)
        for turns in range(20):
            monkeypatch.setattr(Operator, "keep_running", keep_for(turns))
            with contextlib.suppress(TooLong):
                runner.run(History((CREATE,)))
        gc.collect()
    assert [str(each.message) for each in warned] == []


def call_after(turns, call):
    """Call something after some turns of the event loop."""
    asyncio.get_running_loop().call_soon(call_after, turns - 1, call) if turns else call()


ENDLESS = """
    import kopf
    import time

    @kopf.on.create("animals")
    def never_ends(**_):
        while True:
            {work}
"""


@pytest.mark.parametrize("work", ["pass", "time.sleep(3600)"])
def test_a_handler_in_a_thread_that_never_ends_has_its_line(write, work):
    """Whether it waits in the time of the world, or works on and on: the tests would not end either."""
    with Runner(write(ENDLESS.format(work=work)), 0) as runner:
        outcome = runner.run(History((CREATE,)), most=0.5)
    assert "without end in one reconcile" in outcome.unrest
    assert outcome.unrest_at is not None
    assert (outcome.unrest_at.path, outcome.unrest_at.line) in [("handlers.py", 7), ("handlers.py", 8)]


def test_a_slow_import_takes_nothing_of_the_limit_of_a_test(write, tmp_path):
    """Otherwise, tests of a project would fail on a slow machine before the first history."""
    write(
        """
        import time

        import kopf

        time.sleep(1)

        @kopf.on.create("animals")
        def counts(spec, patch, **_):
            patch.status["count"] = spec["count"]
        """
    )
    explorer = ProjectExplorer(tmp_path)
    limit = timedelta(seconds=0.9)
    report = explorer.run_handlers("handlers.py", crd=["crd.yaml"], sample=["cr.yaml"], limit=limit)
    assert report.histories


def test_handlers_are_explored_in_a_test_without_a_project(write, tmp_path):
    """As on the command line. Files are relative to the root of the test run."""
    write(
        """
        import kopf

        @kopf.on.create("animals")
        def counts(spec, patch, **_):
            patch.status["count"] = spec["count"]
        """
    )
    explorer = ProjectExplorer(tmp_path)
    found = explorer.run_handlers(
        "handlers.py", crd=["crd.yaml"], sample=["cr.yaml"], only=["explore-bug"], limit=None
    ).findings
    assert any("KeyError" in finding.message and finding.span.line == 6 for finding in found)

    def counts_nothing(cluster: ClusterView) -> bool:
        return not any(animal.status.count for animal in cluster.list(Animal))

    [broken] = explorer.run_handlers(
        "handlers.py",
        crd=["crd.yaml"],
        sample=["cr.yaml"],
        only=["explore-loop", "explore-invariant"],
        invariants=[counts_nothing],
        limit=None,
    ).findings
    assert "`counts_nothing` does not hold" in broken.message
    with pytest.raises(EnvironmentProblem, match=r"there is no file `.*nothing\.yaml`"):
        explorer.run_handlers("handlers.py", crd=["nothing.yaml"], sample=["cr.yaml"])


LIBRARIES = """
    import kopf
    import kubernetes
    import kubernetes_asyncio

    def body(name):
        return {"metadata": {"name": name}}

    @kopf.on.create("animals")
    def in_a_thread(namespace, **_):
        kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, body("thread"))

    @kopf.on.create("animals")
    async def in_the_loop(namespace, **_):
        kubernetes.config.load_kube_config()
        api = kubernetes.client.CoreV1Api()
        api.create_namespaced_config_map(namespace, body("loop"))
        try:
            api.create_namespaced_config_map(namespace, body("loop"))
        except kubernetes.client.ApiException as error:
            assert error.status == 409

    @kopf.on.create("animals")
    async def awaited(namespace, **_):
        async with kubernetes_asyncio.client.ApiClient() as api:
            await kubernetes_asyncio.client.CoreV1Api(api).create_namespaced_config_map(namespace, body("awaited"))
"""


def test_client_libraries_reach_the_server_in_memory(write):
    """From threads, from coroutines, and awaited. Each request carries its line."""
    lines = dedent(LIBRARIES).splitlines()
    expected = {
        name: next(n for n, line in enumerate(lines, 1) if f'body("{name}")' in line)
        for name in ("thread", "loop", "awaited")
    }
    environment = dict(os.environ)
    assert sorted(changes(write(LIBRARIES), CREATE)) == sorted(f"{name}:{line}" for name, line in expected.items())
    assert dict(os.environ) == environment


IN_A_POD = """
    import importlib

    import kopf
    import kubernetes
    import kubernetes_asyncio

    importlib.import_module("kubernetes.config.incluster_config").load_incluster_config()

    def body(name):
        return {"metadata": {"name": name}}

    @kopf.on.create("animals")
    def in_a_thread(namespace, **_):
        kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, body("thread"))

    @kopf.on.create("animals")
    async def awaited(namespace, **_):
        kubernetes_asyncio.config.load_incluster_config()
        async with kubernetes_asyncio.client.ApiClient() as api:
            await kubernetes_asyncio.client.CoreV1Api(api).create_namespaced_config_map(namespace, body("awaited"))
"""


def test_handlers_log_in_as_in_a_pod(write, monkeypatch):
    """When they are imported, or later. A library may be imported only with them."""
    monkeypatch.delitem(sys.modules, "kubernetes.config.incluster_config", raising=False)
    subject = write(IN_A_POD)
    assert [each.partition(":")[0] for each in sorted(changes(subject, CREATE))] == ["awaited", "thread"]
    report = Explorer(subject, only=("explore-crash",)).run()  # processes with other hashes log in, too
    assert not [each.message for each in (*report.findings, *report.strays) if "hashes" in each.message]


WATCHES = """
    import asyncio

    import kopf
    import kubernetes
    import kubernetes_asyncio
    import lightkube
    from lightkube.resources.core_v1 import ConfigMap

    def body(name):
        return {"metadata": {"name": name}}

    @kopf.on.create("animals")
    async def creates(namespace, **_):
        async with kubernetes_asyncio.client.ApiClient() as api:
            await asyncio.sleep(60)
            await kubernetes_asyncio.client.CoreV1Api(api).create_namespaced_config_map(namespace, body("made"))

    @kopf.on.create("animals")
    def in_a_thread(namespace, **_):
        api = kubernetes.client.CoreV1Api()
        watch = kubernetes.watch.Watch()
        for event in watch.stream(api.list_namespaced_config_map, namespace, timeout_seconds=100):
            if event["object"].metadata.name == "made":
                api.create_namespaced_config_map(namespace, body("thread-saw-it"))

    @kopf.on.create("animals")
    async def awaited(namespace, **_):
        async with kubernetes_asyncio.client.ApiClient() as client, kubernetes_asyncio.watch.Watch() as watch:
            api = kubernetes_asyncio.client.CoreV1Api(client)
            async for event in watch.stream(api.list_namespaced_config_map, namespace, timeout_seconds=100):
                if event["object"].metadata.name == "made":
                    await api.create_namespaced_config_map(namespace, body("loop-saw-it"))
                    return

    @kopf.daemon("animals")
    def in_a_thread_over_httpx(namespace, **_):
        client = lightkube.Client()
        for kind, found in client.watch(ConfigMap, namespace=namespace):
            if (kind, found.metadata.name) == ("ADDED", "made"):
                client.create(ConfigMap.from_dict(body("httpx-thread-saw-it")), namespace=namespace)
                return

    @kopf.daemon("animals")
    async def awaited_over_httpx(namespace, **_):
        client = lightkube.AsyncClient()
        async for kind, found in client.watch(ConfigMap, namespace=namespace):
            if (kind, found.metadata.name) == ("ADDED", "made"):
                await client.create(ConfigMap.from_dict(body("httpx-loop-saw-it")), namespace=namespace)
                return
"""


def test_a_watch_of_a_client_library_gets_the_events_of_the_world(write):
    """Those of a minute later, too. It ends when the API server ends it, or when the handler leaves it."""
    with Runner(write(WATCHES), 0) as runner:
        outcome = runner.run(History((CREATE,)))
    assert outcome.at_rest
    assert not outcome.failures
    made = {change.identity.name: change.at for change in outcome.changes if change.identity.kind == "ConfigMap"}
    assert set(made) == {"made", *(f"{where}-saw-it" for where in ("thread", "loop", "httpx-thread", "httpx-loop"))}
    assert all(made[f"{where}-saw-it"] - made["made"] < 1 for where in ("thread", "httpx-thread", "httpx-loop"))


def test_a_watch_that_blocks_the_event_loop_is_named(write):
    """No event would ever come."""
    subject = write(
        """
        import kopf
        import kubernetes

        @kopf.on.create("animals")
        async def wait(namespace, **_):
            for event in kubernetes.watch.Watch().stream(
                kubernetes.client.CoreV1Api().list_namespaced_pod, namespace
            ):
                return
        """
    )
    [problem] = Explorer(subject, only=("explore-loop",)).run().problems
    assert "a watch of a library that blocks the event loop sees nothing" in problem.message


def test_each_process_has_fresh_modules(write):
    """What a module keeps in a global goes with the process, as it does in a cluster."""
    subject = write(
        """
        import kopf

        KNOWN = set()

        @kopf.on.event("animals")
        async def see(name, body, **_):
            if name not in KNOWN:
                KNOWN.add(name)
                kopf.info(body, reason="Seen")
        """
    )
    crash = Fault(FaultKind.BACK)
    with Runner(subject, 0) as runner:
        once = runner.run(History((CREATE,)))
        twice = runner.run(History((CREATE,), crash))
    events = [[each for each in outcome.changes if each.identity.kind == "Event"] for outcome in (once, twice)]
    assert [len(each) for each in events] == [1, 2]


def test_notes_of_kopf_are_no_changes(write):
    """Neither in a state nor as something that never rests, with any prefix. A finalizer is a change."""
    subject = write(
        """
        import kopf

        @kopf.on.startup()
        def configure(settings, **_):
            settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix="zoo.dev")
            settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix="zoo.dev", key="last")

        @kopf.on.create("animals")
        def create(retry, **_):
            if retry < 30:
                raise kopf.TemporaryError("not yet", delay=20)
            return {"tries": retry}

        @kopf.on.delete("animals")
        def delete(**_):
            pass
        """
    )
    with Runner(subject, 0) as runner:
        outcome = runner.run(History((CREATE,)))
    [state] = [values for identity, values in outcome.states[0].items() if identity.kind == "Animal"]
    assert state["metadata"] == {"name": "kiki", "finalizers": ["kopf.zalando.org/KopfFinalizerMarker"]}
    assert outcome.at_rest
    assert len([change for change in outcome.changes if change.by and change.identity.kind == "Animal"]) == 1


def test_a_daemon_in_a_thread_follows_virtual_time_and_ends_with_its_process(write):
    """`stopped.wait` too."""
    subject = write(
        """
        import kopf
        import kubernetes

        @kopf.daemon("animals")
        def watch_over(stopped, namespace, **_):
            turn = 0
            while not stopped:
                if turn < 3:
                    kubernetes.client.CoreV1Api().create_namespaced_config_map(
                        namespace, {"metadata": {"generateName": f"turn-{turn}-"}}
                    )
                turn += 1
                stopped.wait(60)
        """
    )
    assert [name[:6] for name in changes(subject, CREATE, DELETE)] == ["turn-0", "turn-1", "turn-2", "kiki:0"]


def test_only_a_manager_tells_handlers_of_deletions_that_nobody_saw():
    """It lists again, and forgets what it knew."""

    class RecreatesDeleted(handlers.Handled):
        """Waits for the deletion of a child."""

        async def look(self, event, meta, **_):  # type: ignore[no-untyped-def, override]
            """Bring it back."""
            if event["type"] == "DELETED":
                await super().look(meta)

    subject = subject_of(lambda manager: RecreatesDeleted(manager.client).setup(manager))
    lost = Step(
        Verb.DELETE,
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kiki-menu", "namespace": "default"}},
        unseen=True,
    )
    found = []
    for plain in (False, True):
        with Runner(dataclasses.replace(subject, is_plain_kopf=plain), 0) as runner:
            outcome = runner.run(History((CREATE, lost)))
        found.append(any(str(identity) == MENU for identity in outcome.states[-1]))
    assert found == [True, False]


ADMISSION = """
    import kopf

    @kopf.on.mutate("animals")
    def add(spec, patch, operation, **_):
        patch.spec["count"] = spec.get("count", 0) + 1

    @kopf.on.validate("animals")
    async def check(spec, **_):
        if len(spec["food"]) > 60:
            raise kopf.AdmissionError("too much", code=422)
        spec["house"]

    @kopf.on.event("animals")
    def see(**_):
        pass
"""


def test_admission_handlers_are_asked(write):
    """A mutation that changes an object again with each update, and an error of programming in a check."""
    lines = dedent(ADMISSION).splitlines()
    report = Explorer(write(ADMISSION), only=("explore-loop", "explore-bug")).run()
    loop, bug = sorted(report.findings, key=lambda finding: finding.code.slug, reverse=True)
    assert loop.message == (
        "Animal kiki: spec.count is 2 instead of 1 after an update without a change: the webhook is not idempotent"
    )
    assert lines[loop.span.line - 1] == '@kopf.on.mutate("animals")'
    assert bug.message == "KeyError, though the schema accepts `no spec.house`: 'house'"
    assert lines[bug.span.line - 1] == '    spec["house"]'


@pytest.mark.parametrize(
    ("source", "files", "said", "line"),
    [
        ("import nothing_of_this_name", {}, "cannot be imported: ModuleNotFoundError", 1),
        ("import sys\nsys.exit(3)", {}, "cannot be imported: SystemExit: 3", 2),
        ("import kopf", {}, "`handlers.py` has no handlers", 1),
        ("import kopf", {"sample": "nowhere.yaml"}, "there is no file", 0),
        ("import kopf", {"crd": "cr.yaml"}, "no CustomResourceDefinition is given for zoo.example.com/v1 Animal", 1),
    ],
)
def test_what_cannot_be_explored_is_told(write, source, files, said, line):
    """In one message with its place."""
    with pytest.raises(EnvironmentProblem) as raised:
        Explorer(write(source, **files)).run()
    diagnostic = raised.value.diagnostic
    assert said in diagnostic.message
    assert (diagnostic.span.line if diagnostic.span else 0) == line


@pytest.mark.parametrize(
    ("source", "said", "line"),
    [
        ("@kopf.on.create('pods')\ndef see(**_):\n    pass", "no handler is called for the sample Animal kiki", 1),
        (
            "@kopf.on.startup()\ndef see(**_):\n    raise ValueError('no')\n@kopf.on.event('animals')\ndef f(**_):\n    pass",
            "the operator does not start: ValueError: no",
            4,
        ),
        ("@kopf.on.create('animals')\ndef see(**_):\n    raise SystemExit(3)", "a handler ended by SystemExit: 3", 4),
    ],
)
def test_an_operator_that_does_nothing_is_a_problem(write, source, said, line):
    """It is never "no findings"."""
    [problem] = Explorer(write(f"import kopf\n{source}")).run().problems
    assert said in problem.message
    assert problem.span.line == line


def test_notes_are_told_from_the_rest():
    """In objects and in patches."""
    notes = Bookkeeping(("kopf.zalando.org/",), frozenset({"last"}), (("status", "kopf", "progress"),))
    patch = {"metadata": {"annotations": {"kopf.zalando.org/create": "{}", "last": "{}"}}}
    assert notes.is_all(patch)
    assert notes.is_all({"status": {"kopf": {"progress": {"create": {}}}}})
    assert not notes.is_all({**patch, "status": {"phase": "Ready"}})
    assert not notes.is_all({"metadata": {"annotations": {"mine": "x"}}})
    assert notes.without({"metadata": {"name": "a", "annotations": {"last": "", "b": "c"}}, "spec": {}}) == {
        "metadata": {"name": "a", "annotations": {"b": "c"}},
        "spec": {},
    }


SETTINGS = """
[tool.pykb.explore]
seed = 7
histories = 3
actors = ["people:stumbles"]
objects = ["more.yaml"]
ignore = [{ field = "Animal.status.count", reason = "it is counted anew" }]
"""


def test_settings_hold_without_a_project(write, tmp_path):
    """As those of a project: limits, actors, objects and what may differ."""
    (tmp_path / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "people.py").write_text(
        "async def stumbles(cluster):\n    raise KeyError('no key')\n", encoding="utf-8"
    )
    menu = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "menu"}}
    other = {**SAMPLE, "metadata": {"name": "other"}}
    (tmp_path / "more.yaml").write_text(yaml.safe_dump_all([menu, other]), encoding="utf-8")
    subject = write(
        """
        import kopf

        @kopf.on.create("animals")
        async def counts(spec, patch, **_):
            patch.status["count"] = spec["count"]
        """
    )
    assert subject.settings.seed == 7
    assert [each["metadata"]["name"] for each in (*subject.background, *subject.neighbours)] == ["menu", "other"]
    report = Explorer(subject).run()
    assert report.histories.total() == 3
    assert any("the actor `people:stumbles` fails" in each.message for each in report.problems)


def test_a_mistake_in_settings_without_a_project_has_its_place(write, tmp_path):
    """And what it may be."""
    (tmp_path / "pyproject.toml").write_text("[tool.pykb.explore]\nsed = 7\n", encoding="utf-8")
    with pytest.raises(EnvironmentProblem, match="has no key `sed`") as raised:
        write("import kopf")
    assert raised.value.diagnostic.span is not None
    assert (raised.value.diagnostic.span.path, raised.value.diagnostic.span.line) == ("pyproject.toml", 2)
