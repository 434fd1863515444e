"""Defaulters and validators, and the builder of a kind's webhooks."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

import orjson

from pykb.api.conversion import Converter
from pykb.api.object import Object, Unstructured
from pykb.api.partial import fitting
from pykb.api.safe_text import error_text, without_values
from pykb.api.type_arguments import type_arguments
from pykb.api.unreadable import UnreadableObject
from pykb.api.wire import clone
from pykb.client.codec import Kind, from_wire, gvk_of, is_deleted
from pykb.client.errors import BadRequest, Invalid
from pykb.client.json_text import CUT, storable
from pykb.diagnostics import PykbError
from pykb.diagnostics.codes.runtime import CONVERTER, INCOMPLETE_WEBHOOK, WEBHOOK_KIND
from pykb.meta.gvk import GroupVersionKind, mutate_path, validate_path
from pykb.webhook._admission import (
    AdmissionRequest,
    AdmissionResponse,
    Operation,
    TypedHandler,
    Warnings,
    allowed,
    alone,
    carried,
    current_admission_request,
    is_as_stored,
    operations,
    unfit,
)
from pykb.webhook.steps import call

if TYPE_CHECKING:
    from pykb.client.client import Client
    from pykb.webhook.server import WebhookServer


logger = logging.getLogger(__name__)

T = TypeVar("T", bound=Object | Unstructured)
Wire: TypeAlias = dict[str, Any]


class TypedWebhook(ABC, Generic[T]):
    """The base of defaulters and validators: ``class VirtulMachineDefaulter(Defaulter[VirtulMachine])``."""

    kind: ClassVar[type[Object | Unstructured]]
    """The class of the objects, from the type argument."""

    _client: Client | None = None

    def __init__(self, client: Client | None = None) -> None:
        """Make a webhook. Pass a client if it reads other objects."""
        self._client = client

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        found = type_arguments(cls, TypedWebhook, (Object, Unstructured), example="Pod")
        if found is not None:
            (cls.kind,) = found

    @property
    def client(self) -> Client:
        """The client that was given.

        Raises:
            RuntimeError: No client was given.
        """
        if self._client is None:
            called = type(self).__name__
            raise RuntimeError(f"`{called}` was made without a client: `{called}(manager.client)`")
        return self._client

    @property
    def request(self) -> AdmissionRequest:
        """The current admission request: its user, its operation, whether it is a dry run.

        Raises:
            LookupError: There is no current request. A test sets one by ``with
                answering(AdmissionRequest(...)):``.
        """
        request = current_admission_request()
        if request is None:
            raise LookupError("there is no admission request here: use `with answering(AdmissionRequest(...)):`")
        return request

    @property
    def logger(self) -> logging.Logger:
        """The logger of the module that defines the webhook."""
        return logging.getLogger(type(self).__module__)


def read(kind: type[Object | Unstructured], gvk: GroupVersionKind, request: AdmissionRequest, wire: Wire) -> Any:
    """Read the object of a request. The API server checks constraints itself, after defaulting.

    Raises:
        BadRequest: The request is for another kind.
        Invalid: A value does not have the type of its field.
    """
    _check_kind(gvk, request)
    try:
        return _parsed(kind, gvk, wire)
    except UnreadableObject as error:
        raise unfit(error, request.object_name) from None


def read_old(kind: type[Object | Unstructured], gvk: GroupVersionKind, request: AdmissionRequest, wire: Wire) -> Any:
    """Read the stored object of a request. Parts that do not fit are left out, so that it can be fixed or deleted.

    Raises:
        BadRequest: The request is for another kind.
    """
    _check_kind(gvk, request)
    try:
        return _parsed(kind, gvk, wire)
    except UnreadableObject as error:
        return _fitting(kind, gvk, wire, error)


def _fitting(
    kind: type[Object | Unstructured], gvk: GroupVersionKind, wire: Wire, error: UnreadableObject
) -> Object | Unstructured:
    told = ", ".join(problem.path for problem in error.problems)
    logger.warning("stored object does not fit its type, fields are left out", extra={"fields": told})
    rest = {name: value for name, value in _identified(gvk, wire).items() if name != CUT}
    return fitting(kind, rest) if issubclass(kind, Object) else kind.from_wire(rest)


def _parsed(kind: type[Object | Unstructured], gvk: GroupVersionKind, wire: Wire) -> Any:
    if issubclass(kind, Unstructured):
        return from_wire(gvk, clone(_identified(gvk, wire)))
    return from_wire(kind, _identified(gvk, wire))


def _identified(gvk: GroupVersionKind, wire: Wire) -> Wire:
    return {"apiVersion": gvk.api_version, "kind": gvk.kind, **wire}


def _check_kind(gvk: GroupVersionKind, request: AdmissionRequest) -> None:
    if request.kind != gvk:
        message = f"this webhook is for {gvk}, but the request is about {request.kind}"
        raise BadRequest(400, "BadRequest", message)


class Defaulter(TypedWebhook[T]):
    """Sets defaults on objects before they are validated and stored.

    ::

        class VirtulMachineDefaulter(Defaulter[VirtulMachine]):
            async def default(self, obj: VirtulMachine) -> None:
                if obj.spec.memory is None:
                    obj.spec.memory = Quantity("2Gi")

    It is called for CREATE and UPDATE. It may be called twice for one object, so it must be
    idempotent. A plain method works too; it runs in a thread. To refuse a request, raise
    :class:`~pykb.webhook._admission.Denied` or an error of the API.
    """

    @abstractmethod
    def default(self, obj: T, /) -> Awaitable[None] | None:
        """Change the object. Only the changes are sent back, as a patch.

        Raises:
            Denied: The request is refused.
            Invalid: The request is refused because of invalid fields.
        """


class DefaulterHandler(TypedHandler):
    """Answers admission requests with a defaulter."""

    type = "mutating"

    def __init__(self, gvk: GroupVersionKind, defaulter: Defaulter[T]) -> None:
        self._gvk = gvk
        self._defaulter = defaulter
        self.author = defaulter.default

    async def __call__(self, request: AdmissionRequest) -> AdmissionResponse:
        """Return the patch. DELETE has no object to change, and CONNECT has no object of the kind."""
        original = request.object
        if request.operation not in (Operation.CREATE, Operation.UPDATE) or original is None:
            return allowed()
        if is_deleted(original) and is_as_stored(request):
            return allowed()  # a change of its spec would be validated by current rules, and could block its deletion
        try:
            # A copy: untyped values of the object are shared with the original, which the patch
            # applies to.
            obj = read(self._defaulter.kind, self._gvk, request, _copied(original))
        except Invalid as error:
            if not is_as_stored(request):
                raise
            return allowed(f"not defaulted: {error.message}")
        before = obj.to_wire()
        await call(self._defaulter.default, obj)
        changed = carried(original, before, obj.to_wire())
        return AdmissionResponse(allowed=True, patch=operations(original, changed))


def _copied(wire: Wire) -> Wire:
    try:
        copied: Wire = orjson.loads(orjson.dumps(wire))
    except TypeError:  # it is nested too deeply
        copied = storable(wire)
    return copied


class Validator(TypedWebhook[T]):
    """Validates objects before they are stored or deleted. A method that is not overridden allows the request.

    ::

        class VirtulMachineValidator(Validator[VirtulMachine]):
            async def validate_create(self, obj: VirtulMachine) -> Warnings:
                if obj.spec.cpu % 2:
                    raise Invalid.of(obj, [FieldError("spec.cpu", "must be even", value=obj.spec.cpu)])
                return None

    A method returns warnings for the client, or ``None``. To refuse a request, raise
    :class:`~pykb.webhook._admission.Denied` or an error of the API. Plain methods work too;
    they run in threads.
    """

    def validate_create(self, obj: T, /) -> Awaitable[Warnings] | Warnings:  # noqa: ARG002 - for those who override it
        """Validate a new object.

        Raises:
            Denied: The request is refused.
            Invalid: The request is refused because of invalid fields.
        """
        return None

    def validate_update(self, old: T, new: T, /) -> Awaitable[Warnings] | Warnings:  # noqa: ARG002
        """Validate a change.

        ``old`` may have been stored before the current rules, so it need not satisfy them. If it
        does not fit its type, the parts that do not fit are left out, and required fields are empty
        (``0``, ``""``). The same applies to ``new`` if only metadata is changed. Removing
        finalizers from a deleted object is also an update. If it is refused, the object is never
        deleted.

        Raises:
            Denied: The request is refused.
            Invalid: The request is refused because of invalid fields.
        """
        return None

    def validate_delete(self, obj: T, /) -> Awaitable[Warnings] | Warnings:  # noqa: ARG002
        """Validate a deletion. Called only if the webhook is registered for DELETE.

        Raises:
            Denied: The request is refused.
        """
        return None


class ValidatorHandler(TypedHandler):
    """Answers admission requests with a validator."""

    type = "validating"

    def __init__(self, gvk: GroupVersionKind, validator: Validator[T]) -> None:
        self._gvk = gvk
        self._validator = validator
        cls = type(validator)
        # A method that is not overridden allows the request, and need not be called in a thread.
        self._asks = {
            Operation.CREATE: cls.validate_create is not Validator.validate_create,
            Operation.UPDATE: cls.validate_update is not Validator.validate_update,
            Operation.DELETE: cls.validate_delete is not Validator.validate_delete,
        }

    async def __call__(self, request: AdmissionRequest) -> AdmissionResponse:
        """Return the response. CONNECT has no object of the kind and is allowed."""
        try:
            found = await self._judged(request)
        except Exception as error:
            if isinstance(alone(error), (PykbError, ExceptionGroup)) or not self._is_unfit_and_to_go(request):
                raise
            told = "not validated: the stored object does not fit its type"
            logger.warning(told, extra={"error": error_text(error)}, exc_info=without_values(error))
            return allowed(told)
        return allowed(*_checked(found))

    async def _judged(self, request: AdmissionRequest) -> object:
        validator = self._validator
        match request.operation:
            case Operation.CREATE:
                obj = self._read(request)
                if self._asks[Operation.CREATE]:
                    return await call(validator.validate_create, obj)
            case Operation.UPDATE:
                obj = self._read(request)
                if self._asks[Operation.UPDATE]:
                    return await call(validator.validate_update, self._read_old(request), obj)
            case Operation.DELETE if self._asks[Operation.DELETE]:
                return await call(validator.validate_delete, self._read_old(request))
            case _:
                pass
        return None

    def _is_unfit_and_to_go(self, request: AdmissionRequest) -> bool:
        """Whether it deletes an object, or changes only its metadata, and the object does not fit its class."""
        if request.operation is not Operation.DELETE and not is_as_stored(request):
            return False
        try:
            read(self._validator.kind, self._gvk, request, request.old_object or {})
        except Invalid:
            return True
        return False

    def _read(self, request: AdmissionRequest) -> Any:
        kind, wire = self._validator.kind, request.object or {}
        try:
            return read(kind, self._gvk, request, wire)
        except Invalid:
            if not is_as_stored(request):
                raise
            return read_old(kind, self._gvk, request, wire)

    def _read_old(self, request: AdmissionRequest) -> Any:
        return read_old(self._validator.kind, self._gvk, request, request.old_object or {})


def _checked(found: object) -> tuple[str, ...]:
    if found is None:
        return ()
    if isinstance(found, str):
        return (found,)
    if isinstance(found, (list, tuple)) and all(isinstance(warning, str) for warning in found):
        return tuple(found)
    raise TypeError(f"a validator gives warnings as a list of strings, or None; got {type(found).__name__}")


class ServesWebhooks(Protocol):
    """A manager, as far as webhooks need it."""

    @property
    def webhook_server(self) -> WebhookServer:
        """The server of its webhooks."""


class WebhookBuilder:
    """Registers the webhooks of a kind in one expression.

    ::

        WebhookBuilder(manager).for_(VirtulMachine).with_defaulter(VirtulMachineDefaulter()).complete()
    """

    def __init__(self, manager: ServesWebhooks) -> None:
        self._manager = manager
        self._kind: Kind | None = None
        self._defaulter: tuple[Defaulter[Any], str | None] | None = None
        self._validator: tuple[Validator[Any], str | None] | None = None
        self._converters: list[Converter[Any, Any]] = []

    def for_(self, kind: Kind) -> Self:
        """Set the kind of the webhooks. For converters, this kind is the hub.

        Raises:
            ValueError: It was called before.
        """
        if self._kind is not None:
            raise ValueError(f"webhooks are for one kind; `for_` was called with {gvk_of(self._kind)} already")
        self._kind = kind
        return self

    def with_defaulter(self, defaulter: Defaulter[Any], *, path: str | None = None) -> Self:
        """Add a defaulter. The path defaults to kubebuilder's.

        Raises:
            TypeError: It is not a defaulter, or a class instead of an instance.
            ValueError: There is one already.
        """
        _check_object(defaulter, Defaulter, "with_defaulter")
        if self._defaulter is not None:
            raise ValueError("a kind has one defaulter; `with_defaulter` was called already")
        self._defaulter = (defaulter, path)
        return self

    def with_validator(self, validator: Validator[Any], *, path: str | None = None) -> Self:
        """Add a validator. The path defaults to kubebuilder's.

        Raises:
            TypeError: It is not a validator, or a class instead of an instance.
            ValueError: There is one already.
        """
        _check_object(validator, Validator, "with_validator")
        if self._validator is not None:
            raise ValueError("a kind has one validator; `with_validator` was called already")
        self._validator = (validator, path)
        return self

    def with_converter(self, converter: Converter[Any, Any]) -> Self:
        """Add a converter between the kind and another version of it. Call it once for each such version.

        ::

            WebhookBuilder(manager).for_(v2.CronJob).with_converter(CronJobConverter()).complete()

        Raises:
            TypeError: It is not a converter, or a class instead of an instance.
        """
        _check_object(converter, Converter, "with_converter")
        self._converters.append(converter)
        return self

    def complete(self) -> None:
        """Register everything with the manager's webhook server.

        Raises:
            EnvironmentProblem: A part is missing, is for another kind, or is registered already.
        """
        if self._kind is None:
            raise INCOMPLETE_WEBHOOK.problem("a webhook needs a kind", "add `.for_(Kind)`")
        if not (self._defaulter or self._validator or self._converters):
            raise INCOMPLETE_WEBHOOK.problem(
                f"the webhook for {gvk_of(self._kind)} has no handler",
                "add `.with_defaulter(...)`, `.with_validator(...)` or `.with_converter(...)`",
            )
        gvk = gvk_of(self._kind)
        for webhook in (self._defaulter, self._validator):
            if webhook is not None:
                _check_declared(webhook[0], gvk)
        for converter in self._converters:
            _check_converter(converter, gvk)
        server = self._manager.webhook_server
        if self._defaulter is not None:
            defaulter, path = self._defaulter
            server.register(path or mutate_path(gvk), DefaulterHandler(gvk, defaulter))
        if self._validator is not None:
            validator, path = self._validator
            server.register(path or validate_path(gvk), ValidatorHandler(gvk, validator))
        for converter in self._converters:
            server.conversions.add(converter)


def _check_object(given: object, expected: type, method: str) -> None:
    if isinstance(given, type):
        raise TypeError(f"`{method}` needs an object, got the class `{given.__name__}`: `{given.__name__}()`")
    if not isinstance(given, expected):
        raise TypeError(f"`{method}` needs a `{expected.__name__}`, got `{type(given).__name__}`")


def _check_declared(webhook: TypedWebhook[Any], gvk: GroupVersionKind) -> None:
    if issubclass(webhook.kind, Unstructured):
        return
    found = gvk_of(webhook.kind)
    if found != gvk:
        called, base = type(webhook).__name__, next(b for b in (Defaulter, Validator) if isinstance(webhook, b))
        raise WEBHOOK_KIND.problem(
            f"`{called}` is for {found}, but `for_` names {gvk}",
            f"write `class {called}({base.__name__}[{gvk.kind}])` with {gvk.kind} of {gvk.group_version}",
        )


def _check_converter(converter: Converter[Any, Any], gvk: GroupVersionKind) -> None:
    called = type(converter).__name__
    spoke, hub = _gvk(converter.spoke, called), _gvk(converter.hub, called)
    if hub != gvk:
        swapped = spoke == gvk
        raise WEBHOOK_KIND.problem(
            f"`{called}` has the hub {hub}, but `for_` names {gvk}",
            "name the spoke first and the hub second" if swapped else f"give `for_` the hub: {hub}",
            notes=f"it is `Converter[{converter.spoke.__name__}, {converter.hub.__name__}]`: spoke, then hub",
        )
    if spoke.group_kind != hub.group_kind:
        raise CONVERTER.problem(
            f"`{called}` converts {spoke.group_kind} into {hub.group_kind}",
            f"give it a version of {hub.group_kind} as the spoke",
            notes="the API server converts between versions of one kind",
        )
    if spoke.version == hub.version:
        raise CONVERTER.problem(
            f"`{called}` converts {hub} into itself", f"give it another version of {hub.group_kind} as the spoke"
        )


def _gvk(kind: type[Object], converter: str) -> GroupVersionKind:
    try:
        return gvk_of(kind)
    except TypeError as error:
        raise CONVERTER.problem(f"`{converter}`: {error}") from None
