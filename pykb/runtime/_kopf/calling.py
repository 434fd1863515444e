"""Calls one handler as kopf does."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import kopf

from pykb.client.codec import gvk_of
from pykb.meta.names import pluralize
from pykb.runtime._kopf.internals import (
    ChangingHandler,
    K8sEvent,
    causes,
    diff,
    execution,
    invocation,
    posting,
    reduce,
    references,
    registries,
    subhandling,
)


@dataclass(slots=True)
class HandlerCall:
    """A call of a handler and its outcome.

    Attributes:
        extra: Arguments by name that replace the usual ones or that only some handlers have.
        arguments: All arguments of the call.
        errors: The errors of its sub-handlers. kopf hides them from the handler itself.
        events: The events that it posted.
        result: Its result.
    """

    extra: Mapping[str, Any]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    errors: list[BaseException] = field(default_factory=list)
    events: list[K8sEvent] = field(default_factory=list)
    result: Any = None


async def call(
    handler: Callable[..., Any],
    obj: dict[str, Any],
    *,
    old: dict[str, Any] | None = None,
    extra: Mapping[str, Any],
    logger: logging.Logger,
    registry: kopf.OperatorRegistry | None = None,
) -> HandlerCall:
    """Call a handler in kopf's context, then each of its sub-handlers once.

    Args:
        handler: The handler.
        obj: The object as it is now.
        old: The object before the change; ``None`` after its creation.
        extra: See :class:`HandlerCall`.
        logger: The handler's logger.
        registry: Where it is registered. Defaults to kopf's default registry.

    Raises:
        Exception: The error of the handler, or the first error of its sub-handlers.
    """
    made = HandlerCall(extra)
    cause = cause_of(obj, old, logger)
    registered = _registered(handler, cause, registry if registry is not None else kopf.get_default_registry())
    settings = kopf.OperatorSettings()
    settings.persistence.progress_storage = _NoProgress()
    queue: asyncio.Queue[K8sEvent] = asyncio.Queue()
    with invocation.context(
        [
            (posting.settings_var, settings),
            (posting.event_queue_var, queue),
            (posting.event_queue_loop_var, asyncio.get_running_loop()),
        ]
    ):
        try:
            made.result = await execution.invoke_handler(
                handler=replace(registered, fn=_given(handler, made)),
                cause=cause,
                retry=0,
                started=datetime.now(UTC),
                runtime=timedelta(),
                settings=settings,
                lifecycle=functools.partial(_all_noted, made),
                subrefs=set(),
                extra_context=subhandling.subhandling_context,
            )
        except execution.HandlerChildrenRetry:
            if not made.errors:
                raise
    if made.errors:
        raise made.errors[0]
    while not queue.empty():
        made.events.append(queue.get_nowait())
    return made


def cause_of(obj: dict[str, Any], old: dict[str, Any] | None, logger: logging.Logger) -> causes.ChangingCause:
    """The cause that kopf makes of a change. Without an object before it, the object was created."""
    body = kopf.Body(obj)  # type: ignore[arg-type] # its type is a TypedDict of a few keys
    essence = kopf.AnnotationsDiffBaseStorage()
    before = None if old is None else essence.build(body=kopf.Body(old))  # type: ignore[arg-type]
    after = essence.build(body=body)
    gvk = gvk_of(obj)
    deleted = bool(body.metadata.get("deletionTimestamp"))
    return causes.ChangingCause(
        logger=logger,
        indices={},
        memo=kopf.Memo(),  # type: ignore[arg-type] # a NewType that has no public name
        resource=references.Resource(gvk.group, gvk.version, pluralize(gvk.kind), kind=gvk.kind),
        patch=kopf.Patch(body=body),
        body=body,
        initial=False,
        reason=causes.Reason.DELETE if deleted else causes.Reason.CREATE if old is None else causes.Reason.UPDATE,
        diff=diff(before, after),
        old=before,
        new=after,
    )


def _registered(
    fn: Callable[..., Any], cause: causes.ChangingCause, registry: kopf.OperatorRegistry
) -> ChangingHandler:
    """The handler as it was registered, with its id, parameter and field.

    A function with several decorators is called as the first handler that the change concerns.
    """
    nothing = {name: None for name in ChangingHandler.__dataclass_fields__ if name not in ("id", "fn")}
    plain = ChangingHandler(id=registries.generate_id(fn, None), fn=fn, **nothing)
    changing = [handler for handler in registry._changing.get_all_handlers() if handler.fn is fn]  # noqa: SLF001
    for handler in changing:
        is_concerned = handler.reason in {None, cause.reason} and not handler.initial
        if is_concerned and (handler.field is None or reduce(cause.diff, handler.field)):
            return handler
    if changing:
        return changing[0]
    # Daemons, timers and the others get the object as a whole.
    groups = (registry._spawning, registry._watching, registry._indexing, registry._webhooks)  # noqa: SLF001
    for group in groups:
        for other in group.get_all_handlers():
            if other.fn is fn:
                return replace(plain, id=other.id, param=other.param)
    return plain


def _given(handler: Callable[..., Any], made: HandlerCall) -> Callable[..., Any]:
    """Wrap the handler so that it gets the test's arguments in place of kopf's."""

    @functools.wraps(handler)  # kopf also uses this to detect whether it is async
    def fn(**arguments: Any) -> Any:
        made.arguments = {**arguments, **made.extra}
        return handler(**made.arguments)

    return fn


def _all_noted(made: HandlerCall, handlers: Sequence[Any], **_: Any) -> Sequence[Any]:
    """A lifecycle that runs every sub-handler. kopf would log their errors and retry later."""
    return [replace(handler, fn=_noted(handler.fn, made)) for handler in handlers]


def _noted(fn: Callable[..., Any], made: HandlerCall) -> Callable[..., Any]:
    @functools.wraps(fn)
    def noted(**arguments: Any) -> Any:
        with _noting(made):
            result = fn(**arguments)
        return _awaited(result, made) if inspect.isawaitable(result) else result

    return noted


async def _awaited(result: Awaitable[Any], made: HandlerCall) -> Any:
    with _noting(made):
        return await result


@contextlib.contextmanager
def _noting(made: HandlerCall) -> Iterator[None]:
    try:
        yield
    except execution.HandlerChildrenRetry:
        raise  # a sub-handler's error, which is recorded already
    except Exception as error:
        made.errors.append(error)
        raise


class _NoProgress(kopf.ProgressStorage):
    """Stores no progress. Each sub-handler runs as for the first time, and the patch has only the handlers' changes."""

    def fetch(self, **_: Any) -> None:
        """Report no earlier progress."""

    def store(self, **_: Any) -> None:
        """Store nothing."""

    def purge(self, **_: Any) -> None:
        """Do nothing."""

    def touch(self, **_: Any) -> None:
        """Do nothing."""

    def clear(self, *, essence: Any) -> Any:
        """Return the essence unchanged."""
        return essence
