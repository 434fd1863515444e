"""The endpoint for admission requests at one path, and ``AdmissionReview`` as JSON.

Source: https://kubernetes.io/docs/reference/config-api/apiserver-admission.v1/
"""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from pykb.api.safe_text import safe_text
from pykb.api.unreadable import UnreadableObject
from pykb.client.errors import StatusDetails
from pykb.client.guard import is_closing, is_end
from pykb.client.json_text import CUT, read_around
from pykb.meta.gvk import GroupVersionKind, GroupVersionResource
from pykb.serving import JSON, HttpRequest, HttpResponse
from pykb.webhook._admission import (
    AdmissionRequest,
    AdmissionResponse,
    Operation,
    TypedHandler,
    UserInfo,
    answer_to,
    answering,
    errored,
    is_as_stored,
    unfit,
)
from pykb.webhook.steps import Steps, WebhookMetrics, call, following

logger = logging.getLogger(__name__)
_API_VERSION = "admission.k8s.io/v1"
_KIND = "AdmissionReview"
_OPERATIONS = tuple(Operation)

# Of texts in an answer: values of an object may be part of them. The API server passes them on to its client.
_MOST = 50
_LONGEST_CAUSE = 1024
_LONGEST_WARNING = 1024
_LONGEST_NAME = 256
_LONGEST_UID = 256
_PLACES = (("request", "object"), ("request", "oldObject"))


