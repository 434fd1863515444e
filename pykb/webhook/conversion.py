"""The conversion webhook: ``/convert`` for all kinds.

Source: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/
#webhook-request-and-response (``ConversionReview`` of ``apiextensions.k8s.io/v1``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from pykb.api.conversion import Converter, Unconvertible
from pykb.api.object import Object
from pykb.api.partial import fitting
from pykb.api.safe_text import safe_text, without_values
from pykb.api.unreadable import DEEPEST, UnreadableObject
from pykb.client.codec import from_wire
from pykb.client.json_text import SetAside, has_json
from pykb.client.task import current_call, reset
from pykb.diagnostics import PykbError
from pykb.diagnostics.codes.runtime import CONVERTER
from pykb.meta.gvk import GroupKind, GroupVersion, GroupVersionKind, NamespacedName
from pykb.reading import mapping
from pykb.serving import JSON, HttpRequest, HttpResponse
from pykb.webhook.steps import CONVERSION, WebhookMetrics, in_thread

logger = logging.getLogger(__name__)

API_VERSION = "apiextensions.k8s.io/v1"
KIND = "ConversionReview"


_LEVELS = 200
"""How many levels of a review are read. A converter may add some, and the writer of JSON takes 254."""

_TOO_DEEP = f"an object is nested deeper than {DEEPEST} levels"


_LONGEST = 256
"""Characters of an identity or of a version."""


class ConversionFailed(PykbError):  # noqa: N818 - says what it is about
    """A review cannot be answered. The message is for the client."""


class _NestedTooDeeply(ConversionFailed):
    """An object has more levels than can be read or written."""


class _NotAReview(Exception):  # noqa: N818 - says what it is
    """The body of a request is not a review."""


class Conversions:
    """The converters of all kinds, and the handler of ``/convert``."""

    type = "conversion"

    def __init__(
        self,
        metrics: WebhookMetrics,
        failed: Callable[[BaseException], None] = lambda _: None,
        refused: Callable[[BaseException], None] = lambda _: None,
    ) -> None:
        self._metrics = metrics
        self._failed = failed
        self._refused = refused
        self._hubs: dict[GroupKind, type[Object]] = {}
        self._spokes: dict[GroupVersionKind, Converter[Any, Any]] = {}

    @property
    def hubs(self) -> frozenset[GroupVersionKind]:
        """The hubs of the kinds that have converters."""
        return frozenset(hub.gvk for hub in self._hubs.values())

    def add(self, converter: Converter[Any, Any]) -> None:
        """Add a converter.

        Raises:
            EnvironmentProblem: Its spoke has a converter already, or its kind has another hub.
        """
        spoke, hub = converter.spoke.gvk, converter.hub.gvk
        called = type(converter).__name__
        known = self._spokes.get(spoke)
        if known is not None:
            raise CONVERTER.problem(
                f"`{called}` converts {spoke}, and so does `{type(known).__name__}`", "remove one of them"
            )
        other = self._hubs.setdefault(hub.group_kind, converter.hub)
        if other.gvk != hub:
            raise CONVERTER.problem(
                f"`{called}` has the hub {hub}, other converters of {hub.group_kind} have {other.gvk}",
                "give all converters of a kind the same hub",
            )
        self._spokes[spoke] = converter

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the review with the converted objects or with the error."""
        try:
            try:
                written = await self._reviewed(request.path, request.body)
            except (_NestedTooDeeply, orjson.JSONDecodeError):
                # The API server does not list a kind of which one object cannot be converted.
                aside = SetAside(request.body, levels=_LEVELS)
                written = aside.put_back(await self._reviewed(request.path, aside.content, is_last=True))
        except (_NotAReview, orjson.JSONDecodeError):
            return HttpResponse.text(f"expected a `{KIND}` of {API_VERSION} with a request\n", 400)
        return HttpResponse(written, content_type=JSON)

    async def _reviewed(self, path: str, body: bytes, *, is_last: bool = False) -> bytes:
        review = orjson.loads(body)
        try:
            if (review["apiVersion"], review["kind"]) != (API_VERSION, KIND):
                raise ValueError("another review")  # noqa: TRY301 - all invalid reviews get the same answer
            asked = review["request"]
            uid, desired, objects = str(asked["uid"]), str(asked["desiredAPIVersion"]), list(asked["objects"])
            if max(len(uid), len(desired)) > _LONGEST:
                raise ValueError("nothing that the API server sends")  # noqa: TRY301
        except (ValueError, TypeError, KeyError):
            raise _NotAReview from None
        token = current_call.set({"webhook": path, "version": desired, "uid": uid})
        try:
            written: bytes = await in_thread(lambda: self._answered(uid, objects, desired, is_last), CONVERSION)
        finally:
            reset(current_call, token)
        return written

    def _answered(self, uid: str, objects: list[Any], desired: str, is_last: bool) -> bytes:
        try:
            converted = [self.convert(wire, desired) for wire in objects]
            return _written(uid, {"convertedObjects": converted, "result": {"status": "Success"}})
        except ConversionFailed as error:
            if isinstance(error, _NestedTooDeeply) and not is_last:
                raise
            message = safe_text(error)
            logger.warning("conversion refused", extra={"error": message})
            return _written(uid, {"result": {"status": "Failure", "message": message}})

    def convert(self, wire: Any, desired: str) -> dict[str, Any]:
        """Convert an object, or a list of objects, to another version.

        Raises:
            ConversionFailed: It cannot be converted.
        """
        if not isinstance(wire, dict) or not wire.get("apiVersion") or not wire.get("kind"):
            raise ConversionFailed("an object without `apiVersion` and `kind` cannot be converted")
        obj: dict[str, Any] = wire
        if obj["apiVersion"] == desired:
            return obj
        source = GroupVersion.parse(str(obj["apiVersion"])).with_kind(str(obj["kind"]))
        if source.group_kind not in self._hubs and source.kind.endswith("List") and isinstance(obj.get("items"), list):
            items = [self.convert(item, desired) for item in obj["items"]]
            return {**obj, "apiVersion": desired, "items": items}
        target = GroupVersion.parse(desired).with_kind(source.kind)
        self._check_known(source)
        self._check_known(target)
        hub = self._hubs[source.group_kind].gvk
        if source != hub:
            obj = self._step(obj, self._spokes[source], to_hub=True)
        if target != hub:
            obj = self._step(obj, self._spokes[target], to_hub=False)
        return obj

    def author(self, source: str, desired: str, kind: str) -> Callable[..., object]:
        """The first function of a converter that is called between two API versions of a kind."""
        by_source = self._spokes.get(GroupVersion.parse(source).with_kind(kind))
        if by_source is not None:
            return by_source.to_hub
        return self._spokes[GroupVersion.parse(desired).with_kind(kind)].from_hub

    def _check_known(self, gvk: GroupVersionKind) -> None:
        hub = self._hubs.get(gvk.group_kind)
        if hub is None:
            known = ", ".join(sorted(map(str, self._hubs)))
            raise ConversionFailed(f"there is no converter for {gvk.group_kind}; there are converters for {known}")
        if gvk != hub.gvk and gvk not in self._spokes:
            versions = [hub.gvk.version, *(s.version for s in self._spokes if s.group_kind == gvk.group_kind)]
            raise ConversionFailed(
                f"there is no converter for version {gvk.version} of {gvk.group_kind}; "
                f"the versions are {', '.join(sorted(versions))}"
            )

    def _step(self, wire: dict[str, Any], converter: Converter[Any, Any], *, to_hub: bool) -> dict[str, Any]:
        source, target = (converter.spoke, converter.hub) if to_hub else (converter.hub, converter.spoke)
        function = converter.to_hub if to_hub else converter.from_hub
        called = f"{type(converter).__name__}.{function.__name__}"
        name = safe_text(_key(wire), _LONGEST)
        what = f"{source.gvk.group_kind} `{name}` from {source.gvk.version} to {target.gvk.version}"
        try:
            made: object = function(_read(source, wire, what))
            if not isinstance(made, target):
                raise TypeError(f"`{called}` must return a {target.__name__}, got {type(made).__name__}")  # noqa: TRY301
            result = made.to_wire()
        except ConversionFailed:
            raise
        except Unconvertible as error:
            self._refused(error)
            raise ConversionFailed(f"cannot convert {what}: {safe_text(error)}") from None
        except BaseException as error:
            # A thread handles no signals, so everything is the converter's failure.
            if not has_json(wire):
                raise _NestedTooDeeply(f"cannot convert {what}: {_TOO_DEEP}") from None
            self._failed(error)
            self._metrics.conversion_panics.inc()
            shown = {"object": name, "converter": called, "error": type(error).__name__}
            logger.error("conversion failed", extra=shown, exc_info=without_values(error))  # noqa: TRY400 - no values
            raise ConversionFailed(f"cannot convert {what}: {called} failed: internal error") from None
        return finished(wire, result, target.gvk)


