"""Credentials from a kubeconfig. They are renewed: token files are read again, and plugins are run again."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from pykb.client.login._config import Entry, Kubeconfig, ResolvedContext, read_kubeconfig, resolve_context
from pykb.client.login.credentials import Credentials, Impersonation, expired_part
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import EXEC_PLUGIN, KUBECONFIG

# Credential plugins: the program that a kubeconfig's `exec` names, and the ExecCredential it prints.
#
# Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins and
# https://kubernetes.io/docs/reference/config-api/client-authentication.v1/


_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_LAST_MOMENT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """The ``status`` that a plugin printed."""

    token: str | None = field(default=None, repr=False)
    client_certificate: bytes | None = field(default=None, repr=False)
    client_key: bytes | None = field(default=None, repr=False)
    expiration: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A credential plugin and how to run it."""

    api_version: str
    command: str
    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    install_hint: str
    interactive_mode: str
    cluster: Mapping[str, Any] | None
    owner: str

    async def run(self, patience: timedelta) -> ExecCredential:
        """Run it and read its output. Its messages go to our standard error.

        Args:
            patience: How long it may take. An interactive one may take longer.

        Raises:
            EnvironmentProblem: It does not exist, fails, takes too long (if not interactive), or
                prints something else.
        """
        interactive = self._interactive()
        output = await self._communicate(None if interactive else patience.total_seconds())
        return self._read(output)

    def _interactive(self) -> bool:
        terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if self.interactive_mode == "Always" and not terminal:
            raise self._problem(
                "needs a terminal (`interactiveMode: Always`), and standard input is not a terminal",
                help_text="run it once yourself, or use a user entry that does not prompt",
            )
        return terminal and self.interactive_mode != "Never"

    async def _communicate(self, seconds: float | None) -> bytes:
        interactive = seconds is None
        spec: dict[str, Any] = {"interactive": interactive}
        if self.cluster is not None:
            spec["cluster"] = self.cluster
        info = {"apiVersion": self.api_version, "kind": "ExecCredential", "spec": spec}
        environment = {**os.environ, **dict(self.environment), "KUBERNETES_EXEC_INFO": orjson.dumps(info).decode()}
        try:
            process = await asyncio.create_subprocess_exec(
                self.command,
                *self.arguments,
                env=environment,
                stdin=None if interactive else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                # Most plugins are scripts around a program, and both are ended together. An
                # interactive terminal has one group.
                start_new_session=not interactive,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument
            hint = self.install_hint or f"install `{self.command}`, or put it on PATH"
            if isinstance(error, PermissionError):
                hint = f"make it executable: `chmod +x {self.command}`"
            reason = getattr(error, "strerror", None) or error
            raise self._problem(f"cannot be run: {reason}", help_text=hint) from error
        try:
            async with asyncio.timeout(seconds):
                output, _ = await process.communicate()
        except TimeoutError as error:
            raise self._problem(
                f"did not end within {seconds:.0f} s",
                help_text="run it yourself: it waits for something, or a process that it started keeps its output open",
            ) from error
        finally:
            await _end(process, group=not interactive)
        if process.returncode:
            raise self._problem(f"ended with exit code {process.returncode}", help_text=self.install_hint)
        return output

    def _read(self, output: bytes) -> ExecCredential:
        try:
            document = orjson.loads(output)
        except orjson.JSONDecodeError as error:
            raise self._problem("printed no JSON, expected an ExecCredential") from error
        if not isinstance(document, dict) or document.get("kind") != "ExecCredential":
            raise self._problem("printed JSON that is not an ExecCredential")
        if document.get("apiVersion") != self.api_version:
            found = document.get("apiVersion")
            raise self._problem(f"answered in `{found}`, but the kubeconfig asks for `{self.api_version}`")
        status = document.get("status")
        if not isinstance(status, dict):
            raise self._problem("printed an ExecCredential without a `status`")
        token, certificate, key = (
            self._text(status, name) for name in ("token", "clientCertificateData", "clientKeyData")
        )
        if not token and not (certificate and key):
            raise self._problem("gave neither a `token` nor a client certificate with its key")
        return ExecCredential(
            token=token,
            client_certificate=certificate.encode() if certificate else None,
            client_key=key.encode() if key else None,
            expiration=self._moment(status.get("expirationTimestamp")),
        )

    def _text(self, status: Mapping[str, Any], name: str) -> str | None:
        value = status.get(name) or None
        if value is None or isinstance(value, str):
            return value
        raise self._problem(f"gave a `{name}` that is not text")

    def _moment(self, text: object) -> datetime | None:
        if not text:
            return None
        try:
            moment = datetime.fromisoformat(str(text))
        except ValueError as error:
            raise self._problem(f"gave an `expirationTimestamp` that is not an RFC 3339 time: `{text}`") from error
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def _problem(self, what: str, *, help_text: str = "") -> EnvironmentProblem:
        message = f"credential plugin `{self.command}` of {self.owner} {what}"
        return EXEC_PLUGIN.problem(message, help_text)


async def _end(process: asyncio.subprocess.Process, *, group: bool) -> None:
    """Kill it, and do not wait for its output: processes that it started may keep the output open forever."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if process.returncode is None and group:
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LAST_MOMENT.total_seconds()):
            await process.wait()
    process._transport.close()  # type: ignore[attr-defined] # noqa: SLF001 - no public method closes its pipes


def read_plugin(user: Entry, cluster: Entry, cluster_info: Mapping[str, Any]) -> ExecPlugin | None:
    """Return the plugin of a user entry, or ``None``.

    Args:
        user: The user entry.
        cluster: The cluster entry. Its extension may have settings for the plugin.
        cluster_info: The cluster data for plugins with ``provideClusterInfo``.

    Raises:
        EnvironmentProblem: The entry lacks a command, or requires a protocol version that is not
            supported any more.
    """
    values = user.values.get("exec")
    if not values:
        return None
    owner = f"user `{user.name}` of {user.file}"
    _check_form(values, owner)
    command = str(values["command"])
    info = None
    if values.get("provideClusterInfo"):
        info = {**cluster_info, "config": _cluster_config(cluster)}
    return ExecPlugin(
        api_version=str(values["apiVersion"]),
        # A plain name is looked up on PATH. A path with a slash is relative to the kubeconfig's
        # directory.
        command=str(user.base / command) if os.sep in command else command,
        arguments=tuple(str(argument) for argument in values.get("args") or ()),
        environment=tuple((str(pair["name"]), str(pair.get("value", ""))) for pair in values.get("env") or ()),
        install_hint=str(values.get("installHint") or ""),
        interactive_mode=str(values.get("interactiveMode") or "IfAvailable"),
        cluster=info,
        owner=owner,
    )


def _check_form(values: Mapping[str, Any], owner: str) -> None:
    arguments, environment = values.get("args") or (), values.get("env") or ()
    api_version = str(values.get("apiVersion") or "")
    help_texts: tuple[str, ...] = ()
    if not values.get("command"):
        fault = f"`exec` of {owner} has no `command`"
    elif not isinstance(arguments, Sequence) or isinstance(arguments, str):
        fault = f"`args` of the `exec` of {owner} is not a list"
    elif not isinstance(environment, Sequence) or not all(isinstance(e, dict) and e.get("name") for e in environment):
        fault = f"`env` of the `exec` of {owner} is not a list of names and values"
    elif api_version not in _VERSIONS:
        fault = f"`exec` of {owner} asks for `apiVersion: {api_version}`, expected `{'` or `'.join(_VERSIONS)}`"
        help_texts = (f"update the plugin, and write `apiVersion: {_VERSIONS[0]}`",)
    else:
        return
    raise EXEC_PLUGIN.problem(fault, *help_texts)


def _cluster_config(cluster: Entry) -> Any:
    for extension in cluster.values.get("extensions") or ():
        if extension.get("name") == f"{_GROUP}/exec":
            return extension.get("extension")
    return None


# The kubelet rotates projected tokens early. client-go also reads them once a minute.
logger = logging.getLogger(__name__)

TOKEN_FILE_PERIOD = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The content of the files, and the source of the renewable part."""

    credentials: Credentials
    token_file: tuple[Entry, str] | None
    plugin: ExecPlugin | None


class KubeconfigSource:
    """A :class:`~pykb.client.login.credentials.CredentialSource` that reads kubeconfig files.

    Files are read at the first :meth:`current` and at each :meth:`refresh`. A token file is read
    once a minute. A plugin runs again when its credentials have expired.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        context: str | None = None,
        server: str | None = None,
        missing_ok: bool = False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        monotonic: Callable[[], float] = time.monotonic,
        plugin_timeout: timedelta = timedelta(seconds=60),
    ) -> None:
        """Make a source.

        Args:
            paths: The files. Earlier ones take precedence.
            context: The context to use. Defaults to the current one.
            server: The URL of the server (``--master``). It overrides the cluster's.
            missing_ok: Whether to skip missing files.
            now: The wall clock, for expiry.
            monotonic: Seconds of a monotonic clock, for reading files again.
            plugin_timeout: How long a plugin may block the program.
        """
        self._plugin_timeout = plugin_timeout
        self._paths = tuple(paths)
        self.context = context
        self.server = server
        self._missing_ok = missing_ok
        self._now = now
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._loaded: _Loaded | None = None
        self._credentials: Credentials | None = None
        self._token_read_at = 0.0

    @property
    def files(self) -> tuple[Path, ...]:
        """The files to read."""
        return tuple(path for path in self._paths if not self._missing_ok or path.exists())

    async def current(self) -> Credentials:
        """Return the present credentials; see :class:`~pykb.client.login.credentials.CredentialSource`."""
        if self._credentials is not None and not self._stale(self._credentials):
            return self._credentials
        async with self._lock:
            if self._credentials is None or self._stale(self._credentials):
                self._credentials = await self._renew(reload=self._loaded is None)
            return self._credentials

    async def refresh(self) -> Credentials:
        """Read the files and run the plugin again."""
        async with self._lock:
            self._credentials = await self._renew(reload=True)
            if expired := expired_part(self._credentials, self._now()):
                # The server's 401 does not say more.
                logger.warning("credentials expired", extra={"error": expired})
            return self._credentials

    def _stale(self, credentials: Credentials) -> bool:
        if credentials.expires_before(self._now()):
            return True
        reads_token = self._loaded is not None and self._loaded.token_file is not None
        return reads_token and self._monotonic() - self._token_read_at >= TOKEN_FILE_PERIOD.total_seconds()

    async def _renew(self, *, reload: bool) -> Credentials:
        loaded = self._loaded
        if loaded is None or reload:
            loaded = self._loaded = self._load()
        credentials = loaded.credentials
        if loaded.token_file is not None:
            return replace(credentials, token=self._read_token(*loaded.token_file))
        if loaded.plugin is None:
            return credentials
        given = await loaded.plugin.run(self._plugin_timeout)
        return replace(
            credentials,
            token=given.token,
            client_certificate=given.client_certificate or credentials.client_certificate,
            client_key=given.client_key or credentials.client_key,
            expiration=given.expiration,
        )

    def _read_token(self, user: Entry, path: str) -> str | None:
        self._token_read_at = self._monotonic()
        try:
            content = _read_file(path, base=user.base, entry=_owner("user", user), field="tokenFile")
        except EnvironmentProblem:
            # While a file is being replaced, the last token is better than none.
            if self._credentials is not None and self._credentials.token:
                return self._credentials.token
            if token := str(user.values.get("token") or ""):
                return token
            raise
        return content.decode().strip()

    def _load(self) -> _Loaded:
        config = read_kubeconfig(self._paths, missing_ok=self._missing_ok)
        context = resolve_context(config, self.context)
        credentials = _cluster_credentials(config, context, self.server)
        user = context.user
        if user is None:
            return _Loaded(credentials, None, None)
        credentials = _user_credentials(credentials, user)
        token_file = user.values.get("tokenFile")
        if token_file:
            return _Loaded(credentials, (user, str(token_file)), None)
        if credentials.token or credentials.username:
            return _Loaded(credentials, None, None)
        plugin = read_plugin(user, context.cluster, cluster_entry(credentials))
        if plugin is None and user.values.get("auth-provider"):
            raise _auth_provider(user)
        return _Loaded(credentials, None, plugin)


def _cluster_credentials(config: Kubeconfig, context: ResolvedContext, server: str | None) -> Credentials:
    cluster = context.cluster
    values = cluster.values
    owner = _owner("cluster", cluster)
    url = server or str(values.get("server") or "")
    if not url:
        raise KUBECONFIG.problem(f"{owner} has no `server`")
    proxy = str(values.get("proxy-url") or "")
    if proxy and not proxy.startswith(("http://", "https://")):
        scheme = proxy.partition("://")[0]
        message = f"`proxy-url` of {owner} is a `{scheme}` proxy, expected an `http` or `https` one"
        raise KUBECONFIG.problem(message)
    insecure = bool(values.get("insecure-skip-tls-verify"))
    authority = _read_material(
        values.get("certificate-authority-data"),
        values.get("certificate-authority"),
        base=cluster.base,
        entry=owner,
        field="certificate-authority",
    )
    return Credentials(
        server=(url if "://" in url else f"https://{url}").rstrip("/"),
        ca_data=None if insecure else authority,
        insecure=insecure,
        tls_server_name=str(values.get("tls-server-name") or "") or None,
        proxy_url=proxy or None,
        namespace=context.namespace,
        origin=f"kubeconfig {config.where}, context `{context.name}`",
    )


def _user_credentials(credentials: Credentials, user: Entry) -> Credentials:
    values = user.values
    owner = _owner("user", user)

    def material(field: str) -> bytes | None:
        return _read_material(values.get(f"{field}-data"), values.get(field), base=user.base, entry=owner, field=field)

    impersonate = None
    if values.get("as"):
        extra = values.get("as-user-extra") or {}
        impersonate = Impersonation(
            user=str(values["as"]),
            uid=str(values.get("as-uid") or ""),
            groups=tuple(map(str, values.get("as-groups") or ())),
            extra=tuple((str(key), tuple(map(str, value))) for key, value in extra.items()),
        )
    return replace(
        credentials,
        client_certificate=material("client-certificate"),
        client_key=material("client-key"),
        token=str(values.get("token") or "") or None,
        username=str(values.get("username") or "") or None,
        password=str(values.get("password") or "") or None,
        impersonate=impersonate,
    )


def cluster_entry(credentials: Credentials) -> dict[str, Any]:
    """The entry of a cluster in a kubeconfig, as far as it is set."""
    found = {
        "server": credentials.server,
        "tls-server-name": credentials.tls_server_name,
        "insecure-skip-tls-verify": credentials.insecure,
        "certificate-authority-data": base64.b64encode(credentials.ca_data or b"").decode(),
        "proxy-url": credentials.proxy_url,
    }
    return {key: value for key, value in found.items() if value}


def _owner(noun: str, entry: Entry) -> str:
    return f"{noun} `{entry.name}` of {entry.file}"


def _auth_provider(user: Entry) -> EnvironmentProblem:
    name = (user.values.get("auth-provider") or {}).get("name")
    message = f"{_owner('user', user)} uses `auth-provider: {name}`, which Kubernetes replaced by credential plugins"
    help_text = "use an `exec` entry, for OpenID Connect with `kubectl oidc-login get-token`"
    return KUBECONFIG.problem(message, help_text)


def _read_material(data: object, path: object, *, base: Path, entry: str, field: str) -> bytes | None:
    """Return the bytes of ``<field>-data``, else of the file in ``<field>``, else ``None``.

    Args:
        data: The value of ``<field>-data``, base64.
        path: The value of ``<field>``, relative to ``base``.
        base: The directory of the kubeconfig.
        entry: The entry, for messages: "cluster `kind` of /home/ann/.kube/config".
        field: The name of the file's field.

    Raises:
        EnvironmentProblem: The data is not base64, or the file cannot be read.
    """
    if data:
        try:
            return base64.b64decode(str(data), validate=True)
        except (binascii.Error, ValueError) as error:
            raise KUBECONFIG.problem(f"`{field}-data` of {entry} is not base64", notes=str(error)) from error
    if path:
        return _read_file(path, base=base, entry=entry, field=field)
    return None


def _read_file(path: object, *, base: Path, entry: str, field: str) -> bytes:
    """Return the bytes of a file that a kubeconfig names.

    Raises:
        EnvironmentProblem: The file cannot be read.
    """
    full = base / str(path)
    try:
        return full.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = getattr(error, "strerror", None) or error
        raise KUBECONFIG.problem(
            f"`{field}` of {entry} names `{full}`, which cannot be read: {reason}",
            f"add the file, or change `{field}` in the kubeconfig",
        ) from error
