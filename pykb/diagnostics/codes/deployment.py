"""Mistakes in deployments: a cluster that refuses objects, a manager that does not start."""

from __future__ import annotations

from pykb.diagnostics.model import Code

CLUSTER_WITHOUT_NODES = Code(
    "cluster-without-nodes",
    "The control plane has no nodes to run the operator on",
    "The project's own control plane has no nodes, so a deployed manager would never start. Choose a cluster with "
    "`--kubeconfig`, or run the manager on this machine with `make run` or `pykb dev`.",
)

IMAGE_NAME = Code(
    "image-name",
    "The text is not the name of an image",
    "The name of an image is `[REGISTRY/]NAME[:TAG][@DIGEST]`, such as `registry.example.com/team/operator:v1.2.0`.",
)

KUSTOMIZATION = Code(
    "kustomization",
    "The manifests in config/ cannot be rendered",
    "kustomize renders config/default (the operator) and config/crd (its CRDs). The message quotes its reason.",
)

KIND_UNSERVED = Code(
    "kind-unserved",
    "The cluster does not serve a kind that is to be applied",
    "An object can only be applied if the API server serves its kind. cert-manager serves Certificates and Issuers, "
    "and the Prometheus operator ServiceMonitors. pykb asks before it applies anything, so nothing is half deployed. "
    "Install what serves the kind, or leave the part out of config/default/kustomization.yaml.",
)

DEPLOY_REFUSED = Code(
    "deploy-refused",
    "The API server refuses an object",
    "pykb first sends all objects in a dry run. The message quotes the API server's reason. Objects in a namespace "
    "that does not exist yet cannot be tried before.",
)

ROLLOUT_FAILED = Code(
    "rollout-failed",
    "The manager does not start",
    "The objects were applied, but not all replicas of the manager became available. The message says why: the image "
    "cannot be pulled, Pod Security refuses the pod, the manager crashes (with its last lines), no node has room, or a "
    "Secret with a certificate is missing. The earlier version of the manager keeps running meanwhile.",
)

DELETE_STUCK = Code(
    "delete-stuck",
    "Objects are still there after they were deleted",
    "An object with finalizers stays until each finalizer is removed, which is the manager's work. So the manager is "
    "deleted last. If it does not run any more, remove the finalizers by hand: `kubectl patch KIND NAME --type merge "
    '--patch \'{"metadata": {"finalizers": null}}\'`.',
)
