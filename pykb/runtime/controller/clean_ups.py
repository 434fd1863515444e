"""Clean-ups by finalizer, like controller-runtime's ``finalizer``. They run when an object is deleted."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from pykb.client.client import Client
from pykb.client.codec import AnyObject, AnyObjectT, is_deleted
from pykb.client.finalizers import add_finalizer, has_finalizer, let_go, remove_finalizer
from pykb.client.guard import is_end
from pykb.client.patches import merge_from
from pykb.runtime.requests.reconcile import Result

CleanUp = Callable[[Any], Awaitable[object] | object]
"""Cleans up what was made for an object.

It returns ``Result(requeue_after=...)`` if it is not done yet, for example because a snapshot still runs. Then the
finalizer stays, and it is called again after that time. It is done after any other answer.

It is also called again after a failure, even of another clean-up, so it must accept that resources are gone already.
An object that does not fit its type any more is read as far as it fits. Missing fields are empty (``""``, ``0``,
``None``).
"""


class Finalizers:
    """The clean-ups of one kind.

    ::

        self.finalizers = Finalizers(client, {"infra.example.com/disk": self.delete_disk})
        ...
        if finished := await self.finalizers.finalize(machine):
            return finished  # it is being deleted: there is nothing else to do for it
    """

    def __init__(self, client: Client, clean_ups: Mapping[str, CleanUp] | None = None) -> None:
        """Make the clean-ups of a kind.

        Args:
            client: Writes the finalizers.
            clean_ups: The clean-ups by name of the finalizer (``domain/name``), in the order in
                which they run.
        """
        self._client = client
        self._clean_ups: dict[str, CleanUp] = {}
        for name, clean_up in (clean_ups or {}).items():
            self.register(name, clean_up)

    def register(self, name: str, clean_up: CleanUp) -> None:
        """Add a clean-up.

        Raises:
            ValueError: The finalizer has a clean-up already.
        """
        if name in self._clean_ups:
            raise ValueError(f"the finalizer `{name}` has a clean-up already")
        self._clean_ups[name] = clean_up

    async def finalize(self, obj: AnyObjectT) -> Result | None:
        """Add finalizers to an object, or run its clean-ups.

        A live object gets its missing finalizers in one write. If the object is being deleted, the
        clean-ups of its remaining finalizers run. Finalizers whose clean-ups are done are then
        removed in one write.

        Returns:
            ``None`` for a live object. For one that is being deleted, what ``reconcile`` returns: with
            ``requeue_after``, if a clean-up is not done yet.

        Raises:
            BaseException: The error of a clean-up, or a group of several errors.
            Conflict: The object has changed since it was read. Read it again.
            ApiError: The server refused.
        """
        if not is_deleted(obj):
            patch = merge_from(obj, optimistic_lock=True)  # others' finalizers must not be lost
            if [name for name in self._clean_ups if add_finalizer(obj, name)]:
                await self._client.patch(obj, patch)
            return None
        cleaned, pauses, failures = await self._clean_up(obj)
        patch = merge_from(obj, optimistic_lock=True)
        if [name for name in cleaned if remove_finalizer(obj, name)]:
            await let_go(self._client, obj, patch)
        if failures:
            raise failures[0] if len(failures) == 1 else BaseExceptionGroup("clean-ups failed", failures)
        return Result(requeue_after=min(pauses, default=None))

    async def _clean_up(self, obj: AnyObject) -> tuple[list[str], list[timedelta], list[BaseException]]:
        """Run all clean-ups. Returns the finalizers of those done, the pauses of those that are not, and the errors."""
        cleaned: list[str] = []
        pauses: list[timedelta] = []
        failures: list[BaseException] = []
        for name, clean_up in self._clean_ups.items():
            if not has_finalizer(obj, name):
                continue
            try:
                answer = clean_up(obj)
                if inspect.isawaitable(answer):
                    answer = await answer
            except (asyncio.CancelledError, GeneratorExit):
                raise
            except BaseException as error:  # raised after the successful ones are written
                if is_end(error):
                    raise
                failures.append(error)
                continue
            if isinstance(answer, Result) and answer.requeue_after is not None:
                pauses.append(answer.requeue_after)
            else:
                cleaned.append(name)
        return cleaned, pauses, failures
