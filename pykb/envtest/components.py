"""The programs of a control plane with their flags and ports, and the folder with its keys, data and logs.

Each unusual flag has a comment with its reason. Only :meth:`Layout.create`, :func:`reserve_port`,
:func:`write_private` and :func:`write_kubeconfig` have side effects.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import stat
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pykb.diagnostics import Diagnostic
from pykb.diagnostics.codes.environment import CONTROL_PLANE_PORT, CONTROL_PLANE_START
from pykb.envtest.cache import APISERVER, CONTROLLER_MANAGER, ETCD
from pykb.files.durable import Folder
from pykb.tools import x509
from pykb.tools.process import quote

LIFETIME = timedelta(days=365)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, from its first byte on. Refuses a link in its place."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)  # O_CREAT does not change the mode of an existing file
        file.write(content)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        """Write ``<name>.crt`` and ``<name>.key``, private, and return their paths."""
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        write_private(certificate, self.certificate)
        write_private(key, self.key)
        return certificate, key


class Authority:
    """A certificate authority with the lifetime of its control plane. It signs certificates of servers and users."""

    def __init__(self) -> None:
        self._signer = x509.make("pykb-envtest-ca", _validity(), signs=True)

    @property
    def pair(self) -> KeyPair:
        """The authority's own certificate and key."""
        return _encoded(self._signer)

    def server(self, names: Iterable[str], *, title: str = "kube-apiserver") -> KeyPair:
        """A server certificate for DNS names and IP addresses. Its title is only for people."""
        return _encoded(x509.make(title, _validity(), signer=self._signer, names=names))

    def client(self, user: str, groups: Iterable[str] = ()) -> KeyPair:
        """A client certificate: Kubernetes takes the user from CN and the groups from O."""
        return _encoded(x509.make(user, _validity(), signer=self._signer, identifies=True, groups=groups))


def write_serving_certificate(folder: Path, hosts: Iterable[str]) -> bytes:
    """Write ``tls.crt``, ``tls.key`` and ``ca.crt`` for a server. Returns the authority's certificate as PEM.

    The authority's key signs only this certificate and is not kept.
    """
    authority = Authority()
    write_private(folder / "ca.crt", authority.pair.certificate)
    authority.server(hosts, title="pykb-webhooks").write(folder, "tls")
    return authority.pair.certificate


def _validity() -> x509.Validity:
    return x509.Validity.of(LIFETIME, datetime.now(UTC))


def _encoded(made: x509.KeyPair) -> KeyPair:
    certificate, key = made.pem
    return KeyPair(certificate.encode("ascii"), key.encode("ascii"))


LOOPBACK = "127.0.0.1"
CONTEXT = "pykb"

SERVICE_RANGE = "10.0.0.0/24"
ISSUER = "https://kubernetes.default.svc.cluster.local"
SERVER_NAMES = (
    LOOPBACK,
    "localhost",
    "10.0.0.1",  # the address of the `kubernetes` service: the first of SERVICE_RANGE
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)
SOCKET_PATH_LIMIT = 100
"""The maximum length of a Unix socket's path, in bytes. The kernel's limit is 104 on macOS and 108 on Linux."""


def reserve_port(port: int = 0) -> socket.socket:
    """Bind a loopback port and keep it, without listening, until the socket is closed.

    The apiserver binds the same port (``--permit-port-sharing`` sets SO_REUSEPORT, as this function does). Only the
    apiserver listens, so it gets every connection. To find a free port and release it would be a race between two
    control planes that start at once. With a reservation, a restarted apiserver always gets its port back.

    Args:
        port: The port wanted; 0 for any free one.

    Raises:
        EnvironmentProblem: The port is taken.
    """
    reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if port and _answers(port):
            # With SO_REUSEPORT, binding the port of another control plane of the same user would succeed and share
            # its traffic.
            raise OSError("something listens there")  # noqa: TRY301 - one way out for both refusals
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind((LOOPBACK, port))
    except OSError as error:
        reserved.close()
        raise CONTROL_PLANE_PORT.problem(
            f"port {port} of {LOOPBACK} is in use", "choose another port, or omit it to get a free one"
        ) from error
    return reserved


def port_of(reserved: socket.socket) -> int:
    """The number of a reserved port."""
    port: int = reserved.getsockname()[1]
    return port


