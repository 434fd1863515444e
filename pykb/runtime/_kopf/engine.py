"""Lists and watches through kopf, for informers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import kopf

from pykb.diagnostics import EnvironmentProblem
from pykb.runtime._kopf.internals import APIError, LoginError, Vault, auth, continuous_watch, references, watching
from pykb.runtime._kopf.session import kopf_session
from pykb.runtime.client.listwatch import refused
from pykb.runtime.client.session import new_session
from pykb.runtime.client.transport import RequestObserver
from pykb.runtime.errors import Forbidden
from pykb.runtime.login import Credentials, CredentialSource
from pykb.runtime.login.expiry import expired_part
from pykb.runtime.reflector import LISTED, Listed, RawEvent, WatchFailed, WatchTarget

logger = logging.getLogger(__name__)

RETRIES = (0.2, 0.5, 1.0, 1.0, 2.0, 2.0, 3.0, 5.0)
"""Pauses in seconds between kopf's tries of one request; short, since reflectors have pauses of their own."""

SILENCE = timedelta(seconds=70)
"""A stream without a bookmark for so long is dead: the apiserver sends one every minute."""


class Engine:
    """Lists and watches through kopf; :meth:`run` must be running for any stream to get anywhere."""

    def __init__(
        self, source: CredentialSource, *, silence: timedelta = SILENCE, observer: RequestObserver | None = None
    ) -> None:
        self._source = source
        self._observer = observer
        self._logins: dict[bool, _Login] = {}
        self._silence = silence
        self._tasks: asyncio.TaskGroup | None = None

    async def run(self) -> None:
        """Provide credentials to all streams, until cancelled; closes its sessions at the end."""
        async with asyncio.TaskGroup() as self._tasks:
            for login in self._logins.values():
                self._tasks.create_task(login.run())
            await asyncio.get_running_loop().create_future()

    def _login(self, *, metadata_only: bool) -> _Login:
        """The login for a form of objects: kopf knows no headers by request, so each form has sessions of its own."""
        login = self._logins.get(metadata_only)
        if login is None:
            login = _Login(self._source, metadata_only=metadata_only, observer=self._observer)
            self._logins[metadata_only] = login
            if self._tasks is not None:
                self._tasks.create_task(login.run())
        return login

    async def stream(self, target: WatchTarget) -> AsyncGenerator[RawEvent | Listed, None]:
        """One list and the watch that follows it.

        Raises:
            WatchFailed: See :class:`~pykb.runtime.reflector.ListWatch`.
        """
        # kopf finds credentials by a context variable: each reflector's task has its own context to set it in.
        auth.vault_var.set(self._login(metadata_only=target.metadata_only).vault)
        never: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        events = continuous_watch(
            settings=self._settings(target),
            resource=_resource(target),
            namespace=references.NamespaceName(target.namespace) if target.namespace is not None else None,
            operator_pause_waiter=never,
        )
        try:
            async for event in events:
                if event is watching.Bookmark.LISTED:
                    yield LISTED
                else:
                    yield event  # type: ignore[misc] # kopf's RawEvent has the same two keys
        except APIError as error:
            raise refused(target, error.message or "", error.status) from error
        except Forbidden as error:
            raise refused(target, error.message, error.status) from error
        except watching.WatchingError as error:
            raise WatchFailed(str(error)) from error
        except (LoginError, aiohttp.ClientError, TimeoutError) as error:
            raise WatchFailed(f"{type(error).__name__}: {error}") from error
        finally:
            await events.aclose()  # type: ignore[attr-defined] # declared as AsyncIterator, is a generator
            never.cancel()

    def _settings(self, target: WatchTarget) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        settings.networking.error_backoffs = RETRIES
        settings.networking.connect_timeout = 10.0
        settings.watching.chunk_size = target.page_size
        settings.watching.inactivity_timeout = self._silence.total_seconds()
        # The settings serve this one stream, so its selectors may stand for every resource.
        if target.labels:
            settings.watching.label_selectors[kopf.EVERYTHING] = target.labels
        if target.fields:
            settings.watching.field_selectors[kopf.EVERYTHING] = target.fields
        return settings


class _Login:
    """Fills a kopf vault with sessions, first and after each 401."""

    def __init__(self, source: CredentialSource, *, metadata_only: bool, observer: RequestObserver | None) -> None:
        self.vault = Vault()
        self._source = source
        self._metadata_only = metadata_only
        self._observer = observer
        self._session: aiohttp.ClientSession | None = None

    async def run(self) -> None:
        try:
            await self._keep_logged_in()
        finally:
            await self.vault.close()
            if self._session is not None:
                await self._session.close()  # kopf closes only what it has used

    async def _keep_logged_in(self) -> None:
        rejected = 0
        credentials: Credentials | None = None
        while True:
            try:
                credentials = await (self._source.current() if credentials is None else self._source.refresh())
            except EnvironmentProblem as problem:
                logger.warning("cannot log in", extra={"error": problem.diagnostic.message})
            else:
                self._session = new_session(
                    credentials, metadata_only=self._metadata_only, observer=self._observer, raise_forbidden=True
                )
                # A session is new at every login, so kopf never takes it for one of those it saw fail.
                await self.vault.populate({"pykb": kopf_session(credentials, self._session)})
                populated = asyncio.get_running_loop().time()
                await self.vault.wait_for_emptiness()
                lasted = asyncio.get_running_loop().time() - populated
                rejected = 0 if lasted > 60.0 else rejected + 1
                if rejected <= 1:
                    continue
                # kopf waits for a login without a word; nobody would know why nothing is listed.
                why = expired_part(credentials, datetime.now(UTC)) or f"401 to {credentials.origin or 'them'}"
                logger.warning("the API server refuses the credentials", extra={"error": why, "tries": rejected})
            await asyncio.sleep(min(0.2 * 2 ** min(rejected, 10), 30.0))


def _resource(target: WatchTarget) -> references.Resource:
    return references.Resource(
        group=target.resource.group,
        version=target.resource.version,
        plural=target.resource.resource,
        kind=target.gvk.kind,
        namespaced=target.namespaced,
    )
