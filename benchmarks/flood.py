"""Thousands of connections that never finish what they send, against a manager: its memory, and honest requests.

    python -m benchmarks.flood [ATTACK...] [--connections 4050] [--seconds 30]

The manager is a process of its own on loopback, with webhooks, metrics by TLS and probes. Whatever it closes is opened
again at once. Meanwhile a webhook is asked on a new connection and on one that is kept, and so is the probe.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

LOOPBACK = "127.0.0.1"
THREADS = 4
_KIND = {"group": "a", "version": "v1", "kind": "Kind"}
_RESOURCE = {"group": "a", "version": "v1", "resource": "kinds"}
_REQUEST = {
    "uid": "1",
    "kind": _KIND,
    "resource": _RESOURCE,
    "name": "a",
    "namespace": "b",
    "operation": "CREATE",
    "userInfo": {"username": "jane"},
    "object": {"apiVersion": "a/v1", "kind": "Kind", "metadata": {}},
}
REVIEW = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": _REQUEST}).encode()

_POST = b"POST /judge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
ATTACKS = {
    "silent": ("webhook", None),
    "header": ("webhook", _POST),
    "body": ("webhook", _POST + b"Content-Length: 7000000\r\n\r\n" + b" " * 60_000),
    "idle": ("webhook", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    "metrics": ("metrics", b"GET /metrics HTTP/1.1\r\nHost: x\r\n"),
    "probes": ("probes", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"),
}
"""The attacked server, and the data sent to it. ``None`` sends nothing, not even a TLS handshake."""

SERVER = """
import asyncio, json
from pykb.runtime import Manager, ManagerOptions
from pykb.runtime.fake import fake_client
from pykb.runtime.webhook import allowed

manager = Manager(
    ManagerOptions(
        webhook_port=0,
        webhook_bind_host="127.0.0.1",
        metrics_bind_address="127.0.0.1:0",
        health_probe_bind_address="127.0.0.1:0",
    ),
    client=fake_client(),
)

async def judge(request):
    return allowed()

manager.webhook_server.register("/judge", judge)

class Announce:
    async def run(self):
        await manager.webhook_server.listening()
        while not (manager.servers.metrics and manager.servers.metrics.port):
            await asyncio.sleep(0.01)
        ports = {
            "webhook": manager.webhook_server.port,
            "metrics": manager.servers.metrics.port,
            "probes": manager.servers.probes.port,
        }
        print(json.dumps(ports), flush=True)
        await asyncio.get_running_loop().create_future()

manager.add(Announce())
manager.run()
"""

_ANYBODY = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
_ANYBODY.check_hostname = False
_ANYBODY.verify_mode = ssl.CERT_NONE


@dataclass(slots=True)
class Times:
    """The durations of requests, in seconds, and the number of failures."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Measure one request."""
        start = time.monotonic()
        try:
            yield
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.failures.append(f"{type(error).__name__}: {error}")
        else:
            self.seconds.append(time.monotonic() - start)

    def __str__(self) -> str:
        """For a table."""
        if not self.seconds:
            return f"none of {len(self.failures)} answered"
        total = len(self.seconds) + len(self.failures)
        middle, worst = statistics.median(self.seconds), max(self.seconds)
        return f"{len(self.seconds)} of {total} answered, median {middle * 1000:.0f} ms, worst {worst * 1000:.0f} ms"


