"""Attacks on the ports of a manager: its memory, its CPU time, and whether honest requests are answered.

    python -m benchmarks.flood [ATTACK...] [--connections N] [--seconds 30]

The manager is a process of its own on loopback, with a webhook for a typed object, metrics by TLS and probes. Whatever
it closes is opened again at once. Meanwhile a webhook is asked on a new connection and on one that is kept, and so is
the probe. The bounds are the memory limit of the scaffolded manager, and a second for every probe.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import multiprocessing
import os
import socket
import ssl
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Self

LOOPBACK = "127.0.0.1"
THREADS = 4
MEMORY = 256
"""The memory limit of the scaffolded manager in MiB."""

PROBE = 1.0
"""The seconds in which every probe must be answered: its `timeoutSeconds` in the scaffold."""

_REVIEW = """
{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": "CREATE",
"kind": {"group": "a.example.com", "version": "v1", "kind": "Machine"}, "name": "m", "namespace": "d",
"resource": {"group": "a.example.com", "version": "v1", "resource": "machines"}, "userInfo": {"username": "jane"},
"object": {"apiVersion": "a.example.com/v1", "kind": "Machine", "metadata": {"name": "m"}, "spec": %s}}}
"""


def review(spec: str) -> bytes:
    """Make a review of an object."""
    return (_REVIEW % spec).encode()


def _disks(size: int, disk: str = '{"name": "disk-number-1", "size": "10Gi"}') -> bytes:
    return review('{"disks": [' + ", ".join([disk] * (size // (len(disk) + 2))) + "]}")


def _posted(body: bytes) -> bytes:
    return _POST + b"Content-Length: %d\r\n\r\n" % len(body) + body


REVIEW = review('{"disks": [{"name": "a", "size": "1Gi"}]}')

_POST = b"POST /judge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack.

    Attributes:
        server: The attacked server.
        content: Makes what each connection sends. Without it, nothing is sent, not even a TLS handshake.
        connections: How many connections are kept open.
        waits: Whether a connection waits for its answer. Otherwise, it is closed when all is sent.
    """

    server: str
    content: Callable[[], bytes] | None
    connections: int = 4050
    waits: bool = True


