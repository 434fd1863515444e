"""Makes TLS contexts from credentials."""

from __future__ import annotations

import ssl

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.cluster import KUBECONFIG
from pykb.runtime.login.credentials import Credentials
from pykb.runtime.serving.secret_file import secret_file


def tls_context(credentials: Credentials) -> ssl.SSLContext:
    """Make a context that trusts the server's authority and sends the client's certificate.

    Raises:
        EnvironmentProblem: The certificates or the key are not valid PEM, or do not match.
    """
    authority = credentials.ca_data.decode("ascii", "replace") if credentials.ca_data else None
    try:
        context = ssl.create_default_context(cadata=authority)
        if credentials.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if credentials.client_certificate and credentials.client_key:
            _load_client(context, credentials.client_certificate, credentials.client_key)
    except (ssl.SSLError, ValueError) as error:
        message = f"the certificates of {credentials.origin or credentials.server} cannot be used: {error}"
        help_text = ("check `certificate-authority`, `client-certificate` and `client-key`: PEM, with a matching key",)
        raise EnvironmentProblem(KUBECONFIG.at(None, message, help=help_text)) from error
    return context


def _load_client(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # The ssl module reads key pairs from files only.
    with secret_file(certificate.rstrip() + b"\n" + key) as name:
        context.load_cert_chain(name)