class Honest:
    """Sends requests like those of the API server and the kubelet."""

    def __init__(self, ports: dict[str, int]) -> None:
        self._ports = ports
        self._kept = self._webhook()
        self.fresh, self.kept, self.probe = Times(), Times(), Times()

    def ask(self) -> None:
        """Send one round of requests."""
        with self.fresh.one(), contextlib.closing(self._webhook()) as connection:
            self._review(connection)
        with self.kept.one():
            try:
                self._review(self._kept)
            except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError, ssl.SSLError):
                self._kept.close()  # like Go's client when a kept connection was closed
                self._kept = self._webhook()
                self._review(self._kept)
        with (
            self.probe.one(),
            contextlib.closing(http.client.HTTPConnection(LOOPBACK, self._ports["probes"], timeout=10)) as connection,
        ):
            connection.request("GET", "/healthz")
            _check(connection)

    def close(self) -> None:
        """Close the kept connection."""
        self._kept.close()

    def _webhook(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(LOOPBACK, self._ports["webhook"], timeout=10, context=_ANYBODY)

    @staticmethod
    def _review(connection: http.client.HTTPSConnection) -> None:
        connection.request("POST", "/judge?timeout=10s", REVIEW, {"Content-Type": "application/json"})
        _check(connection)


def _check(connection: http.client.HTTPConnection) -> None:
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise ValueError(f"status {answer.status}")


class Flood:
    """Keeps connections open until it is stopped."""

    def __init__(self, port: int, content: bytes | None, *, tls: bool, connections: int) -> None:
        self._port, self._content, self._tls = port, content, tls
        self._stop = threading.Event()
        self.opened = 0
        self._slots: list[list[socket.socket | None]] = [[None] * (connections // THREADS) for _ in range(THREADS)]
        self._threads = [threading.Thread(target=self._work, args=(slots,)) for slots in self._slots]

    def __enter__(self) -> Self:
        """Begin."""
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop opening."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def close(self) -> None:
        """Close everything."""
        for slots in self._slots:
            for each in slots:
                if each is not None:
                    each.close()

    def held(self) -> int:
        """The number of open connections."""
        return sum(each is not None and _is_open(each) for slots in self._slots for each in slots)

    def _work(self, slots: list[socket.socket | None]) -> None:
        while not self._stop.is_set():
            for index, each in enumerate(slots):
                if self._stop.is_set():
                    return
                if each is not None and _is_open(each):
                    continue
                if each is not None:
                    each.close()
                slots[index] = None
                with contextlib.suppress(OSError):
                    slots[index] = self._open()
                    self.opened += 1
            time.sleep(0.01)

    def _open(self) -> socket.socket:
        plain = socket.create_connection((LOOPBACK, self._port), timeout=2)
        try:
            if self._content is None:
                return plain
            made = _ANYBODY.wrap_socket(plain) if self._tls else plain
            made.sendall(self._content)
        except BaseException:
            plain.close()
            raise
        return made


def _is_open(each: socket.socket) -> bool:
    try:
        each.setblocking(False)
        while each.recv(4096):
            pass
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    except OSError:
        return False
    return False


def memory(pid: int, what: str) -> float:
    """The memory of a process in MiB: VmRSS or VmHWM."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(what + ":"):
                return int(line.split()[1]) / 1024
    raise ValueError(what)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an attack.

    Attributes:
        before, after, peak: Memory in MiB.
        opened, held: Connections that were opened, and those still open at the end.
        honest: The honest requests during the attack.
    """

    before: float
    after: float
    peak: float
    opened: int
    held: int
    honest: Honest

    @property
    def failures(self) -> set[str]:
        """The reasons of failed honest requests."""
        return {text for times in (self.honest.fresh, self.honest.kept, self.honest.probe) for text in times.failures}

    def __str__(self) -> str:
        """The result as lines of text."""
        return "\n".join(
            (
                f"  MiB before, after, peak    {self.before:.0f} {self.after:.0f} {self.peak:.0f}",
                f"  connections opened, held   {self.opened} {self.held}",
                f"  review, new connection     {self.honest.fresh}",
                f"  review, kept connection    {self.honest.kept}",
                f"  probe                      {self.honest.probe}",
                *(f"  failure                    {text}" for text in sorted(self.failures)),
            )
        )


def run(attack: str, connections: int, seconds: float) -> Outcome:
    """Run one attack, and return its result."""
    target, content = ATTACKS[attack]
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        ports: dict[str, int] = json.loads(process.stdout.readline())
        honest = Honest(ports)
        honest.ask()
        before = memory(process.pid, "VmRSS")
        honest.fresh, honest.kept, honest.probe = Times(), Times(), Times()
        with Flood(ports[target], content, tls=target != "probes", connections=connections) as flood:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                honest.ask()
                time.sleep(0.2)
            after = memory(process.pid, "VmRSS")
        held = flood.held()
        flood.close()
        honest.close()
        peak = memory(process.pid, "VmHWM")
    finally:
        process.terminate()
        process.communicate()
    return Outcome(before, after, peak, flood.opened, held, honest)


def main(arguments: list[str] | None = None) -> None:
    """Attack and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--connections", type=int, default=4050)
    parser.add_argument("--seconds", type=float, default=30)
    flags = parser.parse_args([] if arguments is None else arguments)
    for attack in flags.attacks or ATTACKS:
        print(f"\n{attack}: {flags.connections} connections for {flags.seconds:g} s", flush=True)
        print(run(attack, flags.connections, flags.seconds), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
