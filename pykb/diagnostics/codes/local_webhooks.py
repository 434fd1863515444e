"""Problems with webhooks on this machine that a local control plane calls."""

from __future__ import annotations

from pykb.diagnostics.model import Code

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
