"""The manager's small servers: probes by name, protected metrics, certificates that follow their files."""

import asyncio
import contextlib
import gc
import socket
import ssl
import subprocess
import sys
import warnings
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from pykb.client.clock import VirtualClock
from pykb.diagnostics import EnvironmentProblem
from pykb.runtime._metrics import Metrics
from pykb.runtime.manager._servers import Checks, health_routes, metrics_routes, ping
from pykb.serving import BindAddress, HttpServer
from pykb.serving.authorization import ASKED_AT_ONCE, ApiAuthorizer, User
from pykb.serving.options import CertificateOptions
from pykb.serving.tls import ServingCertificate, self_signed
from pykb.tools.x509 import Validity, make

from .conftest import turn  # noqa: TID252 - shared by this folder only

LOOPBACK = BindAddress("127.0.0.1", 0)


@pytest.fixture
async def serve(running):
    """Serve an application and give a function that gets a path: (status, text)."""
    sessions = []

    async def start(app, tls=None, trust=None):
        server = HttpServer("test", LOOPBACK, app, tls=tls)
        running(server.run())
        await asyncio.wait_for(server.listening(), 60)
        session = aiohttp.ClientSession()
        sessions.append(session)
        scheme = "https" if tls else "http"

        async def get(path, **headers):
            url = f"{scheme}://127.0.0.1:{server.port}{path}"
            async with session.get(url, headers=headers, ssl=trust or True) as response:
                return response.status, await response.text()

        return get

    yield start
    for session in sessions:
        await session.close()


@pytest.fixture
def checks():
    """Two checks that pass, of both kinds, and one that fails."""
    found = Checks("/readyz")

    async def passes():
        return None

    def fails():
        raise RuntimeError("the reason is not for everybody")

    found.add("ping", ping)
    found.add("async", passes)
    found.add("bad", fails)
    return found


async def test_one_failing_check_fails_the_whole_and_names_itself(serve, checks, caplog):
    """The answer lists the checks without reasons; the reason is in the log."""
    get = await serve(health_routes(checks))
    status, text = await get("/readyz")
    assert (status, text) == (
        500,
        "[+]async ok\n[-]bad failed: reason withheld\n[+]ping ok\nreadyz check failed\n",
    )
    assert caplog.records[0].error == "the reason is not for everybody"


async def test_checks_are_asked_one_by_one_or_left_out(serve, checks):
    """`/readyz/<name>` and `?exclude=<name>`, as at the API server."""
    get = await serve(health_routes(checks))
    assert await get("/readyz/ping") == (200, "ok")
    assert (await get("/readyz/bad"))[0] == 500
    assert (await get("/readyz/unknown"))[0] == 404
    assert await get("/readyz?exclude=bad") == (200, "ok")
    assert (await get("/readyz?exclude=bad&verbose"))[1].endswith("readyz check passed\n")


async def test_without_checks_the_process_is_healthy(serve):
    """It answers."""
    get = await serve(health_routes(Checks("/healthz")))
    assert await get("/healthz") == (200, "ok")
    assert await get("/healthz/ping") == (200, "ok")


@pytest.mark.parametrize("name", ["", "a/b", "ping"])
def test_names_of_checks_are_parts_of_a_path_and_unique(checks, name):
    """Others are refused at once."""
    with pytest.raises(ValueError):
        checks.add(name, ping)


async def test_a_taken_address_is_told_with_the_flag_to_change(serve):
    """Not a stack trace."""
    server = HttpServer("metrics", LOOPBACK, metrics_routes(Metrics()))
    task = asyncio.ensure_future(server.run())
    await server.listening()
    second = HttpServer("metrics", BindAddress("127.0.0.1", server.port), metrics_routes(Metrics()))
    with pytest.raises(EnvironmentProblem, match="the metrics server cannot listen on"):
        await second.run()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Reviews:
    """Answers TokenReview and SubjectAccessReview as an API server would, and counts the questions."""

    def __init__(self):
        self.asked = []

    async def create(self, review):
        """Fill in the status."""
        self.asked.append(review["kind"])
        if review["kind"] == "TokenReview":
            good = review["spec"]["token"] in ("reader", "stranger")
            user = {"username": review["spec"]["token"], "groups": ["g"]} if good else {}
            review["status"] = {"authenticated": good, "user": user}
        else:
            spec = review["spec"]
            assert spec["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}
            review["status"] = {"allowed": spec["user"] == "reader" and spec["groups"] == ["g"]}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401),
        ({"Authorization": "Basic cmVhZGVy"}, 401),
        ({"Authorization": "Bearer "}, 401),
        ({"Authorization": "Bearer forged"}, 401),
        ({"Authorization": "Bearer stranger"}, 403),
        ({"Authorization": "Bearer reader"}, 200),
        ({"Authorization": "bearer reader"}, 200),
    ],
)
async def test_metrics_are_for_those_whom_the_api_server_lets_read_them(serve, headers, status):
    """No token or a bad one: 401; no permission: 403."""
    authorizer = ApiAuthorizer(Reviews())
    get = await serve(metrics_routes(Metrics(), middlewares=[authorizer.middleware]))
    assert (await get("/metrics", **headers))[0] == status


