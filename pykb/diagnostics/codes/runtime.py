"""Mistakes in the setup or the start of a manager and its webhooks."""

from pykb.diagnostics.model import Code

CANNOT_LISTEN = Code(
    "cannot-listen",
    "a server of the manager cannot listen on its address",
    "The manager serves probes, metrics and webhooks on the addresses in its flags. Listening fails if another "
    "process (often an earlier manager that still runs) uses the port, or if the address does not belong to this host.",
)

CERTIFICATE = Code(
    "serving-certificate",
    "a server's certificate cannot be used",
    "The metrics or webhook server reads its certificate from the directory that `--metrics-cert-path` or "
    "`--webhook-cert-path` names. cert-manager's secret is mounted there. The files must exist and must be a PEM pair.",
)

MANAGED_CERTIFICATE = Code(
    "managed-certificate",
    "the manager cannot make its own certificate",
    "With `--cert-secret`, the manager makes an authority and a certificate for the Services of `--cert-service`. It "
    "keeps both in that Secret of its namespace, renews them, and puts the authority into the webhook configurations "
    "of `--webhook-configuration` and into the CRDs that it converts. `pykb create webhook` scaffolds the flags and "
    "the permissions. Outside of a cluster, leave `--cert-secret` out: the servers then sign their own certificates.",
)

CLIENT_CA = Code(
    "client-ca",
    "the CA file for clients of a server cannot be used",
    "With `--webhook-client-ca-file` or `--metrics-client-ca-file`, a client needs a certificate that a CA in that "
    "file has signed. With `--webhook-client-allowed-names` or `--metrics-client-allowed-names`, the certificate must "
    "also have one of these common names. The file must contain certificates in PEM. It is reloaded when it changes. "
    "This needs TLS, so it cannot be combined with `--metrics-secure=false`.",
)

TLS_OPTION = Code(
    "tls-option",
    "a TLS version or cipher suite is not supported",
    "`--tls-min-version` and `--tls-cipher-suites` apply to every TLS server of the manager. They take the same names "
    "as kube-apiserver, but only secure ones. The suites are those of TLS 1.2. Python always offers all suites of TLS "
    "1.3.",
)

CONTROLLER_NAME = Code(
    "controller-name-taken",
    "two controllers have the same name",
    "The name of a controller is a label of its metrics and a field of its logs, so it must be unique in a manager. "
    "Set it with `ControllerBuilder.named`. It defaults to the kind in lower case.",
)

INCOMPLETE_CONTROLLER = Code(
    "incomplete-controller",
    "a controller has nothing to reconcile",
    "A controller consists of its watches and a reconciler. `for_` names the kind that it reconciles. A controller "
    "without `for_` needs a name and at least one `watches` or `watches_raw`.",
)

NO_NAMESPACE = Code(
    "no-namespace-to-shard-by",
    "objects without a namespace cannot be distributed by namespace",
    "With `--shard-by namespace`, the namespace of an object decides which replica works on it. Objects of a "
    "cluster-scoped kind have none, so one replica would get all of them. Distribute by uid, or let the leader run "
    "the controller: `with_options(sharded=False)`.",
)

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
