"""Mistakes and obstacles on the way to an API server."""

from pykb.diagnostics.model import Code

NO_CLUSTER = Code(
    "no-cluster",
    "no cluster is configured",
    "The cluster is looked for in this order: `--kubeconfig`, the files that KUBECONFIG lists, the service account of "
    "the pod, `~/.kube/config`. None of them was there. `pykb cluster up` starts a control plane on this host, "
    "without Docker, and says which kubeconfig to use.",
)
CLUSTER_UNREACHABLE = Code(
    "cluster-unreachable",
    "the API server does not answer",
    "The kubeconfig names a server that could not be connected to: it is down, its certificate is not trusted, or the "
    "way to it (proxy, VPN) is closed. `kubectl get --raw /readyz` with the same kubeconfig tells the same story.",
)
KUBECONFIG = Code(
    "kubeconfig",
    "the kubeconfig cannot be used",
    "A kubeconfig holds clusters, users and contexts that pair them; `current-context` chooses one. The message says "
    "which file and which entry does not fit. "
    "https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/ describes the format.",
)
EXEC_PLUGIN = Code(
    "exec-plugin",
    "the credential plugin of the kubeconfig failed",
    "A user entry with `exec` gets its credentials from a program that prints an ExecCredential object. The message "
    "says how running it failed. "
    "https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins describes "
    "the protocol.",
)
IN_CLUSTER = Code(
    "in-cluster",
    "the service account of the pod cannot be used",
    "In a pod, the token, the CA and the namespace are files below /var/run/secrets/kubernetes.io/serviceaccount, and "
    "the server is in KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. A pod with "
    "`automountServiceAccountToken: false` has none of the files.",
)
