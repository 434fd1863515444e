"""What programs import from `pykb.runtime` stays there, wherever its code is."""

from importlib import import_module

import pytest

NAMES = {
    "pykb.runtime": """
        ALL_NAMESPACES AdmissionRequest AdmissionResponse AllOf AlreadyExists AlreadyOwned AnnotationChanged AnyOf
        ApiError BadRequest BucketLimiter CacheOptions CacheSyncTimeout CauseKind CertificateOptions Channel
        ChannelSource CleanUp Client ClientOptions Clock Cluster ClusterRequest ClusterSource Clusters Conflict
        Controller ControllerBuilder ControllerOptions CredentialSource Credentials CrossNamespaceOwner Defaulter
        Denied EnqueueRequestForObject EnqueueRequestForOwner EnqueueRequestsFromMap Event EventHandler
        EventRecorder EventType ExecResult Expired FieldChange FieldError FieldErrorType Finalizers Forbidden
        FuncHandler FuncSource GenerationChanged Gone Informer InformerCache InformerOptions Invalid
        ItemExponentialLimiter JsonPatch KindSource LOW_PRIORITY LabelChanged LabelSelector LabelSelectorPredicate
        LeaderElectionOptions LeaderElector LeadershipLost Lister LogFormat ManagedCertificateOptions Manager
        ManagerOptions MaxOfLimiter MergePatch Metrics NamespaceSelection NoKindMatch Not NotControlled NotFound
        ObjectId Operation OperationResult Patch Predicate QueueShutDown RateLimiter ReconcileCause ReconcileId
        ReconcileListener ReconcileRecord ReconcileTimeout Reconciler Request ResourceVersionChanged Result
        Runnable SentRequest ServerUnreachable Source StatusWriter StrategicMergePatch SubresourceClient
        SystemClock TerminalError TlsOptions TooManyRequests Transport TransportOptions Unauthorized
        UnreadableObject UserInfo Validator VirtualClock Warnings Watch WatchEvent WebhookBuilder WebhookListener
        WebhookRecord WebhookServer WebhookType Where WorkQueue add_finalizer add_flags answering await_in_thread call_in_thread configure_logging
        controller_of create_or_patch create_or_update current_admission_request default_rate_limiter
        discover_credentials ensure_applied ensure_deleted ensure_finalizer extract_applied has_finalizer
        is_controlled_by list_controlled merge_from partial patch_status prune reference_to release_finalizer
        remove_finalizer remove_owner_reference retry_on_conflict set_controller_reference set_log_level
        set_owner_reference
    """,
    "pykb.runtime.fake": """
        FakeApiServer fake_client
    """,
    "pykb.runtime.webhook": """
        AdmissionRequest AdmissionResponse Operation UserInfo allowed denied errored patched
    """,
}


@pytest.mark.parametrize("module", NAMES)
def test_every_public_name_is_there(module: str) -> None:
    """A name is removed or added here too, so that nobody does it unawares."""
    found = import_module(module)
    assert sorted(found.__all__) == NAMES[module].split()
    assert set(found.__all__) <= set(dir(found)), "Python suggests these names, and consoles complete them"
    assert [name for name in found.__all__ if not hasattr(found, name)] == []
