"""What can go wrong when webhooks are put together."""

from pykb.diagnostics.model import Code

WEBHOOK_PATH = Code(
    "webhook-path-taken",
    "two webhooks are served at the same path",
    """The API server asks a webhook at the path that its configuration names, so that only one can answer there. The
path is made of group, version and kind unless `path=` gives another; then the marker has to name the same one.""",
)

INCOMPLETE_WEBHOOK = Code(
    "incomplete-webhook",
    "a webhook does not know what it is for, or what to do",
    """A webhook is made of the kind that `for_` names and at least one of `with_defaulter`, `with_validator` and
`with_converter`.""",
)

WEBHOOK_KIND = Code(
    "webhook-of-another-kind",
    "a defaulter, validator or converter is for another kind",
    """What a defaulter or a validator is for is said by its type argument, as in `Defaulter[VirtulMachine]`, and has
to be the kind that `for_` names. A converter names the spoke first and the hub second; its hub has to be that kind.""",
)

CONVERTER = Code(
    "wrong-converter",
    "a converter cannot convert between versions of one kind",
    """A converter leads from one version of a kind, the spoke, to another of the same kind, the hub, and back. All
spokes of a kind share one hub, and there is one converter for each of them.""",
)
