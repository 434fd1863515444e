"""Mistakes outside the project: a missing tool, a control plane that does not start, a state that is not ours."""

from __future__ import annotations

from pykb.diagnostics.model import Code

TOOL_MISSING = Code(
    "tool-missing",
    "A program that pykb calls is not installed",
    "pykb calls kubectl, kustomize and, to build a control plane, go. It looks in the cache that `pykb envtest use` "
    "fills and on PATH. Install the program, or let `pykb envtest use` bring kubectl along.",
)

COMMAND_FAILED = Code(
    "command-failed",
    "A program that pykb called failed",
    "The program ran and ended with an error; its last lines are quoted. What it says is about its own input, "
    "so the remedy is in its words.",
)

ASSETS_MISSING = Code(
    "envtest-assets-missing",
    "The binaries of a control plane are nowhere to be had",
    "A local control plane needs etcd and kube-apiserver. pykb looks in the folder of KUBEBUILDER_ASSETS, then in its "
    "cache, then downloads the official envtest archive, then builds the programs from their Go modules. Each source "
    "that was tried is named with the reason it did not serve.",
)

ASSETS_INCOMPLETE = Code(
    "envtest-assets-incomplete",
    "KUBEBUILDER_ASSETS names a folder that lacks a program",
    "When KUBEBUILDER_ASSETS is set, pykb uses that folder and no other, so that nobody tests against a version they "
    "did not choose. It must hold etcd and kube-apiserver.",
)

ASSETS_CHECKSUM = Code(
    "envtest-checksum",
    "A downloaded archive is not what its publisher says it is",
    "pykb knows the SHA-512 of the official archives. For those that are newer than itself it takes the index's. The "
    "download had another one, was thrown away, and nothing of it was run.",
)

ASSETS_VERSION = Code(
    "envtest-version",
    "Not a Kubernetes version",
    "Versions are `1.36.1` or `v1.36.1`; a minor such as `1.36` stands for its newest known patch.",
)

CONTROLLER_MANAGER_MISSING = Code(
    "controller-manager-missing",
    "The control plane runs without kube-controller-manager",
    "Without it owned objects are not garbage-collected, Deployments make no ReplicaSets, deleted namespaces stay "
    "Terminating and namespaces get no default ServiceAccount. Everything else works. The official envtest archives "
    "lack the program; pykb builds it from its Go module.",
)

CONTROL_PLANE_START = Code(
    "control-plane-start",
    "A part of the control plane did not start",
    "etcd or kube-apiserver ended or did not become ready in time. The last lines of its log are quoted; the whole log "
    "is in the file named.",
)

CONTROL_PLANE_PORT = Code(
    "control-plane-port",
    "The port for the control plane is taken",
    "Another program listens on the port that was asked for. Leave the port out to get a free one.",
)

KUBECONFIG_UNUSABLE = Code(
    "kubeconfig-unusable",
    "There is no kubeconfig to use",
    "A real cluster was asked for, by USE_EXISTING_CLUSTER or --kubeconfig, but no kubeconfig was found: neither "
    "KUBECONFIG nor ~/.kube/config names a file that exists.",
)

CRD_REFUSED = Code(
    "crd-refused",
    "The API server refused a CustomResourceDefinition",
    "The manifest was sent and turned down; the reason is the server's own. Manifests that `pykb generate` wrote are "
    "accepted, so look for an edit by hand, or generate again.",
)

CRD_NOT_ESTABLISHED = Code(
    "crd-not-established",
    "A CustomResourceDefinition was accepted but is not served",
    "The API server took the definition and did not establish it, usually because its names clash with another "
    "resource's. The conditions of the definition say why.",
)

DEV_RUNNING = Code(
    "dev-running",
    "`pykb dev` runs in this project already",
    "Each loop with a control plane of its own leaves the way to it in `.pykb/dev/kubeconfig`, and writes the "
    "manifests. Two of them would take both away from each other.",
)

CLUSTER_NAME = Code(
    "cluster-name",
    "A name that a local control plane cannot have",
    "The name becomes the name of a folder: lower-case letters, digits and `-`, a letter or digit first and last, at "
    "most 63 characters.",
)

CLUSTER_STATE = Code(
    "cluster-state",
    "The state of the local control plane cannot be used",
    "The file that says which processes belong to the control plane is broken, or it names processes that are not "
    "ours. pykb never ends a process that it did not start.",
)
