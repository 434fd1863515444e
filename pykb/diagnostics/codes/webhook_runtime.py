"""Mistakes in the setup of webhooks."""

from pykb.diagnostics.model import Code

WEBHOOK_PATH = Code(
    "webhook-path-taken",
    "two webhooks use the same path",
    "The API server calls a webhook at the path in its configuration, so each webhook needs its own path. The default "
    "path contains group, version and kind. If you set another with `path=`, use the same path in the marker.",
)

INCOMPLETE_WEBHOOK = Code(
    "incomplete-webhook",
    "a webhook has no kind or no handler",
    "A webhook needs the kind, set by `for_`, and at least one of `with_defaulter`, `with_validator` and "
    "`with_converter`.",
)

WEBHOOK_KIND = Code(
    "webhook-of-another-kind",
    "a defaulter, validator or converter is for another kind",
    "The type argument of a defaulter or validator is its kind, as in `Defaulter[VirtulMachine]`. It must be the kind "
    "in `for_`. The type arguments of a converter are first the spoke and then the hub. Its hub must be that kind.",
)

CONVERTER = Code(
    "wrong-converter",
    "a converter cannot convert between versions of one kind",
    "A converter converts between two versions of a kind, the spoke and the hub, in both directions. All spokes of a "
    "kind share one hub. There is one converter for each spoke.",
)