@dataclass(slots=True, eq=False)
class AdmissionEndpoint:
    """Reads the review, calls the handler and always returns a response."""

    path: str
    handler: Callable[[AdmissionRequest], Awaitable[AdmissionResponse]]
    metrics: WebhookMetrics
    steps: Steps | None = None
    failed: Callable[[BaseException], None] = lambda _: None

    @property
    def author(self) -> Callable[..., Any]:
        """The function that its author wrote."""
        return getattr(self.handler, "author", self.handler)

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the review with the response."""
        try:
            review = read_around(request.body, *_PLACES)
            asked = _read_request(review if isinstance(review, dict) else {})
        except ValueError as error:
            review = None if isinstance(error, orjson.JSONDecodeError) else review
            reason = "the body is not JSON" if review is None else safe_text(error)
            logger.warning("admission request not understood", extra={"webhook": self.path, "error": reason})
            return _written(_uid_of(review), errored(reason, 400), status=400)
        with answering(asked, self.path), following(self.steps):
            response = await self._decide(asked)
            if not response.allowed:
                logger.info("admission refused", extra={"code": response.code, "reason": response.reason})
            try:
                return _written(asked.uid, response)
            except Exception as error:  # noqa: BLE001 - a handler's patch or warning has no JSON form
                self.failed(error)
                return _written(asked.uid, answer_to(error, self.metrics))

    async def _decide(self, asked: AdmissionRequest) -> AdmissionResponse:
        obj = asked.object
        if obj is not None and CUT in obj and not is_as_stored(asked):
            return errored(unfit(UnreadableObject.too_deep(asked.kind, obj, obj[CUT]), asked.object_name))
        try:
            handler: Any = self.handler
            is_ours = isinstance(handler, TypedHandler)  # they call their author's methods
            response: object = await (handler(asked) if is_ours else call(handler, asked))
            if not isinstance(response, AdmissionResponse):
                raise TypeError(f"a handler must return an AdmissionResponse, got {type(response).__name__}")  # noqa: TRY301
        except BaseException as error:
            task = asyncio.current_task()
            if is_end(error) or is_closing(error, task):
                raise
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # the time limit has passed, or the server stops
            self.failed(error)
            return answer_to(error, self.metrics)
        return response


def _written(uid: str, response: AdmissionResponse, *, status: int = 200) -> HttpResponse:
    return HttpResponse(_write_response(uid, response), status, JSON)


def _read_request(review: Mapping[str, Any]) -> AdmissionRequest:
    """Read the request of a review.

    Raises:
        ValueError: It is not a review, or has no request.
    """
    if review.get("apiVersion") != _API_VERSION or review.get("kind") != _KIND:
        found = safe_text(f"{review.get('apiVersion')} {review.get('kind')}", _LONGEST_NAME)
        raise ValueError(f"expected `{_API_VERSION} {_KIND}`, found `{found}`")
    request = review.get("request")
    if not isinstance(request, dict):
        raise ValueError("the review has no `request`")  # noqa: TRY004 - what came is wrong, not the call
    operation = request.get("operation")
    if operation not in _OPERATIONS:
        found = safe_text(operation, _LONGEST_NAME)
        raise ValueError(f"expected one of {', '.join(Operation)} as `operation`, found `{found}`")
    if len(_text(request, "uid")) > _LONGEST_UID:
        raise ValueError(f"the `uid` has more than {_LONGEST_UID} characters")
    kind, resource = request.get("requestKind"), request.get("requestResource")
    return AdmissionRequest(
        uid=_text(request, "uid"),
        operation=Operation(operation),
        kind=_kind(request.get("kind")),
        resource=_resource(request.get("resource")),
        subresource=_text(request, "subResource"),
        name=_text(request, "name"),
        namespace=_text(request, "namespace"),
        user=_user(_mapping(request.get("userInfo"))),
        object=_object(request, "object"),
        old_object=_object(request, "oldObject"),
        dry_run=request.get("dryRun") is True,
        options=_mapping(request.get("options")),
        request_kind=_kind(kind) if kind else None,
        request_resource=_resource(resource) if resource else None,
        request_subresource=_text(request, "requestSubResource"),
    )


def _uid_of(review: object) -> str:
    """Return the uid of a review that may be invalid otherwise."""
    return _text(_mapping(_mapping(review).get("request")), "uid")[:_LONGEST_UID]


def _write_response(uid: str, response: AdmissionResponse) -> bytes:
    """Make the review with the response to a request."""
    answer: dict[str, Any] = {"uid": uid, "allowed": bool(response.allowed)}
    if not response.allowed or response.message:
        answer["status"] = _status(response)
    if response.allowed and response.patch:
        answer["patchType"] = "JSONPatch"
        answer["patch"] = base64.b64encode(orjson.dumps(response.patch)).decode("ascii")
    if response.warnings:
        answer["warnings"] = [safe_text(warning, _LONGEST_WARNING) for warning in response.warnings[:_MOST]]
    if response.audit_annotations:
        found = dict(response.audit_annotations)
        answer["auditAnnotations"] = {safe_text(key, _LONGEST_NAME): safe_text(value) for key, value in found.items()}
    return orjson.dumps({"apiVersion": _API_VERSION, "kind": _KIND, "response": answer})


def _status(response: AdmissionResponse) -> dict[str, Any]:
    status: dict[str, Any] = {
        "status": "Success" if response.allowed else "Failure",
        "message": safe_text(response.message),
        "reason": safe_text(response.reason, _LONGEST_NAME),
        "code": response.code,
    }
    details = _details(response.details)
    return {**status, "details": details} if details else status


def _details(details: StatusDetails) -> dict[str, Any]:
    named = {"name": details.name, "group": details.group, "kind": details.kind, "uid": details.uid}
    made: dict[str, Any] = {key: safe_text(value, _LONGEST_NAME) for key, value in named.items() if value}
    if details.causes:
        causes = map(asdict, details.causes[:_MOST])
        made["causes"] = [{key: safe_text(text, _LONGEST_CAUSE) for key, text in cause.items()} for cause in causes]
    if details.retry_after is not None:
        made["retryAfterSeconds"] = round(details.retry_after.total_seconds())
    return made


def _kind(raw: object) -> GroupVersionKind:
    found = _mapping(raw)
    return GroupVersionKind(_text(found, "group"), _text(found, "version"), _text(found, "kind"))


def _resource(raw: object) -> GroupVersionResource:
    found = _mapping(raw)
    return GroupVersionResource(_text(found, "group"), _text(found, "version"), _text(found, "resource"))


def _user(raw: Mapping[str, Any]) -> UserInfo:
    extra = {str(key): _texts(values, "extra") for key, values in _mapping(raw.get("extra")).items()}
    groups = _texts(raw.get("groups"), "groups")
    return UserInfo(username=_text(raw, "username"), uid=_text(raw, "uid"), groups=groups, extra=extra)


def _object(request: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    found = request.get(key)
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"expected an object as `{key}`, found `{type(found).__name__}`")
    return found


def _texts(raw: object, key: str) -> tuple[str, ...]:
    if raw is not None and not isinstance(raw, list):
        raise ValueError(f"expected a list as `{key}` of the user, found `{type(raw).__name__}`")
    return tuple(map(str, raw or ()))


def _mapping(raw: object) -> dict[str, Any]:
    return raw if isinstance(raw, dict) else {}


def _text(raw: Mapping[str, Any], key: str) -> str:
    return str(raw.get(key) or "")