ATTACKS = {
    "silent": Attack("webhook", None),
    "header": Attack("webhook", lambda: _POST),
    "body": Attack("webhook", lambda: _POST + b"Content-Length: 7000000\r\n\r\n" + b" " * 60_000),
    "idle": Attack("webhook", lambda: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    "metrics": Attack("metrics", lambda: b"GET /metrics HTTP/1.1\r\nHost: x\r\n"),
    "probes": Attack("probes", lambda: b"GET /healthz HTTP/1.1\r\nHost: x\r\n"),
    "headers": Attack("webhook", lambda: _POST + b"a:\r\n" * 225_000, 50),
    "trailers": Attack("webhook", lambda: _POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"a:\r\n" * 225_000, 50),
    "pipelining": Attack("webhook", lambda: _posted(_disks(60_000)) * 100, 50),
    "reviews": Attack("webhook", lambda: _posted(_disks(6_900_000)), 50),
    "admitted": Attack("webhook", lambda: _posted(_disks(2_250_000)), 50),
    "abandoned": Attack("webhook", lambda: _posted(_disks(2_250_000)), 50, waits=False),
    "misfits": Attack("webhook", lambda: _posted(_disks(900_000, "1")), 50),
    "concurrent": Attack("webhook", lambda: _posted(_disks(340_000)), 50),
    "strings": Attack("webhook", lambda: _posted(review('{"text": "%s"}' % ("x" * 6_900_000))), 50),
    "deep": Attack("webhook", lambda: _posted(review('{"x": %s}' % ("[" * 3_000_000 + "]" * 3_000_000))), 50),
    "deep admitted": Attack("webhook", lambda: _posted(review('{"x": %s}' % ("[" * 130_000 + "]" * 130_000))), 50),
}
"""The attacks by name."""

SERVER = """
import asyncio, json, time
from pykb.api import CustomResource, Field, GroupVersion, Quantity, Struct
from pykb.runtime import Defaulter, Manager, ManagerOptions, WebhookBuilder
from pykb.runtime.fake import fake_client

class Disk(Struct):
    name: str = ""
    size: Quantity | None = None

class MachineSpec(Struct):
    disks: list[Disk] = []

class Machine(CustomResource, group_version=GroupVersion("a.example.com", "v1")):
    spec: MachineSpec = Field(default_factory=MachineSpec)

class MachineDefaulter(Defaulter[Machine]):
    async def default(self, obj):
        pass

manager = Manager(
    ManagerOptions(
        webhook_port=0,
        webhook_bind_host="127.0.0.1",
        metrics_bind_address="127.0.0.1:0",
        health_probe_bind_address="127.0.0.1:0",
    ),
    client=fake_client(),
)

WebhookBuilder(manager).for_(Machine).with_defaulter(MachineDefaulter(), path="/judge").complete()

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
        longest = 0.0
        try:
            while True:
                began = time.process_time()
                await asyncio.sleep(0.01)
                longest = max(longest, time.process_time() - began)
        finally:
            print(json.dumps(longest), flush=True)

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
            _check(_status(connection))

    def close(self) -> None:
        """Close the kept connection."""
        self._kept.close()

    def _webhook(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(LOOPBACK, self._ports["webhook"], timeout=10, context=_ANYBODY)

    @staticmethod
    def _review(connection: http.client.HTTPSConnection) -> None:
        for _ in range(10):  # as the API server does, if it is asked to come back
            connection.request("POST", "/judge?timeout=10s", REVIEW, {"Content-Type": "application/json"})
            status = _status(connection)
            if status != 503:
                break
            time.sleep(1)
        _check(status)


def _check(status: int) -> None:
    if status != 200:
        raise ValueError(f"status {status}")


def _status(connection: http.client.HTTPConnection) -> int:
    answer = connection.getresponse()
    answer.read()
    return answer.status


class Flood:
    """Keeps connections open until it is stopped."""

    def __init__(self, port: int, content: bytes | None, *, tls: bool, connections: int, waits: bool) -> None:
        self._port, self._content, self._tls, self._waits = port, content, tls, waits
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

    def held(self) -> int:
        """The number of open connections."""
        return sum(each is not None and _is_open(each, self._content) for slots in self._slots for each in slots)

    def _work(self, slots: list[socket.socket | None]) -> None:
        while not self._stop.is_set():
            for index, each in enumerate(slots):
                if self._stop.is_set():
                    return
                if each is not None and _is_open(each, self._content):
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
            if not self._waits:
                made.close()
        except BaseException:
            plain.close()
            raise
        return made


@contextlib.contextmanager
def flooded(attack: Attack, port: int, connections: int) -> Iterator[Callable[[], tuple[int, int]]]:
    """Attack from a process of its own, so that it does not slow down the honest requests.

    Yields:
        Stops the attack. Returns how many connections were opened, and how many of them are open.
    """
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=_attack, args=(attack, port, connections, theirs))
    process.start()

    def stop() -> tuple[int, int]:
        ours.send("stop")
        opened, held = ours.recv()
        return opened, held

    try:
        yield stop
    finally:
        process.terminate()
        process.join()


def _attack(attack: Attack, port: int, connections: int, pipe: Connection) -> None:
    content = attack.content() if attack.content is not None else None
    tls = attack.server != "probes"
    with Flood(port, content, tls=tls, connections=connections, waits=attack.waits) as flood:
        pipe.recv()
    pipe.send((flood.opened, flood.held()))


def _is_open(each: socket.socket, content: bytes | None) -> bool:
    """Whether a connection is open and of further use: one that has an answer to a review is not."""
    try:
        each.setblocking(False)
        while each.recv(4096):
            if content is not None and content.startswith(_POST):
                return False
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


def cpu_seconds(pid: int) -> float:
    """The CPU time of a process."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123
        user, system = file.read().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an attack.

    Attributes:
        before, after, peak: Memory in MiB.
        cpu: CPU time of the manager as a part of the time of the attack.
        longest: The longest turn of its event loop in seconds of CPU time, which does not depend on what else runs.
        opened, held: Connections that were opened, and those still open at the end.
        honest: The honest requests during the attack.
    """

    before: float
    after: float
    peak: float
    cpu: float
    longest: float
    opened: int
    held: int
    honest: Honest

    @property
    def failures(self) -> set[str]:
        """The reasons of failed honest requests."""
        return {text for times in (self.honest.fresh, self.honest.kept, self.honest.probe) for text in times.failures}

    @property
    def is_bounded(self) -> bool:
        """Whether the memory limit was kept and every probe was answered in time."""
        probe = self.honest.probe
        return self.peak <= MEMORY and not probe.failures and max(probe.seconds) <= PROBE

    def __str__(self) -> str:
        """The result as lines of text."""
        return "\n".join(
            (
                f"  MiB before, after, peak    {self.before:.0f} {self.after:.0f} {self.peak:.0f}",
                f"  CPU, longest turn of loop  {self.cpu:.0%} {self.longest * 1000:.0f} ms",
                f"  connections opened, held   {self.opened} {self.held}",
                f"  review, new connection     {self.honest.fresh}",
                f"  review, kept connection    {self.honest.kept}",
                f"  probe                      {self.honest.probe}",
                *(f"  failure                    {text}" for text in sorted(self.failures)),
                f"  within the bounds          {'yes' if self.is_bounded else 'NO'}",
            )
        )


def run(name: str, connections: int | None, seconds: float) -> Outcome:
    """Run one attack, and return its result."""
    attack = ATTACKS[name]
    process = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        ports: dict[str, int] = json.loads(process.stdout.readline())
        honest = Honest(ports)
        honest.ask()
        before = memory(process.pid, "VmRSS")
        honest.fresh, honest.kept, honest.probe = Times(), Times(), Times()
        cpu = cpu_seconds(process.pid)
        with flooded(attack, ports[attack.server], connections or attack.connections) as stop:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                honest.ask()
                time.sleep(0.2)
            after = memory(process.pid, "VmRSS")
            cpu = cpu_seconds(process.pid) - cpu
            opened, held = stop()
        honest.close()
        peak = memory(process.pid, "VmHWM")
    finally:
        process.terminate()
        rest, _ = process.communicate()
    longest: float = json.loads(rest)
    return Outcome(before, after, peak, cpu / seconds, longest, opened, held, honest)


def main(arguments: list[str] | None = None) -> None:
    """Attack and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("attacks", nargs="*", metavar="ATTACK", help=", ".join(ATTACKS))
    parser.add_argument("--connections", type=int, help="in place of the attack's own number")
    parser.add_argument("--seconds", type=float, default=30)
    flags = parser.parse_args([] if arguments is None else arguments)
    for attack in flags.attacks or ATTACKS:
        print(f"\n{attack}: {flags.connections or ATTACKS[attack].connections} connections", flush=True)
        print(run(attack, flags.connections, flags.seconds), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
