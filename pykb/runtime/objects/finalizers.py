"""Clean-ups by finalizer, like controller-runtime's ``finalizer``. They run when an object is deleted."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pykb.runtime.client.client import Client
from pykb.runtime.client.codec import AnyObjectT, is_deleted
from pykb.runtime.client.patches import merge_from
from pykb.runtime.objects._finalizer_list import add_finalizer, has_finalizer, let_go, remove_finalizer

CleanUp = Callable[[Any], Awaitable[object] | None]
"""Cleans up what was made for an object.

It is called again after a failure, even of another clean-up, so it must accept that resources are gone already.
An object that does not fit its type any more is read as far as it fits. Missing fields are empty (``""``, ``0``,
``None``).
"""


class Finalizers:
    """The clean-ups of one kind.

    ::

        self.finalizers = Finalizers(client, {"infra.example.com/disk": self.delete_disk})
        ...
        if await self.finalizers.finalize(machine):
            return Result()  # it is being deleted: there is nothing else to do for it
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

    async def finalize(self, obj: AnyObjectT) -> bool:
        """Add finalizers to an object, or run its clean-ups. Return whether it is being deleted.

        A live object gets its missing finalizers in one write. If the object is being deleted, the
        clean-ups of its remaining finalizers run. Finalizers whose clean-ups succeeded are then
        removed in one write.

        Raises:
            Exception: The error of a clean-up, or an ``ExceptionGroup`` of several errors.
            Conflict: The object has changed since it was read. Read it again.
            ApiError: The server refused.
        """
        if not is_deleted(obj):
            patch = merge_from(obj, optimistic_lock=True)  # others' finalizers must not be lost
            if [name for name in self._clean_ups if add_finalizer(obj, name)]:
                await self._client.patch(obj, patch)
            return False
        failures: list[Exception] = []
        cleaned: list[str] = []
        for name, clean_up in self._clean_ups.items():
            if not has_finalizer(obj, name):
                continue
            try:
                running = clean_up(obj)
                if inspect.isawaitable(running):
                    await running
            except Exception as error:  # noqa: BLE001 - raised below, after the successful ones are written
                failures.append(error)
            else:
                cleaned.append(name)
        patch = merge_from(obj, optimistic_lock=True)
        if [name for name in cleaned if remove_finalizer(obj, name)]:
            await let_go(self._client, obj, patch)
        if failures:
            raise failures[0] if len(failures) == 1 else ExceptionGroup("clean-ups failed", failures)
        return True