def _answers(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        return probe.connect_ex((LOOPBACK, port)) == 0


def write_kubeconfig(path: Path, *, server: str, authority: bytes, user: str, credentials: KeyPair | str) -> Path:
    """Write a private kubeconfig with one context, as JSON. Every client reads YAML, and JSON is YAML.

    Args:
        path: The file; its folder must exist.
        server: URL of the API server.
        authority: The PEM certificate that signed the server's certificate.
        user: Name of the user entry.
        credentials: A client certificate, or a bearer token.
    """
    if isinstance(credentials, str):
        login = {"token": credentials}
    else:
        login = {
            "client-certificate-data": _encode(credentials.certificate),
            "client-key-data": _encode(credentials.key),
        }
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": CONTEXT, "cluster": {"server": server, "certificate-authority-data": _encode(authority)}},
        ],
        "users": [{"name": user, "user": login}],
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": user, "namespace": "default"}}],
        "current-context": CONTEXT,
    }
    write_private(path, json.dumps(content, indent=2).encode() + b"\n")
    return path


def _encode(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


@dataclass(frozen=True, slots=True)
class Component:
    """One process of the control plane."""

    name: str
    argv: tuple[str, ...]
    log: Path
    folder: Path

    def command(self) -> dict[str, object]:
        """The request to the supervisor that starts it."""
        return {
            "do": "start",
            "name": self.name,
            "argv": list(self.argv),
            "log": str(self.log),
            "cwd": str(self.folder),
        }


@dataclass(frozen=True, slots=True)
class Layout:
    """The private folder of one control plane.

    Attributes:
        folder: Keys, data, logs, kubeconfigs.
        port: The apiserver's port.
        sockets: The folder of the sockets. Their paths must be short: see :func:`fits_sockets`.
    """

    folder: Path
    port: int
    sockets: Path

    @property
    def server(self) -> str:
        """URL of the apiserver."""
        return f"https://{LOOPBACK}:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "kubeconfig"

    @property
    def keys(self) -> Path:
        """Folder of certificates and keys."""
        return self.folder / "pki"

    @property
    def etcd_socket(self) -> Path:
        """The socket of etcd. It is private, while a TCP port would be open to every user of the machine."""
        return self.sockets / "etcd.sock"

    def log(self, name: str) -> Path:
        """The log file of a component."""
        return self.folder / "logs" / f"{name}.log"

    def create(self, authority: Authority) -> None:
        """Write keys, certificates and kubeconfigs."""
        self.folder.chmod(0o700)
        for name in ("pki", "logs", "users"):
            (self.folder / name).mkdir(mode=0o700)
        pair = authority.pair
        write_private(self.keys / "ca.crt", pair.certificate)
        write_private(self.keys / "ca.key", pair.key)
        authority.server(SERVER_NAMES).write(self.keys, "server")
        # Service accounts have their own key. With the authority's, a token could be used as a certificate.
        write_private(self.keys / "service-account.key", Authority().pair.key)
        for path, user, groups in (
            (self.kubeconfig, "admin", ("system:masters",)),
            (self.folder / f"{CONTROLLER_MANAGER}.kubeconfig", "system:kube-controller-manager", ()),
        ):
            write_kubeconfig(
                path,
                server=self.server,
                authority=pair.certificate,
                user=user,
                credentials=authority.client(user, groups),
            )

    def etcd(self, program: Path) -> Component:
        """Etcd, on Unix sockets only."""
        # etcd requires host:port in the *advertised* URL. With one member, nobody reads it.
        advertised = f"http://{LOOPBACK}:2380"
        flags = {
            "name": "pykb",
            "data-dir": self.folder / "data",
            "listen-client-urls": f"unix://{self.etcd_socket}",
            "advertise-client-urls": f"http://{LOOPBACK}:2379",
            "listen-peer-urls": f"unix://{self.sockets / 'peer.sock'}",
            "initial-advertise-peer-urls": advertised,
            "initial-cluster": f"pykb={advertised}",
            "unsafe-no-fsync": "true",  # the data need not survive a power cut, and CI disks are slow
            "log-level": "warn",
        }
        return self._component(ETCD, program, flags)

    def apiserver(
        self, program: Path, *, service_account_admission: bool, feature_gates: Mapping[str, bool] | None
    ) -> Component:
        """The API server, set up as by kubeadm, without the parts that need nodes.

        Args:
            program: The binary.
            service_account_admission: Off without a controller manager. The plugin requires the `default`
                ServiceAccount for each pod, and nobody would create it.
            feature_gates: Features to switch on or off. Defaults to those of the release.
        """
        key = self.keys / "service-account.key"
        flags = {
            "etcd-servers": f"unix://{self.etcd_socket}",
            "bind-address": LOOPBACK,
            # Without it, the server needs an address of a real network to start.
            "advertise-address": LOOPBACK,
            "endpoint-reconciler-type": "none",  # it refuses loopback addresses, and no pod needs the endpoint
            "secure-port": self.port,
            "permit-port-sharing": "true",  # a socket of pykb reserves the port: see `reserve_port`
            "tls-cert-file": self.keys / "server.crt",
            "tls-private-key-file": self.keys / "server.key",
            "client-ca-file": self.keys / "ca.crt",
            "service-account-key-file": key,
            "service-account-signing-key-file": key,
            "service-account-issuer": ISSUER,
            "service-cluster-ip-range": SERVICE_RANGE,
            "authorization-mode": "Node,RBAC",
            "enable-admission-plugins": "NodeRestriction",
            "allow-privileged": "true",
            "profiling": "false",
        }
        if not service_account_admission:
            flags["disable-admission-plugins"] = "ServiceAccount"
        if feature_gates:
            flags["feature-gates"] = ",".join(f"{gate}={str(on).lower()}" for gate, on in feature_gates.items())
        return self._component(APISERVER, program, flags)

    def controller_manager(self, program: Path) -> Component:
        """Garbage collection, workload controllers, namespaces, service accounts."""
        flags = {
            "kubeconfig": self.folder / f"{CONTROLLER_MANAGER}.kubeconfig",
            "use-service-account-credentials": "true",
            "service-account-private-key-file": self.keys / "service-account.key",
            "root-ca-file": self.keys / "ca.crt",
            "cluster-signing-cert-file": self.keys / "ca.crt",
            "cluster-signing-key-file": self.keys / "ca.key",
            "leader-elect": "false",
            "secure-port": 0,  # it does not serve, which saves a port
            "profiling": "false",
        }
        return self._component(CONTROLLER_MANAGER, program, flags)

    def _component(self, name: str, program: Path, flags: dict[str, object]) -> Component:
        argv = (str(program), *(f"--{flag}={value}" for flag, value in flags.items()))
        return Component(name, argv, self.log(name), self.folder)


def start_problem(message: str, log: str, folder: Path) -> Diagnostic:
    """The finding that a program did not start, with the end of its log, and the folder if its disk is full."""
    full = (f"the disk with `{folder}` is full",) if "no space left on device" in log else ()
    return CONTROL_PLANE_START.at(None, message, notes=(*full, *quote(log, source="the last lines of its log")))


def fits_sockets(folder: Path) -> bool:
    """Whether socket paths in a folder are short enough for the system."""
    return len(os.fsencode(folder / "etcd.sock")) <= SOCKET_PATH_LIMIT


def new_folder() -> Path:
    """A new private folder in which sockets fit."""
    return _short_folder("pykb-")


_SOCKETS = "pykb-sockets-"


def new_sockets() -> Path:
    """A new private folder for sockets, with a short path."""
    return _short_folder(_SOCKETS)


def _short_folder(prefix: str) -> Path:
    """In the system's temporary folder, or in ``/tmp`` if the path of that is too long for sockets."""
    made = Path(tempfile.mkdtemp(prefix=prefix))
    if fits_sockets(made):
        return made
    made.rmdir()
    return Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))


def remove_sockets(place: Path) -> None:
    """Remove a folder of sockets, which has nothing else. Its name is one that pykb gives."""
    if not place.name.startswith(_SOCKETS):
        return  # the sockets are in the folder of the cluster
    with contextlib.suppress(OSError), Folder.open(place.parent.resolve()) as parent:
        with parent.inner(place.name) as folder:
            if folder.own_status.st_uid != os.geteuid():
                return
            for name in folder.names():
                found = folder.status(name)
                if found is not None and stat.S_ISSOCK(found.st_mode):
                    folder.remove(name)
        parent.remove_folder(place.name)
