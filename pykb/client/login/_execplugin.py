"""Credential plugins: the program that a kubeconfig's ``exec`` names, and the ExecCredential it prints.

Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins and
https://kubernetes.io/docs/reference/config-api/client-authentication.v1/
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from pykb.client.login._config import Entry
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import EXEC_PLUGIN

_GROUP = "client.authentication.k8s.io"
_VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
# A non-interactive plugin must not block an operator forever. An interactive one may take longer.
_TIMEOUT = timedelta(seconds=60)
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

    async def run(self) -> ExecCredential:
        """Run it and read its output. Its messages go to our standard error.

        Raises:
            EnvironmentProblem: It does not exist, fails, takes too long (if not interactive), or
                prints something else.
        """
        interactive = self._interactive()
        output = await self._communicate(interactive)
        return self._read(output)

    def _interactive(self) -> bool:
        terminal = sys.stdin is not None and not sys.stdin.closed and sys.stdin.isatty()
        if self.interactive_mode == "Always" and not terminal:
            raise self._problem(
                "needs a terminal (`interactiveMode: Always`), and standard input is not a terminal",
                help_text="run it once yourself, or use a user entry that does not prompt",
            )
        return terminal and self.interactive_mode != "Never"

    async def _communicate(self, interactive: bool) -> bytes:
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
            async with asyncio.timeout(None if interactive else _TIMEOUT.total_seconds()):
                output, _ = await process.communicate()
        except TimeoutError as error:
            raise self._problem(
                f"did not end within {_TIMEOUT.total_seconds():.0f} s",
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
