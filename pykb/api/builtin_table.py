"""Which module has which built-in kinds.

Written by `python -m hack.builtin_types` from the API of Kubernetes v1.37.2; do not edit.
"""

RELEASE = "v1.37"

# (group, version): (module, kinds)
TABLE: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("admissionregistration.k8s.io", "v1"): (
        "pykb.api.admissionregistration.v1",
        (
            "MutatingAdmissionPolicy",
            "MutatingAdmissionPolicyBinding",
            "MutatingWebhookConfiguration",
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
            "ValidatingWebhookConfiguration",
        ),
    ),
    ("apiextensions.k8s.io", "v1"): ("pykb.api.apiextensions.v1", ("CustomResourceDefinition",)),
    ("apiregistration.k8s.io", "v1"): ("pykb.api.apiregistration.v1", ("APIService",)),
    ("apps", "v1"): (
        "pykb.api.apps.v1",
        ("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    ),
    ("authentication.k8s.io", "v1"): (
        "pykb.api.authentication.v1",
        ("SelfSubjectReview", "TokenRequest", "TokenReview"),
    ),
    ("authorization.k8s.io", "v1"): (
        "pykb.api.authorization.v1",
        ("LocalSubjectAccessReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview"),
    ),
    ("autoscaling", "v1"): ("pykb.api.autoscaling.v1", ("HorizontalPodAutoscaler", "Scale")),
    ("autoscaling", "v2"): ("pykb.api.autoscaling.v2", ("HorizontalPodAutoscaler",)),
    ("batch", "v1"): ("pykb.api.batch.v1", ("CronJob", "Job")),
    ("certificates.k8s.io", "v1"): (
        "pykb.api.certificates.v1",
        ("CertificateSigningRequest", "ClusterTrustBundle", "PodCertificateRequest"),
    ),
    ("coordination.k8s.io", "v1"): ("pykb.api.coordination.v1", ("Lease",)),
    ("", "v1"): (
        "pykb.api.core.v1",
        (
            "Binding",
            "ComponentStatus",
            "ConfigMap",
            "Endpoints",
            "Event",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "PodTemplate",
            "ReplicationController",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ),
    ),
    ("discovery.k8s.io", "v1"): ("pykb.api.discovery.v1", ("EndpointSlice",)),
    ("events.k8s.io", "v1"): ("pykb.api.events.v1", ("Event",)),
    ("flowcontrol.apiserver.k8s.io", "v1"): ("pykb.api.flowcontrol.v1", ("FlowSchema", "PriorityLevelConfiguration")),
    ("networking.k8s.io", "v1"): (
        "pykb.api.networking.v1",
        ("IPAddress", "Ingress", "IngressClass", "NetworkPolicy", "ServiceCIDR"),
    ),
    ("node.k8s.io", "v1"): ("pykb.api.node.v1", ("RuntimeClass",)),
    ("policy", "v1"): ("pykb.api.policy.v1", ("Eviction", "PodDisruptionBudget")),
    ("rbac.authorization.k8s.io", "v1"): (
        "pykb.api.rbac.v1",
        ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    ),
    ("resource.k8s.io", "v1"): (
        "pykb.api.resource.v1",
        ("DeviceClass", "DeviceTaintRule", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice"),
    ),
    ("scheduling.k8s.io", "v1"): ("pykb.api.scheduling.v1", ("PriorityClass",)),
    ("storage.k8s.io", "v1"): (
        "pykb.api.storage.v1",
        ("CSIDriver", "CSINode", "CSIStorageCapacity", "StorageClass", "VolumeAttachment", "VolumeAttributesClass"),
    ),
    ("storagemigration.k8s.io", "v1"): ("pykb.api.storagemigration.v1", ("StorageVersionMigration",)),
}

# Modules that have types but no kinds.
OTHER_MODULES: tuple[str, ...] = ("pykb.api.meta.v1", "pykb.api.scheduling.v1alpha3")
