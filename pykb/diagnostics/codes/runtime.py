"""What can go wrong when a manager is put together or started."""

from pykb.diagnostics.model import Code

CANNOT_LISTEN = Code(
    "cannot-listen",
    "a server of the manager cannot listen on its address",
    """The manager serves probes, metrics and webhooks on addresses given by flags. Listening fails when another process
(often an earlier manager that still runs) has the port, or when the address is not one of this host.""",
)

CERTIFICATE = Code(
    "serving-certificate",
    "a server's certificate cannot be used",
    """The certificate of the metrics or webhook server is read from the directory that `--metrics-cert-path` or
`--webhook-cert-path` names, where cert-manager's secret is mounted. The files must be there, and be a PEM pair.""",
)

CLIENT_CA = Code(
    "client-ca",
    "the authority of a server's clients cannot be used",
    """With `--webhook-client-ca-file` or `--metrics-client-ca-file` only clients may connect whose certificate an
authority in that file has signed. With `--webhook-client-allowed-names` or `--metrics-client-allowed-names` it must
also have one of these common names. The file must hold certificates in PEM; it is followed when it changes. TLS is
needed for that, so it does not go together with `--metrics-secure=false`.""",
)

TLS_OPTION = Code(
    "tls-option",
    "a TLS version or cipher suite is not offered",
    """`--tls-min-version` and `--tls-cipher-suites` hold for every server of the manager that speaks TLS. They take the
names that kube-apiserver takes, but only those that are safe today. The suites are those of TLS 1.2. Python offers all
suites of TLS 1.3 and lets nobody choose among them.""",
)

CONTROLLER_NAME = Code(
    "controller-name-taken",
    "two controllers have the same name",
    """The name of a controller is a label of its metrics and a field of its logs, so it must be unique in a
manager. It is the kind in lower case unless `ControllerBuilder.named` gives another.""",
)

INCOMPLETE_CONTROLLER = Code(
    "incomplete-controller",
    "a controller does not know what to reconcile",
    """A controller is made of what it watches and a reconciler. `for_` names the kind that it reconciles; a
controller that reconciles something else needs a name and at least one `watches` or `watches_raw`.""",
)
