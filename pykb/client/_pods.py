"""The output of containers: `logs` as text, `log_lines` as they are written; and `exec`, which runs a command.

Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#get-read-log-of-the-specified-pod
"""

from __future__ import annotations

import asyncio
import codecs
import math
from collections.abc import AsyncGenerator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from pykb.client._endpoint import Exchange, Query
from pykb.client.codec import Key, key_of
from pykb.client.connection import Call, ExecResult

if TYPE_CHECKING:
    from pykb.api.core.v1 import Pod

MOST_BYTES = 10 * 2**20
"""How much :meth:`PodVerbs.logs` returns by default."""

LONGEST_LINE = 2**20
"""Characters after which :meth:`PodVerbs.log_lines` ends a line."""


class PodVerbs:
    """The pods' part of a client."""

    _exchange: Exchange

    async def logs(
        self,
        pod: Key | Pod,
        *,
        container: str = "",
        previous: bool = False,
        since: timedelta | None = None,
        tail_lines: int | None = None,
        limit_bytes: int = MOST_BYTES,
        timestamps: bool = False,
    ) -> str:
        """Return what a container has printed.

        ::

            text = await client.logs("default/vm-0", container="web", tail_lines=20)

        It needs the verb ``get`` on ``pods/log``.

        Args:
            pod: "namespace/name", a request, or the pod.
            container: Its name. Not needed if the pod has only one.
            previous: The container before its last restart.
            since: Only what is not older than this.
            tail_lines: Only the last lines.
            limit_bytes: How much to return. The server cuts the rest off.
            timestamps: Begin each line with its time (RFC 3339).

        Raises:
            NotFound: The pod does not exist.
            BadRequest: The container does not exist or has not started, or there are several.
            ApiError: The server refused, or the node does not answer.
        """
        options = _options(container, since, tail_lines, previous=previous, timestamps=timestamps)
        if limit_bytes < 1:
            raise ValueError(f"`limit_bytes` is at least 1, found {limit_bytes}")
        call = await self._log_call(pod, (*options, ("limitBytes", str(limit_bytes))))
        parts: list[bytes] = []
        missing = limit_bytes
        async with self._exchange.connection.stream(call) as chunks:
            async for chunk in chunks:
                parts.append(chunk[:missing])
                missing -= len(chunk)
                if missing <= 0:
                    break
        return b"".join(parts).decode("utf-8", "replace")

    async def log_lines(
        self,
        pod: Key | Pod,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since: timedelta | None = None,
        tail_lines: int | None = None,
        timestamps: bool = False,
    ) -> AsyncGenerator[str]:
        """Yield the lines that a container prints, without their ends.

        ::

            async for line in client.log_lines("default/vm-0", follow=True, tail_lines=0):
                if "ready to accept connections" in line:
                    break

        A line of more than a million characters comes in parts. It needs the verb ``get`` on
        ``pods/log``.

        Args:
            pod: "namespace/name", a request, or the pod.
            container: Its name. Not needed if the pod has only one.
            follow: Wait for further lines until the container ends.
            previous: The container before its last restart.
            since: Only what is not older than this.
            tail_lines: Begin with this many of the last lines.
            timestamps: Begin each line with its time (RFC 3339).

        Raises:
            NotFound: The pod does not exist.
            BadRequest: The container does not exist or has not started, or there are several.
            ApiError: The server refused, or the node does not answer.
            ServerUnreachable: The connection broke.
        """
        options = _options(container, since, tail_lines, previous=previous, timestamps=timestamps)
        call = await self._log_call(pod, (*options, *((("follow", "true"),) if follow else ())))
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest: list[str] = []
        length = 0
        async with self._exchange.connection.stream(call) as chunks:
            async for chunk in chunks:
                *lines, tail = decoder.decode(chunk).split("\n")
                for line in lines:
                    whole = "".join([*rest, line])
                    rest, length = [], 0
                    for part in _parts(whole):
                        yield part
                rest.append(tail)
                length += len(tail)
                if length > LONGEST_LINE:
                    *full, tail = _parts("".join(rest))
                    rest, length = [tail], len(tail)
                    for part in full:
                        yield part
        last = "".join([*rest, decoder.decode(b"", final=True)])
        if last:
            yield last

    async def exec(
        self,
        pod: Key | Pod,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bytes | None = None,
        timeout: timedelta | None = timedelta(minutes=1),  # noqa: ASYNC109 - part of the contract
        limit_bytes: int = MOST_BYTES,
    ) -> ExecResult:
        """Run a command in a container, and wait until it has ended.

        ::

            result = await client.exec("default/db-0", ["psql", "-c", "CHECKPOINT"], container="db")
            if result.exit_code:
                raise RuntimeError(result.stderr.decode(errors="replace"))

        No shell reads the command. It needs the verbs ``get`` and ``create`` on ``pods/exec``, and
        an API server of Kubernetes 1.30 or newer.

        Args:
            pod: "namespace/name", a request, or the pod.
            command: The program and its arguments.
            container: Its name. Not needed if the pod has only one.
            stdin: What the command reads. ``None`` means that it has no input.
            timeout: How long to wait. ``None`` means without limit.
            limit_bytes: How much to keep of each output. The rest is dropped.

        Raises:
            NotFound: The pod does not exist.
            BadRequest: The container does not exist, or there are several.
            ApiError: The server refused, or the command could not be started.
            ServerUnreachable: The connection broke. The command may still run.
            TimeoutError: It has not ended in time. It may still run.
        """
        from pykb.api.core.v1 import Pod

        if isinstance(command, str) or not command:
            raise ValueError(f'a command is a list, as ["ls", "-l"], found {command!r}')
        where = key_of(pod)
        endpoint = await self._exchange.endpoint(Pod, namespace=where.namespace, name=where.name, subresource="exec")
        channels = ("stdout", "stderr", *(() if stdin is None else ("stdin",)))
        query = [*(("command", part) for part in command), *((name, "true") for name in channels)]
        if container:
            query.append(("container", container))
        call = Call("GET", endpoint.path, query=tuple(query), impersonate=self._exchange.options.impersonate)
        async with asyncio.timeout(None if timeout is None else timeout.total_seconds()):
            return await self._exchange.connection.execute(call, stdin, limit_bytes)

    async def _log_call(self, pod: Key | Pod, query: Query) -> Call:
        from pykb.api.core.v1 import Pod

        where = key_of(pod)
        endpoint = await self._exchange.endpoint(Pod, namespace=where.namespace, name=where.name, subresource="log")
        return Call(
            "GET",
            endpoint.path,
            query=query,
            accept="text/plain, */*",
            repeatable=True,
            impersonate=self._exchange.options.impersonate,
            chunks=True,
        )


def _options(
    container: str, since: timedelta | None, tail_lines: int | None, *, previous: bool, timestamps: bool
) -> Query:
    if since is not None and since <= timedelta():
        raise ValueError(f"`since` is a time before now, found {since}")
    if tail_lines is not None and tail_lines < 0:
        raise ValueError(f"`tail_lines` is not negative, found {tail_lines}")
    chosen = {
        "container": container or None,
        "previous": "true" if previous else None,
        "sinceSeconds": None if since is None else str(math.ceil(since.total_seconds())),
        "tailLines": None if tail_lines is None else str(tail_lines),
        "timestamps": "true" if timestamps else None,
    }
    return tuple((name, value) for name, value in chosen.items() if value is not None)


def _parts(line: str) -> list[str]:
    return [line[start : start + LONGEST_LINE] for start in range(0, len(line), LONGEST_LINE)] or [""]
