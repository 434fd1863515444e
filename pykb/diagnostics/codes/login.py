"""Problems that prevent access to an API server."""

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
