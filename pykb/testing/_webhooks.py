"""Webhooks under test: a manager's, and the project's conversions. This machine serves them to the API server."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import secrets
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.render import render
from pykb.envtest.components import LOOPBACK, write_serving_certificate
from pykb.envtest.crds import Converted, install_conversions, remove_conversions, settle_conversions
from pykb.envtest.rest import Rest
from pykb.envtest.webhooks import (
    MANIFEST,
    Serving,
    WebhookManifest,
    install_webhooks,
    remove_webhooks,
    settle,
    unreachable,
)
from pykb.meta.gvk import CONVERT
from pykb.project.file import read
from pykb.project.settings import config_path
from pykb.runtime.manager.manager import Manager
from pykb.runtime.options import ManagerOptions
from pykb.serving.options import CertificateOptions
from pykb.webhook.server import WebhookServer

HOST_VARIABLE = "PYKB_WEBHOOK_HOST"
"""A name or an address at which the cluster under test reaches this machine. Defaults to 127.0.0.1.

pykb's own control plane does not need it, because it runs on this machine. It may be needed with
``USE_EXISTING_CLUSTER=true``.
"""


@contextlib.contextmanager
def options_for_webhooks(options: ManagerOptions) -> Iterator[ManagerOptions]:
    """Yield options with which the API server can call the manager's webhooks. Files are removed at the end.

    Options are set before anything is registered, so every manager under test gets a free port and
    a certificate.
    """
    host = webhook_host()
    chosen = replace(options, webhook_port=0, webhook_bind_host=LOOPBACK if host == LOOPBACK else "")
    if not chosen.webhooks or chosen.webhook_certificate.directory is not None:
        yield chosen
        return
    with tempfile.TemporaryDirectory(prefix="pykb-", ignore_cleanup_errors=True) as folder:  # private
        write_serving_certificate(Path(folder), dict.fromkeys((host, LOOPBACK, "localhost")))
        yield replace(chosen, webhook_certificate=CertificateOptions(Path(folder)))


def webhook_host() -> str:
    """The host at which the cluster under test reaches this machine."""
    return os.environ.get(HOST_VARIABLE, "").strip() or LOOPBACK


@contextlib.asynccontextmanager
async def webhooks_in_effect(
    manager: Manager, paths: frozenset[str], kubeconfig: Path, project: Path
) -> AsyncIterator[None]:
    """Let the API server call the webhooks of a running manager during a block.

    Args:
        manager: The manager that serves them.
        paths: The paths that its user registered (kopf installs its own).
        kubeconfig: The cluster.
        project: The folder with the manifest that lists them.

    Raises:
        EnvironmentProblem: A webhook is not in the manifest, or the API server refuses them or
            cannot reach this machine.
    """
    rest, file = Rest.from_kubeconfig(kubeconfig), config_path(project, MANIFEST)
    called = _called(rest, manager.webhook_server, paths - {CONVERT}, file)
    # In threads: the API server calls the webhooks during the request.
    beginning = asyncio.create_task(asyncio.to_thread(called.__enter__))
    try:
        with _explained():
            await asyncio.shield(beginning)
        yield
    finally:
        await asyncio.wait({beginning})
        if beginning.exception() is None:
            await asyncio.to_thread(called.__exit__, None, None, None)


@contextlib.contextmanager
def _called(
    rest: Rest, server: WebhookServer, paths: frozenset[str] = frozenset(), file: Path = Path()
) -> Iterator[None]:
    """Let the API server call a running webhook server during a block: its converters, and admission at these paths.

    Args:
        rest: The cluster.
        server: The server.
        paths: The paths of admission webhooks.
        file: The manifest that lists them.
    """
    serving = Serving.at(webhook_host(), server.port, server.certificate.authority)
    webhooks: list[str] = []
    conversions: list[Converted] = []
    try:
        if paths:
            manifest = WebhookManifest.read(file)
            if unlisted := manifest.unlisted(paths):
                raise EnvironmentProblem(unlisted)
            prefix = f"pykb-test-{secrets.token_hex(4)}-"
            webhooks = install_webhooks(rest, manifest.configurations(serving, prefix=prefix, paths=paths))
        conversions = install_conversions(rest, server.converted, serving)
        if reason := settle(rest, serving):
            raise EnvironmentProblem(unreachable(serving, reason))
        settle_conversions(rest, conversions)
        yield
    finally:
        remove_webhooks(rest, webhooks)
        remove_conversions(rest, conversions)
        if webhooks:
            settle(rest, serving)
        settle_conversions(rest, conversions)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """A test's traceback shows only the message, so add the rest below it."""
    try:
        yield
    except EnvironmentProblem as problem:
        problem.add_note(render([problem.diagnostic]).rstrip())
        raise


@contextlib.contextmanager
def project_conversions(rest: Rest, project: Path) -> Iterator[None]:
    """Serve the project's converters during a block. Without converters, do nothing.

    A definition with a conversion webhook needs a server that answers. Without it, the API server
    cannot store an object in a version other than the stored one, whatever a test is about.

    Args:
        rest: The cluster, with the project's definitions.
        project: The folder of PROJECT. The converters that its package's ``register`` adds to a
            manager are served. The manager does not run.

    Raises:
        EnvironmentProblem: The cluster cannot reach this machine.
    """
    from pykb.fake import fake_client

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
        with _served(server), _called(rest, server):
            yield


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
