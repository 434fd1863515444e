"""Serves the conversion webhook of the project under test, for every test of a session.

A definition with a conversion webhook needs a server that answers. Without it, the API server
cannot store an object in a version other than the stored one, whatever the test is about.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.conversions import install_conversions, remove_conversions, settle_conversions
from pykb.envtest.rest import Rest
from pykb.envtest.webhook_manifest import Serving
from pykb.envtest.webhooks import settle, unreachable
from pykb.project.file import read
from pykb.runtime.fake import fake_client
from pykb.runtime.manager.manager import Manager
from pykb.runtime.manager.options import ManagerOptions
from pykb.runtime.webhook.server import WebhookServer
from pykb.testing._webhooks import options_for_webhooks, webhook_host


@contextlib.contextmanager
def project_conversions(rest: Rest, project: Path) -> Iterator[None]:
    """Serve the project's converters during a block. Without converters, do nothing.

    Args:
        rest: The cluster, with the project's definitions.
        project: The folder of PROJECT. The converters that its package's ``register`` adds to a
            manager are served. The manager does not run.

    Raises:
        EnvironmentProblem: The cluster cannot reach this machine.
    """
    register = _register_of(project)
    if register is None:
        yield
        return
    with options_for_webhooks(ManagerOptions()) as options:
        manager = Manager(options, client=fake_client())
        register(manager)
        server = manager.webhook_server
        if not server.converted:
            yield
            return
        with _served(server):
            serving = Serving.at(webhook_host(), server.port, server.certificate.authority)
            converted = install_conversions(rest, server.converted, serving)
            try:
                if reason := settle(rest, serving):
                    raise EnvironmentProblem(unreachable(serving, reason))
                settle_conversions(rest, converted)
                yield
            finally:
                remove_conversions(rest, converted)


def _register_of(project: Path) -> Callable[[Manager], Any] | None:
    package = read(project)[0].package
    return getattr(importlib.import_module(f"{package}.__main__"), "register", None) if package else None


@contextlib.contextmanager
def _served(server: WebhookServer) -> Iterator[None]:
    """Run the server on its own event loop: each test has a different loop, and some have none."""
    started: Future[Callable[[], object]] = Future()

    async def serve() -> None:
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            serving = tasks.create_task(server.run())
            await server.listening()
            started.set_result(partial(loop.call_soon_threadsafe, stop.set))
            await stop.wait()
            serving.cancel()

    def run() -> None:
        try:
            asyncio.run(serve())
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=run, name="conversions", daemon=True)
    thread.start()
    stop = started.result()
    try:
        yield
    finally:
        stop()
        thread.join()
