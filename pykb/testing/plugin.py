"""The pytest plugin. It is loaded in every environment with pykb, so importing it must be cheap."""

from __future__ import annotations

import contextlib
import re
import secrets
from collections.abc import AsyncIterator, Iterator
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pykb.client.clock import VirtualClock
    from pykb.diagnostics import EnvironmentProblem
    from pykb.envtest import ControlPlane
    from pykb.envtest.assets import Assets
    from pykb.envtest.control_plane import ExistingCluster
    from pykb.envtest.reporter import Step
    from pykb.runtime import Client
    from pykb.testing._explorers import ProjectExplorer
    from pykb.testing._managers import RunManager

CRD_FOLDER = "crd/bases"
"""The folder of the CRDs, below `config/`."""

_EXPLORED = "pykb explored"
"""The property of a test that says what it has explored."""

_ASSETS: pytest.StashKey[Assets | EnvironmentProblem] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    """Add the async fixture for the installed async plugin."""
    if config.pluginmanager.has_plugin("asyncio"):
        import pytest_asyncio

        # Its own decorator makes the fixture work in its strict mode, too.
        _register(config, pytest_asyncio.fixture(_client), "pykb-asyncio")
    elif config.pluginmanager.has_plugin("anyio"):
        _register(config, pytest.fixture(_client_of_anyio), "pykb-anyio")


def _register(config: pytest.Config, fixture: object, name: str) -> None:
    plugin = ModuleType(name)  # pytest looks for fixtures in modules
    vars(plugin)["client"] = fixture
    config.pluginmanager.register(plugin, name)


async def _client(control_plane: ControlPlane | ExistingCluster) -> AsyncIterator[Client]:
    """A client of the control plane as its administrator. Every read is a request."""
    from pykb.runtime import Client

    async with Client.from_kubeconfig(control_plane.kubeconfig) as client:
        yield client


async def _client_of_anyio(
    anyio_backend: object,  # noqa: ARG001 - asking for it is what makes anyio run an async fixture
    control_plane: ControlPlane | ExistingCluster,
) -> AsyncIterator[Client]:
    """A client of the control plane as its administrator. Every read is a request."""
    async for each in _client(control_plane):
        yield each


def pytest_pycollect_makeitem(obj: object) -> list[pytest.Item] | None:
    """Do not collect a kind or a reconciler as a test class, even if its name is like ``TestRun``."""
    bases = obj.__mro__ if isinstance(obj, type) else ()
    return [] if any(base.__module__.startswith("pykb.") for base in bases) else None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Get the binaries of the control plane before the first test.

    The first run may build them, which takes minutes. That would count against the time limit of
    the first test (pytest-timeout).
    """
    if session.config.option.collectonly:
        return
    if any("control_plane" in getattr(item, "fixturenames", ()) for item in session.items):
        from pykb.envtest.control_plane import existing_cluster_wanted

        if not existing_cluster_wanted():
            _assets(session.config)


def _assets(config: pytest.Config) -> Assets | EnvironmentProblem:
    """The binaries, or the reason why they are missing. Determined once."""
    found = config.stash.get(_ASSETS, None)
    if found is None:
        from pykb.diagnostics import EnvironmentProblem
        from pykb.envtest import get_assets

        try:
            found = get_assets(reporter=_Reporter(config))
        except EnvironmentProblem as problem:
            found = problem
        config.stash[_ASSETS] = found
    return found


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane | ExistingCluster]:
    """A real control plane for the whole run: etcd and kube-apiserver with RBAC, ready in seconds.

    With ``USE_EXISTING_CLUSTER=true`` it is the cluster of ``KUBECONFIG`` (or ``~/.kube/config``)
    instead. The control plane has no controllers: nothing is garbage-collected, Deployments make no
    pods, and namespaces stay in ``Terminating``.
    """
    from pykb.diagnostics import EnvironmentProblem
    from pykb.envtest import ControlPlane
    from pykb.envtest.control_plane import ExistingCluster, default_kubeconfig, existing_cluster_wanted

    try:
        if existing_cluster_wanted():
            cluster = ExistingCluster(default_kubeconfig())
            cluster.check()
            yield cluster
            return
        assets = _assets(pytestconfig)
        if isinstance(assets, EnvironmentProblem):
            pytest.fail(_explain(assets), pytrace=False)
        running = ControlPlane(assets=assets).start()
    except EnvironmentProblem as problem:
        pytest.fail(_explain(problem), pytrace=False)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def crds(control_plane: ControlPlane | ExistingCluster, pytestconfig: pytest.Config) -> Iterator[list[str]]:
    """Install the CustomResourceDefinitions of the project under test, and return their names.

    If they have a conversion webhook, it is served too, with the converters that ``register`` of
    the project's ``__main__`` adds to a manager.
    """
    from pykb.diagnostics import EnvironmentProblem
    from pykb.envtest.crds import has_conversion
    from pykb.project.settings import config_path

    try:
        folder = config_path(pytestconfig.rootpath, CRD_FOLDER)
    except EnvironmentProblem as problem:
        pytest.fail(_explain(problem), pytrace=False)
    if not folder.is_dir():
        yield []  # a project without its own kinds
        return
    with contextlib.ExitStack() as stack:
        try:
            names = control_plane.install_crds(folder)
            if has_conversion(folder):
                from pykb.testing._webhooks import project_conversions

                stack.enter_context(project_conversions(control_plane.rest(), pytestconfig.rootpath))
        except EnvironmentProblem as problem:
            pytest.fail(_explain(problem), pytrace=False)
        yield names


@pytest.fixture
def namespace(control_plane: ControlPlane | ExistingCluster, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace for one test, named after it. Its deletion starts after the test and is not waited for."""
    words = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[:40].strip("-")
    name = f"{words or 'test'}-{secrets.token_hex(4)}"
    rest = control_plane.rest()
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    answer = rest.call("POST", "/api/v1/namespaces", body)
    if not answer.ok:
        pytest.fail(f"cannot make the namespace `{name}`: {answer.message}", pytrace=False)
    yield name
    rest.call("DELETE", f"/api/v1/namespaces/{name}")


