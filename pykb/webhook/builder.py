"""Builds the webhooks of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

from pykb.api.conversion import Converter
from pykb.api.object import Object, Unstructured
from pykb.client.codec import Kind, gvk_of
from pykb.diagnostics.codes.runtime import CONVERTER, INCOMPLETE_WEBHOOK, WEBHOOK_KIND
from pykb.meta.gvk import GroupVersionKind, mutate_path, validate_path
from pykb.webhook._typed import Defaulter, DefaulterHandler, TypedWebhook, Validator, ValidatorHandler

if TYPE_CHECKING:
    from pykb.webhook.server import WebhookServer


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
                _check_kind(webhook[0], gvk)
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


def _check_kind(webhook: TypedWebhook[Any], gvk: GroupVersionKind) -> None:
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
