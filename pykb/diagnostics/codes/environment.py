"""Problems outside the project: missing tools, control planes and clusters that fail or refuse, foreign files."""

from __future__ import annotations

from pykb.diagnostics.model import Code

TOOL_MISSING = Code(
    "tool-missing",
    "A program that pykb calls is not installed",
    "pykb calls kubectl, kustomize and, to build a control plane, go. It looks in the cache that `pykb envtest use` "
    "fills and on PATH. Install the program. For kubectl you can run `pykb envtest use` instead.",
)

ENVIRONMENT_MISSING = Code(
    "environment-missing",
    "The project has no environment",
    "A project has its packages in `.venv`, a virtual environment. `make environment` creates it and installs pykb. "
    "`pykb environment` then installs the rest.",
)

COMMAND_FAILED = Code(
    "command-failed",
    "A program that pykb called failed",
    "The program ended with an error. The message quotes its last lines, which describe the cause.",
)

REPOSITORY_UNREADABLE = Code(
    "repository-unreadable",
    "git cannot read the repository of the project",
    "Objects are missing, as in a partial clone, or the repository is damaged, or git refuses it because it belongs to "
    "another user. The message quotes git. pykb asks git without its network and without programs that the settings "
    "of a repository name, so git does not fetch missing objects. Where pykb compares CRDs with the last commit on its "
    "own account, this is a warning.",
)

ORIGIN_KEY = Code(
    "origin-key",
    "pykb cannot keep the key that proves what you wrote",
    "pykb leaves records in a project: of changes that it is about to make, of the control plane that it started, of "
    "the external plugins that you named. A cloned repository can contain such records of somebody else, so each has a "
    "MAC with a key of yours, in `~/.local/state/pykubebuilder/key` (`$XDG_STATE_HOME`). Without the key no record "
    "counts: changes of a killed command are not completed, plugins have to be named again, and no control plane is "
    "started in the background. Files of a project can be written as before.",
)

ASSETS_MISSING = Code(
    "envtest-assets-missing",
    "The binaries of a control plane cannot be found",
    "A local control plane needs etcd and kube-apiserver. pykb looks in the folder of KUBEBUILDER_ASSETS, then in its "
    "cache. Then it downloads the official envtest archive, or else builds the programs from their Go modules. The "
    "message lists each source that was tried and why it failed.",
)

ASSETS_INCOMPLETE = Code(
    "envtest-assets-incomplete",
    "A program is missing in the folder of KUBEBUILDER_ASSETS",
    "If KUBEBUILDER_ASSETS is set, pykb uses only that folder, so that tests never run against another version. The "
    "folder must contain etcd and kube-apiserver.",
)

ASSETS_ARCHIVE = Code(
    "envtest-archive",
    "An archive of programs cannot be used",
    "`pykb envtest sideload` reads a .tar.gz that contains etcd and kube-apiserver, in any folder. kubectl and "
    "kube-controller-manager are optional. Both the official envtest archives and an archive of the folder that "
    "`pykb envtest path` prints have this form.",
)

ASSETS_CHECKSUM = Code(
    "envtest-checksum",
    "A downloaded archive has the wrong checksum",
    "pykb knows the SHA-512 checksums of the official archives. For archives newer than pykb it uses the checksum in "
    "the index. The download had another checksum. It was deleted, and nothing in it was run.",
)

ASSETS_VERSION = Code(
    "envtest-version",
    "The version is not a Kubernetes version",
    "Versions are written `1.36.1` or `v1.36.1`. `1.36`, `1.36.x` and `1.36.*` mean the newest patch, `~1.36.2` one "
    "that is not older than 1.36.2. `<1.35` and `<=1.35.4` select older versions, and `latest` is the newest of all.",
)

CONTROLLER_MANAGER_MISSING = Code(
    "controller-manager-missing",
    "The control plane runs without kube-controller-manager",
    "Without kube-controller-manager, owned objects are not garbage-collected, Deployments create no ReplicaSets, "
    "deleted namespaces stay Terminating, and namespaces get no default ServiceAccount. Everything else works. The "
    "official envtest archives do not contain the program. pykb builds it from its Go module.",
)

CONTROL_PLANE_START = Code(
    "control-plane-start",
    "A part of the control plane did not start",
    "etcd or kube-apiserver exited, or did not become ready in time. The message quotes the last lines of its log and "
    "names the file with the whole log.",
)

CONTROL_PLANE_PORT = Code(
    "control-plane-port",
    "The port for the control plane is in use",
    "Another program listens on the requested port. Omit the port to get a free one.",
)

KUBECONFIG_UNUSABLE = Code(
    "kubeconfig-unusable",
    "There is no kubeconfig to use",
    "USE_EXISTING_CLUSTER or --kubeconfig asks for a real cluster, but no kubeconfig was found. Neither KUBECONFIG "
    "nor ~/.kube/config names an existing file. Or it was found, and does not have the context of --context.",
)

