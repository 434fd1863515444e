"""Protects paths like kubebuilder's metrics: only clients that the API server allows can read them.

A TokenReview authenticates a bearer token. A SubjectAccessReview authorizes its user for the path
and verb. Answers are cached for a short time.

Source: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from pykb.client.client import Client
from pykb.client.clock import Clock, SystemClock
from pykb.diagnostics import PykbError
from pykb.meta.gvk import GroupVersionKind
from pykb.serving import Handler, HttpError, HttpRequest, HttpResponse

logger = logging.getLogger(__name__)

# controller-runtime's numbers.
AUTHENTICATED_FOR = timedelta(minutes=1)
ALLOWED_FOR = timedelta(minutes=5)
DENIED_FOR = timedelta(seconds=30)
REMEMBERED = 1024

ASKED_AT_ONCE = 4
"""Concurrent requests to the API server. Anybody can send tokens, and controllers share the connections."""

_CHALLENGE = {"WWW-Authenticate": "Bearer"}


@dataclass(frozen=True, slots=True)
class User:
    """The user of a token."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()


class ApiAuthorizer:
    """Asks the API server for the user of a token and its permissions."""

    def __init__(self, client: Client, *, clock: Clock | None = None) -> None:
        self._client = client
        self._clock: Clock = clock or SystemClock()
        # Separate caches, so that invented tokens do not displace valid ones.
        self._users: dict[str, tuple[float, User | None]] = {}
        self._nobodies: dict[str, tuple[float, User | None]] = {}
        self._asking = asyncio.Semaphore(ASKED_AT_ONCE)
        self._verdicts: dict[tuple[User, str, str], tuple[float, bool]] = {}

    async def middleware(self, request: HttpRequest, handler: Handler) -> HttpResponse:
        """Answer 401 without a valid token, 403 without permission, 500 if the API server does not answer."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise HttpError(401, "a bearer token is needed\n", _CHALLENGE)
        try:
            user = await self.authenticate(token.strip())
            if user is None:
                raise HttpError(401, "the token is not valid\n", _CHALLENGE)
            allowed = await self.authorize(user, path=request.path, verb=request.method.lower())
        except PykbError as error:
            logger.warning("cannot authorise", extra={"path": request.path, "error": str(error)})
            raise HttpError(500, "authorisation failed\n") from error
        if not allowed:
            raise HttpError(403, f"`{user.name}` may not {request.method.lower()} `{request.path}`\n")
        return await handler(request)

    async def authenticate(self, token: str) -> User | None:
        """Return the user of a token, or ``None``.

        Raises:
            PykbError: The API server did not answer.
        """
        digest = hashlib.sha256(token.encode()).hexdigest()  # tokens are not stored
        remembered = self._users.get(digest) or self._nobodies.get(digest)
        if remembered is not None and remembered[0] > self._clock.now():
            return remembered[1]
        status = await self._review("authentication.k8s.io", "TokenReview", {"token": token})
        user = _user(status.get("user") or {}) if status.get("authenticated") else None
        memory = self._nobodies if user is None else self._users
        _remember(memory, digest, self._clock.now() + AUTHENTICATED_FOR.total_seconds(), user)
        return user

    async def authorize(self, user: User, *, path: str, verb: str) -> bool:
        """Whether a user may use this verb on a non-resource path.

        Raises:
            PykbError: The API server did not answer.
        """
        question = (user, path, verb)
        remembered = self._verdicts.get(question)
        if remembered is not None and remembered[0] > self._clock.now():
            return remembered[1]
        spec = {
            "user": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "nonResourceAttributes": {"path": path, "verb": verb},
        }
        allowed = bool((await self._review("authorization.k8s.io", "SubjectAccessReview", spec)).get("allowed"))
        lasting = ALLOWED_FOR if allowed else DENIED_FOR
        _remember(self._verdicts, question, self._clock.now() + lasting.total_seconds(), allowed)
        return allowed

    async def _review(self, group: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        gvk = GroupVersionKind(group, "v1", kind)
        review: dict[str, Any] = {"apiVersion": gvk.api_version, "kind": kind, "metadata": {}, "spec": spec}
        async with self._asking:
            await self._client.create(review)
        status: dict[str, Any] = review.get("status") or {}
        return status


def _user(raw: dict[str, Any]) -> User:
    return User(str(raw.get("username") or ""), str(raw.get("uid") or ""), tuple(raw.get("groups") or ()))


def _remember(memory: dict[Any, tuple[float, Any]], key: Any, until: float, value: Any) -> None:
    memory.pop(key, None)
    while len(memory) >= REMEMBERED:
        del memory[next(iter(memory))]  # the oldest
    memory[key] = (until, value)