def _read(source: type[Object], wire: dict[str, Any], what: str) -> Any:
    try:
        return from_wire(source, wire)
    except UnreadableObject as error:
        if error.partial is None and not all(problem.is_missing for problem in error.problems):
            fields = safe_text("; ".join(map(str, error.problems)))
            raise ConversionFailed(f"cannot convert {what}: the object does not fit its type: {fields}") from None
        # It was stored before the field was required, or a server-side apply made a partial
        # object while it looks for fields to remove. An object being deleted is always
        # converted. Otherwise its finalizers could not be removed.
        return fitting(source, wire)


def _written(uid: str, answer: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": {"uid": uid, **answer}})
    except TypeError:
        raise _NestedTooDeeply(_TOO_DEEP) from None


def finished(source: Mapping[str, Any], result: dict[str, Any], gvk: GroupVersionKind) -> dict[str, Any]:
    """Return the result with the source's metadata. The API server accepts only changes of labels and annotations.

    If the converter removed the last of them, the field is absent, as in an object that never had
    any.
    """
    metadata = dict(source.get("metadata") or {})
    made = result.get("metadata") or {}
    for field in ("labels", "annotations"):
        if made.get(field):
            metadata[field] = made[field]
        elif field in made and metadata.get(field):
            del metadata[field]
    return {**result, "apiVersion": gvk.api_version, "kind": gvk.kind, "metadata": metadata}


def _key(wire: Mapping[str, Any]) -> NamespacedName:
    metadata = mapping(wire.get("metadata"))
    name = metadata.get("name") or metadata.get("generateName") or ""
    return NamespacedName(str(metadata.get("namespace") or ""), str(name))