async def test_answers_are_remembered_for_a_while():
    """A minute who it is, five minutes that they may, half a minute that they may not."""
    clock, reviews = VirtualClock(), Reviews()
    authorizer = ApiAuthorizer(reviews, clock=clock)
    for _ in range(3):
        assert await authorizer.authenticate("reader") == User("reader", "", ("g",))
        assert await authorizer.authorize(User("reader", "", ("g",)), path="/metrics", verb="get")
        assert not await authorizer.authorize(User("x", "", ()), path="/metrics", verb="get")
    assert len(reviews.asked) == 3
    clock.advance(timedelta(seconds=31))
    await authorizer.authorize(User("x", "", ()), path="/metrics", verb="get")
    await authorizer.authenticate("reader")
    assert len(reviews.asked) == 4
    clock.advance(timedelta(seconds=31))
    await authorizer.authenticate("reader")
    await authorizer.authorize(User("reader", "", ("g",)), path="/metrics", verb="get")
    assert len(reviews.asked) == 5


async def test_what_is_remembered_is_bounded_and_holds_no_token():
    """Nobody fills the memory with made-up tokens or pushes good ones out of it, and none can be read from it."""
    reviews = Reviews()
    authorizer = ApiAuthorizer(reviews)
    await authorizer.authenticate("reader")
    for number in range(1500):
        await authorizer.authenticate(f"made-up-{number}")
    memory = authorizer._users | authorizer._nobodies
    assert len(memory) == 1025
    assert not any("made-up" in key for key in memory)
    asked = len(reviews.asked)
    assert await authorizer.authenticate("reader")
    assert len(reviews.asked) == asked


async def test_made_up_tokens_leave_connections_to_the_controllers():
    """A few are asked about at once; the others wait."""
    running, most, release = 0, 0, asyncio.Event()

    class Slow(Reviews):
        async def create(self, review):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await release.wait()
            running -= 1
            await super().create(review)

    authorizer = ApiAuthorizer(Slow())
    asked = [asyncio.ensure_future(authorizer.authenticate(f"made-up-{number}")) for number in range(50)]
    await turn()
    release.set()
    assert await asyncio.gather(*asked) == [None] * 50
    assert most == ASKED_AT_ONCE


async def test_a_self_signed_certificate_serves_tls_that_a_strict_client_accepts(serve, tmp_path):
    """Key usage and key identifiers are there, as Python 3.13 demands."""
    certificate, key = self_signed(("localhost", "127.0.0.1"))
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    serving = ServingCertificate(CertificateOptions(tmp_path))
    trust = ssl.create_default_context(cadata=certificate.decode())
    trust.verify_flags |= ssl.VERIFY_X509_STRICT
    get = await serve(health_routes(Checks("/healthz")), tls=lambda: serving.context, trust=trust)
    assert await get("/healthz") == (200, "ok")


def test_a_certificate_from_files_needs_no_cryptography(tmp_path):
    """It would take 12 MiB of an idle manager."""
    for name, content in zip(("tls.crt", "tls.key"), self_signed(("localhost",)), strict=True):
        (tmp_path / name).write_bytes(content)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from pykb.serving.tls import ServingCertificate\n"
        "from pykb.runtime.options import CertificateOptions\n"
        "from pykb.runtime._metrics import Metrics\n"
        "context = ServingCertificate(CertificateOptions(Path(sys.argv[1])), metrics=Metrics()).context\n"
        "assert context.get_ciphers()\n"
        "sys.exit('cryptography' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", program, tmp_path], check=False).returncode == 0


def test_files_without_a_newline_at_the_end_are_a_pair(tmp_path):
    """Some tools strip it from what they put into a secret."""
    for name, content in zip(("tls.crt", "tls.key"), self_signed(("127.0.0.1",)), strict=True):
        (tmp_path / name).write_bytes(content.rstrip())
    assert ServingCertificate(CertificateOptions(tmp_path)).context is not None


def locked(pair):
    """The pair with a key that nobody can read."""
    key = serialization.load_pem_private_key(pair[1], None)
    lock = serialization.BestAvailableEncryption(b"secret")
    return pair[0], key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)


@pytest.mark.parametrize(("age", "verdict"), [(1, "ready"), (3, "the certificate of the webhook server has expired")])
def test_a_server_with_an_expired_certificate_is_not_ready(tmp_path, age, verdict):
    """No client accepts it."""
    made = datetime.now(UTC) - timedelta(hours=age)
    pair = make("a", Validity.of(timedelta(hours=2), made), names=["localhost"]).pem
    for name, text in zip(("tls.crt", "tls.key"), pair, strict=True):
        (tmp_path / name).write_text(text)
    serving = ServingCertificate(CertificateOptions(tmp_path))
    with contextlib.nullcontext() if verdict == "ready" else pytest.raises(RuntimeError, match=verdict):
        serving.check()


