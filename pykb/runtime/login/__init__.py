"""Login: finds the API server and the credentials for it, in the order and the formats of client-go."""

from pykb.runtime.login._discover import DiscoveredCredentials, InClusterSource, discover_credentials
from pykb.runtime.login._kubeconfig import KubeconfigSource
from pykb.runtime.login.credentials import Credentials, CredentialSource, Impersonation, StaticCredentials

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