CRD_REFUSED = Code(
    "crd-refused",
    "The API server rejected a CustomResourceDefinition",
    "The message quotes the reason that the API server gave. Manifests written by `pykb generate` are accepted, so "
    "look for a manual edit, or generate the manifests again.",
)

CRD_NOT_ESTABLISHED = Code(
    "crd-not-established",
    "A CustomResourceDefinition was accepted but is not served",
    "The API server stored the definition but did not establish it, usually because its names conflict with another "
    "resource. The conditions of the definition give the reason.",
)

DEV_RUNNING = Code(
    "dev-running",
    "`pykb dev` already runs in this project",
    "`pykb dev` writes the manifests and the kubeconfig `.pykb/dev/kubeconfig`. A second `pykb dev` would overwrite "
    "both.",
)

CLUSTER_NAME = Code(
    "cluster-name",
    "A local control plane cannot have this name",
    "The name is also the name of a folder. It contains lower-case letters, digits and `-`, begins and ends with a "
    "letter or digit, and has at most 63 characters.",
)

CLUSTER_STATE = Code(
    "cluster-state",
    "The state of the local control plane cannot be used",
    "A file records which processes belong to the control plane. It is broken, or it names processes that pykb did "
    "not start. pykb never ends a process that it did not start.",
)


WEBHOOK_MANIFEST = Code(
    "webhook-manifest",
    "A webhook manifest cannot be used",
    "`pykb generate` writes `config/webhook/manifests.yaml` from the webhook markers. Tests and `pykb dev` read it, "
    "replace the service by the address of this machine, and install it. It contains only "
    "MutatingWebhookConfiguration and ValidatingWebhookConfiguration of admissionregistration.k8s.io/v1.",
)

WEBHOOK_UNLISTED = Code(
    "webhook-unlisted",
    "The manager serves a webhook that no manifest lists",
    "The API server calls only webhooks that a configuration lists. It never calls a webhook whose path is not in "
    "`config/webhook/manifests.yaml`. The manifest is generated from `+kubebuilder:webhook` markers.",
)

WEBHOOK_UNSERVED = Code(
    "webhook-unserved",
    "The manager does not serve a webhook that a manifest lists",
    "The API server calls the webhooks in `config/webhook/manifests.yaml`. If the manager serves nothing at a path, "
    "the requests for that webhook fail. Register the webhook with the manager to serve it.",
)

WEBHOOK_REFUSED = Code(
    "webhook-refused",
    "The API server rejected a webhook configuration",
    "The message quotes the reason that the API server gave.",
)

WEBHOOK_UNREACHABLE = Code(
    "webhook-unreachable",
    "The API server cannot call webhooks on this machine",
    "The API server calls webhooks. A local control plane of pykb runs on this machine and calls 127.0.0.1. For "
    "another cluster, set `PYKB_WEBHOOK_HOST` to a name or address at which the cluster reaches this machine.",
)

WEBHOOK_NOT_IN_EFFECT = Code(
    "webhook-not-in-effect",
    "Webhooks did not take effect in time",
    "The API server needs a moment to notice a new webhook configuration. Here it did not notice it within the "
    "timeout, so tests would have run without webhooks.",
)

CONVERSION_WITHOUT_CRD = Code(
    "conversion-without-crd",
    "The CRD of a kind with conversion is not installed",
    "The CustomResourceDefinition declares how a kind is converted. In tests, the fixture `crds` installs the "
    "definitions of `config/crd/bases`.",
)


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
    "and the Prometheus operator ServiceMonitors. Kubernetes serves ValidatingAdmissionPolicies since 1.30: they keep "
    "the manager, which sets caBundle in its webhook configurations and CRDs, from changing anything else there. "
    "pykb asks before it applies anything, so nothing is half deployed. "
    "Install what serves the kind, or leave the part out of config/default/kustomization.yaml.",
)

DEPLOY_REFUSED = Code(
    "deploy-refused",
    "The API server refuses an object",
    "pykb first sends all objects in a dry run. The message quotes the API server's reason. Objects in a namespace "
    "that the deployment makes can be tried when the namespace is there. So the namespace is made first.",
)

NAMESPACE_MISSING = Code(
    "namespace-missing",
    "The operator's namespace does not exist",
    "Objects can only be applied in a namespace that exists. config/manager/manager.yaml makes the namespace of the "
    "operator, unless you took it out because another team makes the namespaces of the cluster. pykb asks before it "
    "applies anything. Make the namespace, or name another one in config/default/kustomization.yaml.",
)

ROLLOUT_FAILED = Code(
    "rollout-failed",
    "The manager does not start",
    "The objects were applied, but not all replicas of the manager became available. The message says why: the image "
    "cannot be pulled, Pod Security or a quota refuses the pod, the manager crashes (with its last lines) or exceeds "
    "its memory limit, no node has room or all have taints, a node evicts the pod or cannot set up its network, or a "
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
    '--patch \'{"metadata": {"finalizers": null}}\'`. '
    "A CRD stays as long as an object of its kind.",
)
