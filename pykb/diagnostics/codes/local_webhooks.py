"""Mistakes with webhooks that a local control plane is to call on this machine."""

from __future__ import annotations

from pykb.diagnostics.model import Code

WEBHOOK_MANIFEST = Code(
    "webhook-manifest",
    "A webhook manifest that cannot be used",
    "`config/webhook/manifests.yaml` is written by `pykb generate` from the webhook markers. Tests and `pykb dev` read "
    "it, put the address of this machine in the place of the service, and install it. It holds "
    "MutatingWebhookConfiguration and ValidatingWebhookConfiguration of admissionregistration.k8s.io/v1, nothing else.",
)

WEBHOOK_UNLISTED = Code(
    "webhook-unlisted",
    "A webhook that is served, but that no manifest lists",
    "The API server calls the webhooks that a configuration lists. What a manager serves at a path that is not in "
    "`config/webhook/manifests.yaml` is never called. The manifest is generated from `+kubebuilder:webhook` markers.",
)

WEBHOOK_UNSERVED = Code(
    "webhook-unserved",
    "A webhook that a manifest lists, but that nobody serves",
    "The API server calls what `config/webhook/manifests.yaml` lists; where the manager serves nothing at the path, "
    "the requests that the webhook would judge fail. A webhook is served once it is registered with the manager.",
)

WEBHOOK_REFUSED = Code(
    "webhook-refused",
    "The API server refused a webhook configuration",
    "The configuration was sent and turned down; the reason is the server's own.",
)

WEBHOOK_UNREACHABLE = Code(
    "webhook-unreachable",
    "The API server cannot call webhooks on this machine",
    "A webhook is called by the API server. A control plane of pykb's runs on this machine and calls 127.0.0.1; "
    "another cluster needs a name or an address at which it reaches this machine, which `PYKB_WEBHOOK_HOST` tells.",
)

WEBHOOK_NOT_IN_EFFECT = Code(
    "webhook-not-in-effect",
    "The API server did not take notice of webhooks in time",
    "After a configuration was written, the API server takes a moment to notice it. Here it did not within the time "
    "that was given, so tests would have met a server without webhooks.",
)

CONVERSION_WITHOUT_CRD = Code(
    "conversion-without-crd",
    "A kind is to be converted whose definition is not installed",
    "How a kind is converted is said in its CustomResourceDefinition. In tests the fixture `crds` installs the "
    "definitions of `config/crd/bases`.",
)
