"""Clean-ups by finalizer, as controller-runtime's ``finalizer``: put on what lives, run when it is deleted."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pykb.runtime.client.client import Client
from pykb.runtime.client.codec import AnyObjectT, is_deleted
from pykb.runtime.client.patches import merge_from
from pykb.runtime.objects._finalizer_list import add_finalizer, has_finalizer, let_go, remove_finalizer

CleanUp = Callable[[Any], Awaitable[object] | None]
"""Undoes what was done for an object. It is called again after a failure, also one of another clean-up, and so must
not mind what is gone already. An object that does not fit its type any more has what fits: what is missing is empty
(``""``, ``0``, ``None``)."""


class Finalizers:
    """The clean-ups of one kind.

    ::

        self.finalizers = Finalizers(client, {"infra.example.com/disk": self.delete_disk})
        ...
        if await self.finalizers.finalize(machine):
            return Result()  # it is being deleted: there is nothing else to do for it
    """

    def __init__(self, client: Client, clean_ups: Mapping[str, CleanUp] | None = None) -> None:
        """Clean up so.

        Args:
            client: Writes the finalizers.
            clean_ups: By name of the finalizer (``domain/name``), in the order in which they run.
        """
        self._client = client
        self._clean_ups: dict[str, CleanUp] = {}
        for name, clean_up in (clean_ups or {}).items():
            self.register(name, clean_up)

    def register(self, name: str, clean_up: CleanUp) -> None:
        """Add a clean-up.

        Raises:
            ValueError: The finalizer has one already.
        """
        if name in self._clean_ups:
            raise ValueError(f"the finalizer `{name}` has a clean-up already")
        self._clean_ups[name] = clean_up

    async def finalize(self, obj: AnyObjectT) -> bool:
        """Do for an object what its finalizers ask for; tells whether it is being deleted.

        One that lives gets those that it lacks, in one write. For one that is being deleted, the clean-up of each
        finalizer that it still has is run; the finalizers of those that succeeded are taken away, in one write.

        Raises:
            Exception: What a clean-up failed with; an ``ExceptionGroup`` where several did.
            Conflict: The object has changed since it was read; read it again.
            ApiError: The server refused.
        """
        if not is_deleted(obj):
            patch = merge_from(obj, optimistic_lock=True)  # others' finalizers must not get lost
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
            except Exception as error:  # noqa: BLE001 - raised below, after what succeeded is written
                failures.append(error)
            else:
                cleaned.append(name)
        patch = merge_from(obj, optimistic_lock=True)
        if [name for name in cleaned if remove_finalizer(obj, name)]:
            await let_go(self._client, obj, patch)
        if failures:
            raise failures[0] if len(failures) == 1 else ExceptionGroup("clean-ups failed", failures)
        return True