BROKEN = {
    "locked": locked,
    "no certificate": lambda pair: (b"broken", b"broken"),
    "half of the next pair": lambda pair: (self_signed(("127.0.0.1",))[0], pair[1]),
    "cut off": lambda pair: (pair[0], pair[1][:100]),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_a_renewed_certificate_is_taken_up_and_a_broken_one_is_not(serve, tmp_path, running, case):
    """New connections see the new certificate; a failed renewal is counted and the old one stays."""

    def write(certificate, key):
        for name, content in (("tls.crt", certificate), ("tls.key", key)):
            fresh = tmp_path / f"{name}.new"
            fresh.write_bytes(content)
            fresh.replace(tmp_path / name)

    write(*self_signed(("127.0.0.1",)))
    clock, metrics = VirtualClock(), Metrics()
    serving = ServingCertificate(CertificateOptions(tmp_path), metrics=metrics, clock=clock)
    running(serving.run())
    await turn()
    renewed = self_signed(("127.0.0.1",))
    for pair in (renewed, BROKEN[case](renewed)):
        write(*pair)
        clock.advance(timedelta(seconds=10))
        await turn()
    trust = ssl.create_default_context(cadata=renewed[0].decode())
    get = await serve(health_routes(Checks("/healthz")), tls=lambda: serving.context, trust=trust)
    assert await get("/healthz") == (200, "ok")
    value = metrics.registry.get_sample_value
    assert value("certwatcher_read_certificate_total") == 2
    assert value("certwatcher_read_certificate_errors_total") == 1
    ends = x509.load_pem_x509_certificate(renewed[0]).not_valid_after_utc.timestamp()
    assert value("pykb_certificate_expiration_timestamp_seconds", {"server": "webhook"}) == ends


def test_missing_certificate_files_are_told(tmp_path):
    """With what to look at."""
    with pytest.raises(EnvironmentProblem, match="cannot be used"):
        ServingCertificate(CertificateOptions(tmp_path))


def test_without_a_directory_a_certificate_is_made():
    """That is kubebuilder's default for metrics."""
    assert ServingCertificate(CertificateOptions()).context is not None


async def test_a_certificate_that_a_server_signed_itself_is_made_again_in_time(serve, running, monkeypatch):
    """With a third of its life left. It expired, and the manager had to be restarted before."""
    clock, life = VirtualClock(), timedelta(days=30)
    serving = ServingCertificate(CertificateOptions(), clock=clock, life=life)
    running(serving.run())
    await turn()
    first = serving.authority
    made = x509.load_pem_x509_certificate(first)
    assert made.not_valid_after_utc - made.not_valid_before_utc == life + timedelta(hours=1)
    for later, is_due in ((timedelta(days=19), False), (timedelta(days=21), True)):
        now = made.not_valid_after_utc - life + later
        monkeypatch.setattr("pykb.serving.tls.time.time", now.timestamp)
        async with asyncio.timeout(60):
            async with serving.renewed:
                clock.advance(timedelta(seconds=10))
                await turn()
                if is_due:
                    await serving.renewed.wait()
        assert (serving.authority != first) is is_due
    trust = ssl.create_default_context(cadata=serving.authority.decode())
    get = await serve(health_routes(Checks("/healthz")), tls=lambda: serving.context, trust=trust)
    assert await get("/healthz") == (200, "ok")


async def test_a_check_that_hangs_fails_and_is_broken_off(serve, monkeypatch, caplog):
    """Probes come again and again: each would leave a task behind, and the kubelet an answer short."""
    monkeypatch.setattr("pykb.runtime.manager._servers.CHECK_TIMEOUT", timedelta(milliseconds=50))
    ended = []

    async def hangs():
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append(True)

    async def gives_up():
        raise TimeoutError("the database said so")

    checks = Checks("/healthz")
    checks.add("hangs", hangs)
    checks.add("gives-up", gives_up)
    get = await serve(health_routes(checks))
    assert (await get("/healthz/hangs"))[0] == 500
    assert ended == [True]
    assert (await get("/healthz/gives-up"))[0] == 500
    assert [record.error for record in caplog.records] == ["no answer within 0.05 s", "the database said so"]


def test_connections_are_closed_when_the_server_has_ended():
    """Also those of clients that never take leave: TLS waits for that, and a loop that ends meanwhile leaves sockets."""
    certificate = ServingCertificate(CertificateOptions())
    trust = ssl.create_default_context(cadata=certificate.authority.decode())
    clients = []

    def ask(port):
        client = trust.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="127.0.0.1")
        clients.append(client)
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        return client.recv(1000)

    async def main():
        server = HttpServer("test", LOOPBACK, health_routes(Checks("/healthz")), tls=lambda: certificate.context)
        serving = asyncio.create_task(server.run())
        await server.listening()
        assert b"200 OK" in await asyncio.to_thread(ask, server.port)
        serving.cancel()
        await asyncio.wait({serving})

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        asyncio.run(main())
        gc.collect()
    for client in clients:
        client.close()
    assert [str(each.message) for each in told] == []
