from pykb.api.unreadable import UnreadableObject as UnreadableObject
from pykb.client._apply_configuration import extract_applied as extract_applied
from pykb.client._apply_configuration import partial as partial
from pykb.client._reader import Watch as Watch
from pykb.client._reader import WatchEvent as WatchEvent
from pykb.client.bridge import await_in_thread as await_in_thread
from pykb.client.bridge import call_in_thread as call_in_thread
from pykb.client.client import Client as Client
from pykb.client.clock import Clock as Clock
from pykb.client.clock import SystemClock as SystemClock
from pykb.client.clock import VirtualClock as VirtualClock
from pykb.client.connection import ExecResult as ExecResult
from pykb.client.ensure import (
    OperationResult as OperationResult,
)
from pykb.client.ensure import (
    create_or_patch as create_or_patch,
)
from pykb.client.ensure import (
    create_or_update as create_or_update,
)
from pykb.client.ensure import ensure_applied as ensure_applied
from pykb.client.ensure import (
    patch_status as patch_status,
)
from pykb.client.errors import (
    AlreadyExists as AlreadyExists,
)
from pykb.client.errors import (
    ApiError as ApiError,
)
from pykb.client.errors import (
    BadRequest as BadRequest,
)
from pykb.client.errors import (
    Conflict as Conflict,
)
from pykb.client.errors import (
    Expired as Expired,
)
from pykb.client.errors import FieldError as FieldError
from pykb.client.errors import FieldErrorType as FieldErrorType
from pykb.client.errors import (
    Forbidden as Forbidden,
)
from pykb.client.errors import (
    Gone as Gone,
)
from pykb.client.errors import (
    Invalid as Invalid,
)
from pykb.client.errors import (
    NoKindMatch as NoKindMatch,
)
from pykb.client.errors import (
    NotFound as NotFound,
)
from pykb.client.errors import (
    ServerUnreachable as ServerUnreachable,
)
from pykb.client.errors import (
    TooManyRequests as TooManyRequests,
)
from pykb.client.errors import (
    Unauthorized as Unauthorized,
)
from pykb.client.events import EventRecorder as EventRecorder
from pykb.client.events import reference_to as reference_to
from pykb.client.finalizers import (
    add_finalizer as add_finalizer,
)
from pykb.client.finalizers import (
    ensure_finalizer as ensure_finalizer,
)
from pykb.client.finalizers import (
    has_finalizer as has_finalizer,
)
from pykb.client.finalizers import (
    release_finalizer as release_finalizer,
)
from pykb.client.finalizers import (
    remove_finalizer as remove_finalizer,
)
from pykb.client.login import (
    Credentials as Credentials,
)
from pykb.client.login import (
    CredentialSource as CredentialSource,
)
from pykb.client.login import (
    discover_credentials as discover_credentials,
)
from pykb.client.options import ClientOptions as ClientOptions
from pykb.client.options import TransportOptions as TransportOptions
from pykb.client.owner import (
    AlreadyOwned as AlreadyOwned,
)
from pykb.client.owner import (
    CrossNamespaceOwner as CrossNamespaceOwner,
)
from pykb.client.owner import (
    NotControlled as NotControlled,
)
from pykb.client.owner import (
    controller_of as controller_of,
)
from pykb.client.owner import (
    ensure_deleted as ensure_deleted,
)
from pykb.client.owner import (
    is_controlled_by as is_controlled_by,
)
from pykb.client.owner import (
    list_controlled as list_controlled,
)
from pykb.client.owner import (
    prune as prune,
)
from pykb.client.owner import (
    remove_owner_reference as remove_owner_reference,
)
from pykb.client.owner import (
    set_controller_reference as set_controller_reference,
)
from pykb.client.owner import (
    set_owner_reference as set_owner_reference,
)
from pykb.client.patches import JsonPatch as JsonPatch
from pykb.client.patches import MergePatch as MergePatch
from pykb.client.patches import Patch as Patch
from pykb.client.patches import StrategicMergePatch as StrategicMergePatch
from pykb.client.patches import merge_from as merge_from
from pykb.client.selectors import LabelSelector as LabelSelector
from pykb.client.transport import BucketLimiter as BucketLimiter
from pykb.client.transport import Transport as Transport
from pykb.client.writer import StatusWriter as StatusWriter
from pykb.client.writer import SubresourceClient as SubresourceClient
from pykb.client.writer import retry_on_conflict as retry_on_conflict
from pykb.runtime._builder import ControllerBuilder as ControllerBuilder
from pykb.runtime._election import (
    LeaderElectionOptions as LeaderElectionOptions,
)
from pykb.runtime._election import (
    LeaderElector as LeaderElector,
)
from pykb.runtime._election import (
    LeadershipLost as LeadershipLost,
)
from pykb.runtime._logging import (
    LogFormat as LogFormat,
)
from pykb.runtime._logging import (
    configure_logging as configure_logging,
)
from pykb.runtime._logging import (
    set_log_level as set_log_level,
)
from pykb.runtime._metrics import Metrics as Metrics
from pykb.runtime.cache._options import ALL_NAMESPACES as ALL_NAMESPACES
from pykb.runtime.cache._options import InformerOptions as InformerOptions
from pykb.runtime.cache._options import NamespaceSelection as NamespaceSelection
from pykb.runtime.cache.event import (
    AllOf as AllOf,
)
from pykb.runtime.cache.event import (
    AnnotationChanged as AnnotationChanged,
)
from pykb.runtime.cache.event import (
    AnyOf as AnyOf,
)
from pykb.runtime.cache.event import Event as Event
from pykb.runtime.cache.event import EventType as EventType
from pykb.runtime.cache.event import (
    GenerationChanged as GenerationChanged,
)
from pykb.runtime.cache.event import (
    LabelChanged as LabelChanged,
)
from pykb.runtime.cache.event import (
    LabelSelectorPredicate as LabelSelectorPredicate,
)
from pykb.runtime.cache.event import (
    Not as Not,
)
from pykb.runtime.cache.event import (
    Predicate as Predicate,
)
from pykb.runtime.cache.event import (
    ResourceVersionChanged as ResourceVersionChanged,
)
from pykb.runtime.cache.event import (
    Where as Where,
)
from pykb.runtime.cache.informer import (
    CacheSyncTimeout as CacheSyncTimeout,
)
from pykb.runtime.cache.informer import (
    Informer as Informer,
)
from pykb.runtime.cache.informer import Lister as Lister
from pykb.runtime.cache.informer_cache import CacheOptions as CacheOptions
from pykb.runtime.cache.informer_cache import InformerCache as InformerCache
from pykb.runtime.controller._handler import (
    EnqueueRequestForObject as EnqueueRequestForObject,
)
from pykb.runtime.controller._handler import (
    EnqueueRequestForOwner as EnqueueRequestForOwner,
)
from pykb.runtime.controller._handler import (
    EnqueueRequestsFromMap as EnqueueRequestsFromMap,
)
from pykb.runtime.controller._handler import (
    EventHandler as EventHandler,
)
from pykb.runtime.controller._handler import (
    FuncHandler as FuncHandler,
)
from pykb.runtime.controller._source import (
    Channel as Channel,
)
from pykb.runtime.controller._source import (
    ChannelSource as ChannelSource,
)
from pykb.runtime.controller._source import (
    FuncSource as FuncSource,
)
from pykb.runtime.controller._source import (
    KindSource as KindSource,
)
from pykb.runtime.controller._source import (
    Source as Source,
)
from pykb.runtime.controller.clean_ups import CleanUp as CleanUp
from pykb.runtime.controller.clean_ups import Finalizers as Finalizers
from pykb.runtime.controller.clusters import Cluster as Cluster
from pykb.runtime.controller.clusters import ClusterRequest as ClusterRequest
from pykb.runtime.controller.clusters import Clusters as Clusters
from pykb.runtime.controller.clusters import ClusterSource as ClusterSource
from pykb.runtime.controller.controller import (
    Controller as Controller,
)
from pykb.runtime.controller.controller import (
    ControllerOptions as ControllerOptions,
)
from pykb.runtime.manager._runnables import Runnable as Runnable
from pykb.runtime.manager.manager import Manager as Manager
from pykb.runtime.options import ManagerOptions as ManagerOptions
from pykb.runtime.options import add_flags as add_flags
from pykb.runtime.records.causes import CauseKind as CauseKind
from pykb.runtime.records.causes import FieldChange as FieldChange
from pykb.runtime.records.causes import ObjectId as ObjectId
from pykb.runtime.records.causes import ReconcileCause as ReconcileCause
from pykb.runtime.records.causes import ReconcileId as ReconcileId
from pykb.runtime.records.causes import ReconcileListener as ReconcileListener
from pykb.runtime.records.causes import ReconcileRecord as ReconcileRecord
from pykb.runtime.records.causes import SentRequest as SentRequest
from pykb.runtime.records.causes import WebhookListener as WebhookListener
from pykb.runtime.records.causes import WebhookRecord as WebhookRecord
from pykb.runtime.records.causes import WebhookType as WebhookType
from pykb.runtime.requests.queue import (
    LOW_PRIORITY as LOW_PRIORITY,
)
from pykb.runtime.requests.queue import (
    ItemExponentialLimiter as ItemExponentialLimiter,
)
from pykb.runtime.requests.queue import (
    MaxOfLimiter as MaxOfLimiter,
)
from pykb.runtime.requests.queue import (
    QueueShutDown as QueueShutDown,
)
from pykb.runtime.requests.queue import (
    RateLimiter as RateLimiter,
)
from pykb.runtime.requests.queue import (
    WorkQueue as WorkQueue,
)
from pykb.runtime.requests.queue import (
    default_rate_limiter as default_rate_limiter,
)
from pykb.runtime.requests.reconcile import (
    Reconciler as Reconciler,
)
from pykb.runtime.requests.reconcile import (
    ReconcileTimeout as ReconcileTimeout,
)
from pykb.runtime.requests.reconcile import (
    Request as Request,
)
from pykb.runtime.requests.reconcile import (
    Result as Result,
)
from pykb.runtime.requests.reconcile import (
    TerminalError as TerminalError,
)
from pykb.serving.options import CertificateOptions as CertificateOptions
from pykb.serving.options import ManagedCertificateOptions as ManagedCertificateOptions
from pykb.serving.options import TlsOptions as TlsOptions
from pykb.webhook._admission import (
    AdmissionRequest as AdmissionRequest,
)
from pykb.webhook._admission import (
    AdmissionResponse as AdmissionResponse,
)
from pykb.webhook._admission import Denied as Denied
from pykb.webhook._admission import (
    Operation as Operation,
)
from pykb.webhook._admission import (
    UserInfo as UserInfo,
)
from pykb.webhook._admission import (
    Warnings as Warnings,
)
from pykb.webhook._admission import (
    answering as answering,
)
from pykb.webhook._admission import (
    current_admission_request as current_admission_request,
)
from pykb.webhook.builder import Defaulter as Defaulter
from pykb.webhook.builder import Validator as Validator
from pykb.webhook.builder import WebhookBuilder as WebhookBuilder
from pykb.webhook.server import WebhookServer as WebhookServer

__all__: list[str]
