"""How the sample `multigroup` came to be."""

from __future__ import annotations

from hack.samples.steps import create_api, init, own, pykb

NO_TYPES = ("--no-resource", "--controller")
BOTH = ("--resource", "--controller")

STEPS = [
    init("--domain", "example.com", "--project-name", "fleet", "--multigroup"),
    create_api("crew", "v1", "Captain", *BOTH),
    create_api("crew", "v1", "Captain", *NO_TYPES, "--controller-name", "captain-backup"),
    create_api("ship", "v1beta1", "Frigate", "--resource", "--no-controller"),
    create_api("ship", "v1", "Frigate", *BOTH),
    create_api("ship", "v1", "Harbour", *BOTH, "--no-namespaced"),
    create_api("sea-creatures", "v1alpha1", "Kraken", *BOTH, "--plural", "kraken", "--style", "handlers"),
    create_api("apps", "v1", "Deployment", *NO_TYPES),
    own("fleet/external/__init__.py", "fleet/external/issuers.py"),
    create_api(
        *("certs", "v1", "Issuer", *NO_TYPES),
        *("--external-api-path", "fleet.external.issuers", "--external-api-domain", "example.org"),
    ),
    pykb("generate"),
]
