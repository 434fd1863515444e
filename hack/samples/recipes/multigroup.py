"""The recipe of the sample `multigroup`."""

from __future__ import annotations

from hack.samples.steps import Step, create_api, create_webhook, init, own, pykb, replace

NO_TYPES = ("--no-resource", "--controller")
BOTH = ("--resource", "--controller")

EXAMPLE = '''
    foo: str | None = None
    """An example field, to be replaced by what Frigate needs."""
'''
OLD = '''
    guns: Int32 | None = None
    """How many guns she carries."""

    home_port: str | None = None
    """The port that she belongs to."""
'''
NEW = '''
    guns: Int32 | None = None
    """How many guns she carries."""

    home: Home | None = None
    """Where she belongs to."""
'''
SPEC = """
class FrigateSpec(Struct):
"""
HOME = '''
class Home(Struct):
    """A place in a port."""

    port: str
    """The port."""

    berth: str | None = None
    """The berth in it."""


class FrigateSpec(Struct):
'''
INT32 = ("CustomResource, Field, Struct", "CustomResource, Field, Int32, Struct")


def steps(issuer: str) -> list[Step]:
    """The recipe, with certificates of `cert-manager` or `built-in`."""
    return [
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
        replace("fleet/api/ship/v1beta1/frigate_types.py", INT32, (EXAMPLE, OLD)),
        replace("fleet/api/ship/v1/frigate_types.py", INT32, (EXAMPLE, NEW), (SPEC, HOME)),
        replace("config/samples/ship_v1beta1_frigate.yaml", ("  foo: bar\n", "  guns: 38\n  homePort: Portsmouth\n")),
        replace(
            "config/samples/ship_v1_frigate.yaml",
            ("  foo: bar\n", "  guns: 44\n  home:\n    port: Boston\n    berth: Pier 1\n"),
        ),
        create_webhook("ship", "v1", "Frigate", "--conversion", "--spoke", "v1beta1", "--certificates", issuer),
        create_webhook("ship", "v1", "Frigate", "--programmatic-validation"),
        create_webhook("crew", "v1", "Captain", "--defaulting", "--defaulting-path", "/default-captains"),
        own("fleet/api/ship/v1beta1/frigate_conversion.py", "tests/api/ship/v1beta1/test_frigate_conversion.py"),
        pykb("generate"),
    ]


STEPS = steps("cert-manager")
