"""The endpoint for admission requests at one path."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from pykb.runtime._metrics import Metrics
from pykb.runtime.serving import JSON, HttpRequest, HttpResponse
from pykb.runtime.webhook._admission import AdmissionRequest, AdmissionResponse, answering
from pykb.runtime.webhook._failure import answer_to
from pykb.runtime.webhook._response import errored
from pykb.runtime.webhook._review import read_request, uid_of, write_response
from pykb.runtime.webhook.steps import Steps, followed, following

logger = logging.getLogger(__name__)


class AdmissionEndpoint:
    """Reads the review, calls the handler and always returns a response."""

    def __init__(
        self,
        path: str,
        handler: Callable[[AdmissionRequest], Awaitable[AdmissionResponse]],
        metrics: Metrics,
        steps: Steps | None = None,
    ) -> None:
        self._path = path
        self._handler = handler
        self._metrics = metrics
        self._steps = steps

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the review with the response."""
        try:
            review = orjson.loads(request.body)
            asked = read_request(review if isinstance(review, dict) else {})
        except ValueError as error:
            review = None if isinstance(error, orjson.JSONDecodeError) else review
            reason = "the body is no JSON" if review is None else str(error)
            logger.warning("admission request not understood", extra={"webhook": self._path, "error": reason})
            return _written(uid_of(review), errored(reason, 400), status=400)
        with answering(asked, self._path), following(self._steps):
            response = await self._decide(asked)
            if not response.allowed:
                logger.info("admission refused", extra={"code": response.code, "reason": response.reason})
            try:
                return _written(asked.uid, response)
            except TypeError as error:  # a handler's patch or warning has no JSON form
                return _written(asked.uid, answer_to(error, self._metrics))

    async def _decide(self, asked: AdmissionRequest) -> AdmissionResponse:
        try:
            handler: Any = self._handler
            is_authors = inspect.iscoroutinefunction(handler)  # ours are objects, which follow their author's methods
            response: object = await (followed(handler, asked) if is_authors else handler(asked))
            if not isinstance(response, AdmissionResponse):
                raise TypeError(f"a handler must return an AdmissionResponse, got {type(response).__name__}")  # noqa: TRY301
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise  # the time limit has passed, or the server stops
            return answer_to(error, self._metrics)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - after any error, the API server gets a response
            return answer_to(error, self._metrics)
        return response


def _written(uid: str, response: AdmissionResponse, *, status: int = 200) -> HttpResponse:
    return HttpResponse(write_response(uid, response), status, JSON)
