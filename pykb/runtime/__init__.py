"""Runs reconcilers: controller-runtime's role, with kopf as the engine.

The names below are loaded when first used, so that a program pays for what it takes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pykb.api.unreadable import UnreadableObject
    from pykb.runtime.apply import OperationResult, create_or_patch, create_or_update, patch_status
    from pykb.runtime.bridge import await_in_thread, call_in_thread
    from pykb.runtime.builder import ControllerBuilder
    from pykb.runtime.cleanup import CleanUp, Finalizers
    from pykb.runtime.client import (
        Client,
        ClientOptions,
        JsonPatch,
        MergePatch,
        Patch,
        StatusWriter,
        StrategicMergePatch,
        SubresourceClient,
        Transport,
        TransportOptions,
        Watch,
        WatchEvent,
        merge_from,
    )
    from pykb.runtime.client.apply_configuration import extract_applied, partial
    from pykb.runtime.clock import Clock, SystemClock, VirtualClock
    from pykb.runtime.controlled import ensure_deleted, list_controlled, prune
    from pykb.runtime.controller import Controller, ControllerOptions, ReconcileTimeout
    from pykb.runtime.ensure import ensure_applied
    from pykb.runtime.errors import (
        AlreadyExists,
        ApiError,
        BadRequest,
        Conflict,
        Expired,
        Forbidden,
        Gone,
        Invalid,
        NoKindMatch,
        NotFound,
        ServerUnreachable,
        TooManyRequests,
        Unauthorized,
    )
    from pykb.runtime.event import Event, EventType
    from pykb.runtime.field_error import FieldError, FieldErrorType
    from pykb.runtime.finalizer import (
        add_finalizer,
        ensure_finalizer,
        has_finalizer,
        release_finalizer,
        remove_finalizer,
    )
    from pykb.runtime.handler import (
        EnqueueRequestForObject,
        EnqueueRequestForOwner,
        EnqueueRequestsFromMap,
        EventHandler,
        FuncHandler,
    )
    from pykb.runtime.informer import ALL_NAMESPACES, CacheSyncTimeout, Informer, InformerOptions, NamespaceSelection
    from pykb.runtime.informer_cache import CacheOptions, InformerCache
    from pykb.runtime.leader import LeaderElectionOptions, LeaderElector, LeadershipLost
    from pykb.runtime.lister import Lister
    from pykb.runtime.logging import LogFormat, configure_logging, set_log_level
    from pykb.runtime.login import Credentials, CredentialSource, discover_credentials
    from pykb.runtime.manager import Manager
    from pykb.runtime.metrics import Metrics
    from pykb.runtime.options import CertificateOptions, ManagerOptions, TlsOptions, add_flags
    from pykb.runtime.owner import (
        AlreadyOwned,
        CrossNamespaceOwner,
        NotControlled,
        controller_of,
        is_controlled_by,
        remove_owner_reference,
        set_controller_reference,
        set_owner_reference,
    )
    from pykb.runtime.predicate import (
        AllOf,
        AnnotationChanged,
        AnyOf,
        GenerationChanged,
        LabelChanged,
        LabelSelectorPredicate,
        Not,
        Predicate,
        ResourceVersionChanged,
        Where,
    )
    from pykb.runtime.queue import LOW_PRIORITY, QueueShutDown, WorkQueue
    from pykb.runtime.ratelimit import (
        BucketLimiter,
        ItemExponentialLimiter,
        MaxOfLimiter,
        RateLimiter,
        default_rate_limiter,
    )
    from pykb.runtime.reconcile import Reconciler, Request, Result, TerminalError
    from pykb.runtime.recorder import EventRecorder, reference_to
    from pykb.runtime.retry import retry_on_conflict
    from pykb.runtime.runnables import Runnable
    from pykb.runtime.selector import LabelSelector
    from pykb.runtime.source import Channel, ChannelSource, FuncSource, KindSource, Source
    from pykb.runtime.webhook.admission import (
        AdmissionRequest,
        AdmissionResponse,
        Operation,
        UserInfo,
        Warnings,
        answering,
        current_admission_request,
    )
    from pykb.runtime.webhook.builder import WebhookBuilder
    from pykb.runtime.webhook.defaulter import Defaulter
    from pykb.runtime.webhook.response import Denied
    from pykb.runtime.webhook.server import WebhookServer
    from pykb.runtime.webhook.validator import Validator

_NAMES_BY_MODULE = {
    "builder": ("ControllerBuilder",),
    "client": (
        "Client",
        "ClientOptions",
        "JsonPatch",
        "MergePatch",
        "Patch",
        "StatusWriter",
        "StrategicMergePatch",
        "SubresourceClient",
        "Transport",
        "TransportOptions",
        "Watch",
        "WatchEvent",
        "merge_from",
    ),
    "clock": ("Clock", "SystemClock", "VirtualClock"),
    "controller": ("Controller", "ControllerOptions", "ReconcileTimeout"),
    "errors": (
        "AlreadyExists",
        "ApiError",
        "BadRequest",
        "Conflict",
        "Expired",
        "Forbidden",
        "Gone",
        "Invalid",
        "NoKindMatch",
        "NotFound",
        "ServerUnreachable",
        "TooManyRequests",
        "Unauthorized",
    ),
    "client.unreadable": ("UnreadableObject",),
    "event": ("Event", "EventType"),
    "handler": (
        "EnqueueRequestForObject",
        "EnqueueRequestForOwner",
        "EnqueueRequestsFromMap",
        "EventHandler",
        "FuncHandler",
    ),
    "informer": ("ALL_NAMESPACES", "CacheSyncTimeout", "Informer", "InformerOptions", "NamespaceSelection"),
    "informer_cache": ("CacheOptions", "InformerCache"),
    "lister": ("Lister",),
    "logging": ("LogFormat", "configure_logging", "set_log_level"),
    "login": ("CredentialSource", "Credentials", "discover_credentials"),
    "manager": ("Manager",),
    "metrics": ("Metrics",),
    "options": ("CertificateOptions", "ManagerOptions", "TlsOptions", "add_flags"),
    "predicate": (
        "AllOf",
        "AnnotationChanged",
        "AnyOf",
        "GenerationChanged",
        "LabelChanged",
        "LabelSelectorPredicate",
        "Not",
        "Predicate",
        "ResourceVersionChanged",
        "Where",
    ),
    "queue": ("LOW_PRIORITY", "QueueShutDown", "WorkQueue"),
    "ratelimit": ("BucketLimiter", "ItemExponentialLimiter", "MaxOfLimiter", "RateLimiter", "default_rate_limiter"),
    "reconcile": ("Reconciler", "Request", "Result", "TerminalError"),
    "runnables": ("Runnable",),
    "selector": ("LabelSelector",),
    "source": ("Channel", "ChannelSource", "FuncSource", "KindSource", "Source"),
    "bridge": ("await_in_thread", "call_in_thread"),
    "apply": ("OperationResult", "create_or_patch", "create_or_update", "patch_status"),
    "client.apply_configuration": ("extract_applied", "partial"),
    "controlled": ("ensure_deleted", "list_controlled", "prune"),
    "ensure": ("ensure_applied",),
    "cleanup": ("CleanUp", "Finalizers"),
    "finalizer": ("add_finalizer", "ensure_finalizer", "has_finalizer", "release_finalizer", "remove_finalizer"),
    "leader": ("LeaderElectionOptions", "LeaderElector", "LeadershipLost"),
    "owner": (
        "AlreadyOwned",
        "CrossNamespaceOwner",
        "NotControlled",
        "controller_of",
        "is_controlled_by",
        "remove_owner_reference",
        "set_controller_reference",
        "set_owner_reference",
    ),
    "recorder": ("EventRecorder", "reference_to"),
    "retry": ("retry_on_conflict",),
    "field_error": ("FieldError", "FieldErrorType"),
    "webhook.admission": (
        "AdmissionRequest",
        "AdmissionResponse",
        "Operation",
        "UserInfo",
        "Warnings",
        "answering",
        "current_admission_request",
    ),
    "webhook.builder": ("WebhookBuilder",),
    "webhook.defaulter": ("Defaulter",),
    "webhook.response": ("Denied",),
    "webhook.server": ("WebhookServer",),
    "webhook.validator": ("Validator",),
}

_MODULES = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = [
    "ALL_NAMESPACES",
    "LOW_PRIORITY",
    "AdmissionRequest",
    "AdmissionResponse",
    "AllOf",
    "AlreadyExists",
    "AlreadyOwned",
    "AnnotationChanged",
    "AnyOf",
    "ApiError",
    "BadRequest",
    "BucketLimiter",
    "CacheOptions",
    "CacheSyncTimeout",
    "CertificateOptions",
    "Channel",
    "ChannelSource",
    "CleanUp",
    "Client",
    "ClientOptions",
    "Clock",
    "Conflict",
    "Controller",
    "ControllerBuilder",
    "ControllerOptions",
    "CredentialSource",
    "Credentials",
    "CrossNamespaceOwner",
    "Defaulter",
    "Denied",
    "EnqueueRequestForObject",
    "EnqueueRequestForOwner",
    "EnqueueRequestsFromMap",
    "Event",
    "EventHandler",
    "EventRecorder",
    "EventType",
    "Expired",
    "FieldError",
    "FieldErrorType",
    "Finalizers",
    "Forbidden",
    "FuncHandler",
    "FuncSource",
    "GenerationChanged",
    "Gone",
    "Informer",
    "InformerCache",
    "InformerOptions",
    "Invalid",
    "ItemExponentialLimiter",
    "JsonPatch",
    "KindSource",
    "LabelChanged",
    "LabelSelector",
    "LabelSelectorPredicate",
    "LeaderElectionOptions",
    "LeaderElector",
    "LeadershipLost",
    "Lister",
    "LogFormat",
    "Manager",
    "ManagerOptions",
    "MaxOfLimiter",
    "MergePatch",
    "Metrics",
    "NamespaceSelection",
    "NoKindMatch",
    "Not",
    "NotControlled",
    "NotFound",
    "Operation",
    "OperationResult",
    "Patch",
    "Predicate",
    "QueueShutDown",
    "RateLimiter",
    "ReconcileTimeout",
    "Reconciler",
    "Request",
    "ResourceVersionChanged",
    "Result",
    "Runnable",
    "ServerUnreachable",
    "Source",
    "StatusWriter",
    "StrategicMergePatch",
    "SubresourceClient",
    "SystemClock",
    "TerminalError",
    "TlsOptions",
    "TooManyRequests",
    "Transport",
    "TransportOptions",
    "Unauthorized",
    "UnreadableObject",
    "UserInfo",
    "Validator",
    "VirtualClock",
    "Warnings",
    "Watch",
    "WatchEvent",
    "WebhookBuilder",
    "WebhookServer",
    "Where",
    "WorkQueue",
    "add_finalizer",
    "add_flags",
    "answering",
    "await_in_thread",
    "call_in_thread",
    "configure_logging",
    "controller_of",
    "create_or_patch",
    "create_or_update",
    "current_admission_request",
    "default_rate_limiter",
    "discover_credentials",
    "ensure_applied",
    "ensure_deleted",
    "ensure_finalizer",
    "extract_applied",
    "has_finalizer",
    "is_controlled_by",
    "list_controlled",
    "merge_from",
    "partial",
    "patch_status",
    "prune",
    "reference_to",
    "release_finalizer",
    "remove_finalizer",
    "remove_owner_reference",
    "retry_on_conflict",
    "set_controller_reference",
    "set_log_level",
    "set_owner_reference",
]


if not TYPE_CHECKING:  # a type checker would take any name
    from pykb.runtime.memory import importing

    def __getattr__(name: str) -> Any:
        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        with importing():
            return getattr(import_module(f"{__name__}.{module}"), name)
