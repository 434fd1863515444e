"""A cluster that cannot be reached, refuses objects, or runs a manager that does not start."""

from __future__ import annotations

from pykb.diagnostics.model import Code

NO_CLUSTER = Code(
    "no-cluster",
    "no cluster is configured",
    "pykb looks for a cluster in this order: `--kubeconfig`, the files that KUBECONFIG lists, the service account of "
    "the pod, `~/.kube/config`. None of them exists. `pykb cluster up` starts a control plane on this host without "
    "Docker and prints the kubeconfig to use.",
)
CLUSTER_UNREACHABLE = Code(
    "cluster-unreachable",
    "the API server does not answer",
    "pykb could not connect to the server in the kubeconfig. The server may be down, its certificate may not be "
    "trusted, or a proxy or VPN may block the connection. `kubectl get --raw /readyz` with the same kubeconfig shows "
    "the same error.",
)
KUBECONFIG = Code(
    "kubeconfig",
    "the kubeconfig cannot be used",
    "A kubeconfig has clusters, users, and contexts that combine them. `current-context` selects one. The message "
    "names the file and the invalid entry. "
    "https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/ describes the format.",
)
EXEC_PLUGIN = Code(
    "exec-plugin",
    "the credential plugin of the kubeconfig failed",
    "A user entry with `exec` gets its credentials from a program that prints an ExecCredential object. The message "
    "describes how the program failed. "
    "https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins describes "
    "the protocol.",
)
IN_CLUSTER = Code(
    "in-cluster",
    "the service account of the pod cannot be used",
    "In a pod, the token, the CA and the namespace are files in /var/run/secrets/kubernetes.io/serviceaccount. "
    "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT give the server. A pod with `automountServiceAccountToken: "
    "false` does not have these files.",
)


CLUSTER_WITHOUT_NODES = Code(
    "cluster-without-nodes",
    "The control plane has no nodes to run the operator on",
    "The project's own control plane has no nodes, so a deployed manager would never start. Choose a cluster with "
    "`--kubeconfig`, or run the manager on this machine with `make run` or `pykb dev`.",
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

WEBHOOK_UNANSWERED = Code(
    "webhook-unanswered",
    "The API server does not reach a webhook of the operator",
    "The objects were applied and all replicas are available, but the API server cannot call a webhook. So it "
    "refuses objects of this kind. The message quotes its reason. `x509` means that caBundle in the webhook's "
    "configuration does not fit the certificate of the pod. A timeout means that a firewall or a NetworkPolicy "
    "keeps the API server from the pods: it connects to the port of the webhooks, 9443 by default. `connection "
    "refused` means that no pod serves webhooks, for example with ENABLE_WEBHOOKS=false.",
)

DELETE_STUCK = Code(
    "delete-stuck",
    "Objects are still there after they were deleted",
    "An object with finalizers stays until each finalizer is removed, which is the manager's work. So the manager is "
    "deleted last. If it does not run any more, remove the finalizers by hand: `kubectl patch KIND NAME --type merge "
    '--patch \'{"metadata": {"finalizers": null}}\'`.',
)
