"""Configures the client libraries that handlers use, for the manager's cluster.

kopf's own login does so on its way, and handlers rely on it: `kubernetes.client.CoreV1Api()` has no other hint of a
server. Each new client of a library copies its default configuration.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import inspect
import logging
import os
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from pykb.api.safe_text import error_text
from pykb.client.login import (
    Credentials,
    CredentialSource,
    DiscoveredCredentials,
    InClusterSource,
    KubeconfigSource,
)
from pykb.client.login._kubeconfig import cluster_entry

logger = logging.getLogger(__name__)

LIBRARIES = ("kubernetes", "kubernetes_asyncio")
"""The installed ones are configured. Of pykube, kopf keeps no configuration that handlers could use."""


async def configure_libraries(source: CredentialSource, credentials: Credentials) -> None:
    """Configure the installed libraries. A failure is logged, as most handlers do not need them.

    Args:
        source: How the manager logs in. The libraries read the same files, and renew what they read.
        credentials: Its present credentials.
    """
    for library in LIBRARIES:
        if find_spec(library) is not None:
            try:
                await _configure(library, source, credentials)
            except Exception as error:  # noqa: BLE001 - whatever a library raises
                shown = {"library": library, "error": error_text(error)}
                logger.warning("a client library is not configured: handlers cannot use it", extra=shown)


async def _configure(library: str, source: CredentialSource, credentials: Credentials) -> None:
    # The import takes seconds, and a kubeconfig may name a program to run.
    config: Any = await asyncio.to_thread(importlib.import_module, f"{library}.config")
    found = source.found if isinstance(source, DiscoveredCredentials) else source
    if isinstance(found, KubeconfigSource):
        files = os.pathsep.join(map(str, found.files))
        await _called(config.load_kube_config, files, found.context, persist_config=False)
        if found.server is not None:
            configuration = importlib.import_module(f"{library}.client").Configuration
            chosen = configuration.get_default_copy()
            chosen.host = found.server
            configuration.set_default(chosen)
    elif isinstance(found, InClusterSource):
        loader = importlib.import_module(f"{library}.config.incluster_config").InClusterConfigLoader
        token, authority = (str(found.directory / name) for name in ("token", "ca.crt"))
        await _called(loader(token, authority, environ=_variables(credentials.server)).load_and_set)
    else:
        await _called(config.load_kube_config_from_dict, _as_kubeconfig(credentials))


def _variables(server: str) -> dict[str, str]:
    """The variables of a pod with this server."""
    parts = urlsplit(server)
    return {"KUBERNETES_SERVICE_HOST": parts.hostname or "", "KUBERNETES_SERVICE_PORT": str(parts.port or 443)}


async def _called(load: Any, *arguments: Any, **options: Any) -> None:
    if inspect.iscoroutinefunction(load):
        await load(*arguments, **options)
    else:
        await asyncio.to_thread(load, *arguments, **options)


def _as_kubeconfig(credentials: Credentials) -> dict[str, Any]:
    """Credentials of another source in the one form that both libraries read."""
    user = {
        "client-certificate-data": base64.b64encode(credentials.client_certificate or b"").decode(),
        "client-key-data": base64.b64encode(credentials.client_key or b"").decode(),
        "token": credentials.token,
        "username": credentials.username,
        "password": credentials.password,
    }
    return {
        "current-context": "pykb",
        "contexts": [{"name": "pykb", "context": {"cluster": "pykb", "user": "pykb"}}],
        "clusters": [{"name": "pykb", "cluster": cluster_entry(credentials)}],
        "users": [{"name": "pykb", "user": {key: value for key, value in user.items() if value}}],
    }
