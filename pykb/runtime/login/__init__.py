"""Login: finding the API server and the credentials for it, in the order and with the formats of client-go."""

from pykb.runtime.login.credentials import Credentials, CredentialSource, Impersonation, StaticCredentials
from pykb.runtime.login.discover import DiscoveredCredentials, discover_credentials
from pykb.runtime.login.incluster import InClusterSource
from pykb.runtime.login.kubeconfig import KubeconfigSource

__all__ = [
    "CredentialSource",
    "Credentials",
    "DiscoveredCredentials",
    "Impersonation",
    "InClusterSource",
    "KubeconfigSource",
    "StaticCredentials",
    "discover_credentials",
]