@pytest.fixture
def run_manager(control_plane: ControlPlane | ExistingCluster, pytestconfig: pytest.Config) -> RunManager:
    """Runs reconcilers and webhooks against the control plane during an ``async with`` block."""
    from pykb.testing._managers import RunManager

    return RunManager(control_plane.kubeconfig, pytestconfig.rootpath)


@pytest.fixture
def explorer(request: pytest.FixtureRequest) -> ProjectExplorer:
    """Looks for faults of the operator in memory and in virtual time: ``explorer.run(register).check()``."""
    from pykb.testing._explorers import ProjectExplorer

    properties = request.node.user_properties
    return ProjectExplorer(request.config.rootpath, lambda tried: properties.append((_EXPLORED, tried)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the explorer has tried: that nothing was found means no more than this."""
    reports = [each for how in ("passed", "failed") for each in terminalreporter.getreports(how)]
    lines = [f"{each.nodeid}: {value}" for each in reports for name, value in each.user_properties if name == _EXPLORED]
    if lines:
        terminalreporter.section("explored")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture
def virtual_clock() -> VirtualClock:
    """A clock that stands still until ``advance`` is called."""
    from pykb.client.clock import VirtualClock

    return VirtualClock()


def _explain(problem: EnvironmentProblem) -> str:
    """A broken environment as the text of a failed fixture: message, reasons, remedies."""
    from pykb.diagnostics.render import render

    return render([problem.diagnostic]).rstrip()


class _Reporter:
    """Shows slow steps despite pytest's capturing: the first run may build a control plane for minutes."""

    def __init__(self, config: pytest.Config) -> None:
        self._capture = config.pluginmanager.getplugin("capturemanager")
        self._writer = config.get_terminal_writer()

    def step(self, title: str) -> Step:
        """A step begins."""
        self.note(title)
        return _Step(self, title)

    def note(self, text: str) -> None:
        """Write a separate line."""
        with self._capture.global_and_fixture_disabled() if self._capture else contextlib.nullcontext():
            if self._writer.width_of_current_line:
                self._writer.line()
            self._writer.line(f"pykb: {text}")


class _Step:
    def __init__(self, reporter: _Reporter, title: str) -> None:
        self._reporter = reporter
        self._title = title

    def update(self, detail: str) -> None:
        """Write nothing: progress would be too much for the output of a test run."""

    def done(self, detail: str = "") -> None:
        """Write nothing: the next step or the first test shows it."""

    def failed(self, detail: str) -> None:
        """The step failed."""
        self._reporter.note(f"{self._title}: {detail}")
