"""The page of `pykb dev` in a real browser. Its server is the real one, and gets records over its real socket."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from pykb.dev.page.history import History, received
from pykb.dev.page.objects import Cluster
from pykb.dev.page.server import Page as Server
from pykb.dev.page.server import Workbench
from pykb.diagnostics.codes.environment import CLUSTER_UNREACHABLE
from pykb.envtest.rest import Rest
from tests.conftest import ROOT
from tests.records import ENDING

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "color": {"type": "string", "enum": ["red", "green"], "description": "How it looks."},
        "fruits": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
        "size": {"type": "integer", "description": "How much fits into it."},
    },
}
SCHEMAS = {("store.example.com/v1", "Basket"): {"type": "object", "properties": {"spec": SPEC}}}

expect.set_options(timeout=20_000)  # for a busy machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests in this folder need a browser."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


class Site:
    """The server of the page in a thread of its own, and what a manager and a cluster tell it."""

    def __init__(self, folder: Path, connect: Callable[[], Rest]) -> None:
        self.history = new_history()
        self.socket = folder / "records"
        self.connect = connect
        self.samples = folder / "samples"
        self.samples.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.restarts = 0
        self.server = self.new_server()
        self.start()

    def new_server(self) -> Server:
        """A server on our port."""

        async def restart() -> None:
            self.restarts += 1

        return Server(
            history=self.history,
            cluster=Cluster(self.connect),
            workbench=Workbench(self.samples, self.samples.parent, restart, lambda: SCHEMAS),
            port=self.port,
        )

    def start(self) -> None:
        """Serve."""
        listening = threading.Event()

        async def serve() -> None:
            self.loop, self.stopping = asyncio.get_running_loop(), asyncio.Event()
            async with received(self.history, self.socket), self.server.served() as self.url:
                listening.set()
                await self.stopping.wait()

        self.thread = threading.Thread(target=lambda: asyncio.run(serve()))
        self.thread.start()
        assert listening.wait(20)
        self.manager = socket.socket(socket.AF_UNIX)
        self.manager.connect(str(self.socket))

    def stop(self) -> None:
        """Stop serving."""
        self.manager.close()
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join()
        self.socket.unlink(missing_ok=True)

    def restart(self, *, anew: bool = False) -> None:
        """Serve again, for the browsers that had been let in; ``anew`` is without what was kept."""
        if anew:
            self.history = new_history()
        before, self.server = self.server, self.new_server()
        self.server._session, self.server._token = before._session, before._token
        self.start()

    def send(self, *records: dict[str, Any]) -> None:
        """Send records as a manager does."""
        self.manager.sendall(b"".join(json.dumps(each).encode() + b"\n" for each in records))

    def tell(self, method: Callable[..., None], *arguments: Any) -> None:
        """Call a method of the history in its thread, and wait for it."""
        done = threading.Event()
        self.loop.call_soon_threadsafe(lambda: (method(*arguments), done.set()))
        assert done.wait(20)


def new_history() -> History:
    """The history of a manager on this machine."""
    return History(project="shop", cluster="a control plane", editor="idea://open?file={path}&line={line}")


def basket(name: str, *, kind: str = "Basket", owners: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    """What the server says of an object."""
    return {
        "uid": f"{kind}-{name}",
        "apiVersion": "store.example.com/v1" if kind == "Basket" else "v1",
        "kind": kind,
        "namespace": "default",
        "name": name,
        "createdAt": "2026-01-02T03:04:05Z",
        "deletingSince": None,
        "finalizers": [],
        "owners": list(owners),
        "generation": 1,
        "observedGeneration": 1,
        "conditions": [],
        "phase": "",
        "ready": None,
        "resourceVersion": "1",
        **more,
    }


def identity(name: str) -> dict[str, str]:
    """A Basket of this name."""
    return {"apiVersion": "store.example.com/v1", "kind": "Basket", "namespace": "default", "name": name}


def cause(name: str, **more: Any) -> dict[str, Any]:
    """Why a reconcile runs: its object changed."""
    told = {"kind": "event", "event": "update", "object": identity(name), "changes": [], "fieldManager": "kubectl"}
    return {**told, "writtenBy": None, **more}


def started(key: str, name: str, **more: Any) -> dict[str, Any]:
    """The record of a reconcile that runs."""
    told = {"event": "started", "id": key, "controller": "basket", "request": f"default/{name}"}
    return {
        **told,
        "object": identity(name),
        "at": time.time(),
        "causes": [cause(name)],
        "moreCauses": 0,
        "queued": 0,
        **more,
    }


def ended(key: str, name: str, **more: Any) -> dict[str, Any]:
    """The record of a reconcile that has ended."""
    return {**ENDING, **started(key, name), "event": "ended", "seconds": 0.01, **more}


def call(key: str, name: str, **more: Any) -> dict[str, Any]:
    """The record of a webhook call."""
    return {
        "event": "webhook",
        "id": key,
        "type": "validating",
        "path": "/validate-basket",
        "at": time.time(),
        "seconds": 0.002,
        "object": identity(name),
        "objects": 1,
        "operation": "UPDATE",
        "subresource": "",
        "user": "jane",
        "dryRun": False,
        "sentBy": None,
        "before": None,
        "after": None,
        "changes": [],
        "allowed": True,
        "message": "",
        "fields": [],
        "warnings": [],
        "error": None,
        "logs": [],
        "moreLogs": 0,
        **more,
    }


def no_cluster() -> Rest:
    """For tests that ask no cluster."""
    raise CLUSTER_UNREACHABLE.problem("this test has no cluster")


@pytest.fixture
def connect() -> Callable[[], Rest]:
    """Connects the page with its cluster."""
    return no_cluster


@pytest.fixture
def site(tmp_path: Path, connect: Callable[[], Rest]) -> Iterator[Site]:
    """A running server of the page."""
    site = Site(tmp_path, connect)
    yield site
    site.stop()


def program() -> str:
    """The browser of this machine."""
    found = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert found, "no chromium is on PATH: install it, or name it by CHROMIUM"
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """The page in a window. What the browser complains of fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
    context.set_default_timeout(20_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda line: complaints.append(line.text) if "Content Security Policy" in line.text else None)
    try:
        page.goto(url)
        page.locator("#project", has_text="shop").wait_for()
        yield page
        assert complaints == []
    finally:
        context.close()


@pytest.fixture
def page(browser: Browser, site: Site) -> Iterator[Page]:
    """The page in a window."""
    with opened(browser, site.url) as page:
        yield page


@pytest.fixture(scope="session")
def axe() -> str:
    """The program that looks for what keeps people from using a page."""
    subprocess.run(["make", "--no-print-directory", "hack/page/node_modules/.ready"], cwd=ROOT, check=True)
    return (ROOT / "hack/page/node_modules/axe-core/axe.min.js").read_text(encoding="utf-8")
