"""The webhook server itself: what it lets in, how long it waits, when it runs, how its certificate follows files."""

import asyncio
import contextlib
import gzip
import io
import json
import socket
import ssl
import subprocess
import sys
import threading
from datetime import timedelta

import aiohttp
import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.runtime import CertificateOptions, Client, Defaulter, Manager, ManagerOptions, VirtualClock, WebhookBuilder
from pykb.runtime.fake import FakeApiServer, fake_client
from pykb.runtime.webhook import allowed
from pykb.serving.tls import POLL, self_signed
from pykb.testing import eventually, running
from pykb.webhook.server import BODY_LIMIT, QUIET, RECENT, SPREAD

from .conftest import Caller, Machine, review, wire  # noqa: TID252 - shared by this folder only

PATH = "/judge"


@pytest.fixture
def manager(manager_of):
    """With one webhook that allows everything."""
    made = manager_of()

    async def judge(request):
        return allowed()

    made.webhook_server.register(PATH, judge)
    return made


JSON = {"Content-Type": "application/json"}
REFUSED = {
    "another path": ("POST", "/other", JSON, b"{}", 404, "there is no webhook at /other"),
    "another method": ("GET", PATH, JSON, b"", 405, "only POST"),
    "another content type": ("POST", PATH, {"Content-Type": "text/plain"}, b"{}", 415, "found text/plain"),
    "no content type": ("POST", PATH, {}, b"{}", 415, "application/json"),
    "a timeout that is none": ("POST", PATH + "?timeout=soon", JSON, b"{}", 400, "not a duration"),
    "a false label": ("POST", PATH, JSON | {"Content-Encoding": "gzip"}, b"{}", 400, "must not be encoded, found gzip"),
    "what is gzip": ("POST", PATH, JSON | {"Content-Encoding": "gzip"}, gzip.compress(b"{}"), 400, "found gzip"),
    "too much": ("POST", PATH, JSON, b" " * (BODY_LIMIT + 1), 413, "7340032"),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_no_request_is_refused_with_a_reason(manager, serving, case):
    """By an HTTP code, so that the webhook's failure policy applies."""
    method, path, headers, body, status, reason = REFUSED[case]
    async with serving(manager) as caller:
        skipped = () if headers else ("Content-Type",)
        trust = ssl.create_default_context(cadata=caller.server.certificate.authority.decode())
        async with (
            aiohttp.ClientSession(skip_auto_headers=skipped) as session,
            session.request(
                method, caller.server.url + path, headers=headers, data=io.BytesIO(body), ssl=trust
            ) as response,
        ):
            assert response.status == status
            assert reason in await response.text()
        webhook = PATH if path.startswith(PATH) else "other"
        assert caller.value("controller_runtime_webhook_requests_total", webhook=webhook, code=str(status)) == 1


BROKEN = {
    "no JSON": (b"{", "", "the body is not JSON"),
    "no object": (b"[]", "", "expected `admission.k8s.io/v1 AdmissionReview`, found `None None`"),
    "an older version": (
        json.dumps(review() | {"apiVersion": "admission.k8s.io/v1beta1"}).encode(),
        "705ab4f5",
        "expected `admission.k8s.io/v1 AdmissionReview`, found `admission.k8s.io/v1beta1 AdmissionReview`",
    ),
    "no request": (
        b'{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}',
        "",
        "the review has no `request`",
    ),
    "an operation that is none": (
        json.dumps(review(operation="PRAY")).encode(),
        "705ab4f5",
        "expected one of CREATE, UPDATE, DELETE, CONNECT as `operation`, found `PRAY`",
    ),
    "an object that is none": (
        json.dumps(review(obj=[])).encode(),
        "705ab4f5",
        "expected an object as `object`, found `list`",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_what_is_no_review_is_answered_by_one(manager, serving, case):
    """400, with the request's id as far as there is one."""
    body, uid, reason = BROKEN[case]
    async with serving(manager) as caller, caller.post(PATH, body) as response:
        assert response.status == 400
        answer = (await response.json())["response"]
    assert (answer["uid"], answer["allowed"], answer["status"]["code"]) == (uid, False, 400)
    assert answer["status"]["message"] == reason


async def test_a_request_as_large_as_they_get_is_answered(manager, serving):
    """Two objects of 3 MiB each."""
    large = {"data": "x" * (3 * 1024 * 1024)}
    async with serving(manager) as caller:
        assert (await caller.ask(PATH, review(large, large, "UPDATE")))["allowed"]


async def test_an_answer_in_no_time_is_given_up(manager_of, serving, told):
    """When the API server waits no longer, nor do we: for coroutines and for threads."""
    manager = manager_of()
    release = threading.Event()
    broken_off = asyncio.Event()

    async def slow(request):
        try:
            await asyncio.sleep(60)
        finally:
            broken_off.set()

    class Slow(Defaulter[Machine]):
        def default(self, obj):
            release.wait(60)

    async def timing_out(request):
        async with asyncio.timeout(0):
            await asyncio.sleep(1)

    manager.webhook_server.register("/slow", slow)
    manager.webhook_server.register("/times-out", timing_out)
    WebhookBuilder(manager).for_(Machine).with_defaulter(Slow(), path="/thread").complete()
    async with serving(manager) as caller:
        async with caller.post("/slow?timeout=50ms", review(wire())) as response:
            assert response.status == 504
            assert await response.text() == "not done within 0.05 s\n"
        assert broken_off.is_set()
        async with caller.post("/thread?timeout=50ms", review(wire())) as response:
            assert response.status == 504
        release.set()
        # A timeout of the author's own is an error like others.
        assert (await caller.ask("/times-out?timeout=30s", review(wire())))["status"]["code"] == 500
    assert "webhook not done in time" in told.text


async def test_requests_are_counted(manager, serving):
    """By webhook and HTTP code, under controller-runtime's names."""
    async with serving(manager) as caller:
        await caller.ask(PATH, review(wire()))
        labels = {"webhook": PATH}
        assert caller.value("controller_runtime_webhook_requests_total", code="200", **labels) == 1
        assert caller.value("controller_runtime_webhook_latency_seconds_count", **labels) == 1
        assert caller.value("controller_runtime_webhook_requests_in_flight", **labels) == 0


async def test_only_todays_protocols_are_spoken(manager, serving):
    """TLS 1.2 at least; HTTP/1.1 also where HTTP/2 is offered."""
    async with serving(manager) as caller:
        address = ("127.0.0.1", caller.server.port)
        modern = ssl.create_default_context(cadata=caller.server.certificate.authority.decode())
        modern.set_alpn_protocols(["h2", "http/1.1"])
        assert await asyncio.to_thread(protocols, address, modern) == ("TLSv1.3", "http/1.1")
        modern.maximum_version = ssl.TLSVersion.TLSv1_2
        assert await asyncio.to_thread(protocols, address, modern) == ("TLSv1.2", "http/1.1")
        assert caller.server.certificate.context.minimum_version is ssl.TLSVersion.TLSv1_2


def protocols(address, context):
    """What is agreed on with a server."""
    with socket.create_connection(address) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as wrapped:
        return wrapped.version(), wrapped.selected_alpn_protocol()


async def test_a_renewed_certificate_is_taken_up_while_serving(tmp_path):
    """Connections made before go on; new ones get the new certificate, and its authority is what is handed out."""

    def renew():
        for name, content in zip(("tls.crt", "tls.key"), self_signed(("localhost",)), strict=True):
            (tmp_path / name).write_bytes(content)
        return (tmp_path / "tls.crt").read_text()

    first = renew()
    clock = VirtualClock()
    options = ManagerOptions(
        webhook_port=0, webhook_bind_host="127.0.0.1", webhook_certificate=CertificateOptions(tmp_path)
    )
    manager = Manager(options, client=fake_client(), clock=clock)

    async def judge(request):
        return allowed()

    server = manager.webhook_server
    server.register(PATH, judge)
    async with running(manager):
        await server.listening()
        assert server.certificate.authority.decode() == first
        async with connected(first) as old:
            assert await asks(old, server.port) == 200
            second = renew()
            await eventually(lambda: turned(clock, server, manager.metrics, second))
            async with connected(second) as new:
                assert await asks(new, server.port) == 200
            assert await asks(old, server.port) == 200  # on the connection that it has
        async with connected(first) as late:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await asks(late, server.port)
        assert manager.metrics.registry.get_sample_value("certwatcher_read_certificate_total") == 2
        (tmp_path / "ca.crt").write_text("the authority of both")
        assert server.certificate.authority == b"the authority of both"


def turned(clock, server, metrics, wanted):
    """Whether the certificate that is served is this one, after a look at the files."""
    clock.advance(POLL)
    assert server.certificate.authority.decode() == wanted
    return metrics.registry.get_sample_value("certwatcher_read_certificate_total") == 2


@contextlib.asynccontextmanager
async def connected(authority):
    """A client that trusts one authority."""
    connector = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority))
    async with aiohttp.ClientSession(connector=connector) as session:
        yield session


async def asks(session, port):
    """The status of an answer."""
    url = f"https://localhost:{port}{PATH}"
    async with session.post(url, json=review(wire()), server_hostname="localhost") as response:
        return response.status


def is_free(port):
    """Whether nobody listens there any more."""
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True


async def test_a_server_that_is_asked_goes_on_until_nobody_asks_any_more(manager_of):
    """A Service needs a moment to send nobody there; each answer lets go of a connection that would be used again."""
    clock = VirtualClock()
    manager = manager_of(clock=clock, webhook_bind_host="")

    async def judge(request):
        return allowed()

    server = manager.webhook_server
    server.register(PATH, judge)
    async with running(manager):
        await server.listening()
        authority = server.certificate.authority.decode()
        async with connected(authority) as session:
            url = f"https://localhost:{server.port}{PATH}"

            async def ask():
                async with session.post(url, json=review(wire())) as response:
                    return response.status, response.headers.get("Connection")

            assert await ask() == (200, None)
            manager.stop()
            await asyncio.sleep(0.05)
            clock.advance(SPREAD - timedelta(milliseconds=1))  # asked seldom: silence tells nothing
            await asyncio.sleep(0.01)
            for _ in range(3):
                assert await ask() == (200, "close")
                clock.advance(QUIET - timedelta(milliseconds=1))
                await asyncio.sleep(0.01)
            clock.advance(timedelta(milliseconds=1))
            await eventually(lambda: is_free(server.port))


@pytest.mark.parametrize(
    ("host", "asked", "ago"),
    [("", False, timedelta()), ("", True, RECENT + timedelta(seconds=1)), ("127.0.0.1", True, timedelta())],
    ids=["never asked", "asked long ago", "asked by this machine only"],
)
async def test_a_server_that_nobody_will_ask_stops_at_once(manager_of, serving, host, asked, ago):
    """It keeps its operator waiting only where a Service may still send somebody."""
    clock = VirtualClock()
    manager = manager_of(clock=clock, webhook_bind_host=host)

    async def judge(request):
        return allowed()

    manager.webhook_server.register(PATH, judge)
    async with serving(manager) as caller:
        if asked:
            await caller.ask(PATH, review(wire()))
            clock.advance(ago)
        manager.stop()
        await eventually(lambda: is_free(manager.webhook_server.port))


async def test_running_requests_are_finished_at_the_end(manager_of):
    """The API server waits for them."""
    manager = manager_of()
    started, release = asyncio.Event(), asyncio.Event()

    async def slow(request):
        started.set()
        await release.wait()
        return allowed("done")

    server = manager.webhook_server
    server.register(PATH, slow)
    async with running(manager):
        await server.listening()
        authority = server.certificate.authority.decode()
        async with connected(authority) as session:
            url = f"https://localhost:{server.port}{PATH}"

            async def ask():
                async with session.post(url, json=review(wire())) as response:
                    return await response.json()

            asked = asyncio.create_task(ask())
            await started.wait()
            manager.stop()
            await eventually(lambda: is_free(server.port))
            assert not asked.done()
            release.set()
            assert (await asked)["response"]["warnings"] == ["done"]


async def test_a_manager_is_ready_once_webhooks_are_served(manager):
    """`/readyz` says so, and says nothing of webhooks where there are none."""
    server = manager.webhook_server
    with pytest.raises(RuntimeError, match="does not listen yet"):
        server.check()
    with pytest.raises(RuntimeError, match="no certificate before it listens"):
        _ = server.certificate
    async with running(manager):
        await server.listening()
        server.check()
        assert server.url == f"https://127.0.0.1:{server.port}"
        assert "webhooks" in manager.readyz.names
    assert not server.is_listening
    with pytest.raises(RuntimeError, match="does not listen"):
        server.check()


async def test_nothing_is_served_unless_something_is_registered(manager_of):
    """Then there is no port, no certificate and no check; what comes late is served at once."""
    manager = manager_of()
    async with running(manager):
        assert "webhooks" not in manager.readyz.names
        assert manager.webhook_server.paths == frozenset()
        assert not manager.webhook_server.is_listening

        async def judge(request):
            return allowed()

        manager.webhook_server.register(PATH, judge)
        await asyncio.wait_for(manager.webhook_server.listening(), 60)
        assert manager.webhook_server.paths == {PATH}


@pytest.mark.parametrize("host", ["", "localhost", "127.0.0.1"])
async def test_a_free_port_is_one_port(host):
    """By whatever protocol and address it is reached."""
    manager = Manager(ManagerOptions(webhook_port=0, webhook_bind_host=host), client=fake_client())

    async def judge(request):
        return allowed()

    manager.webhook_server.register(PATH, judge)
    async with running(manager), aiohttp.ClientSession() as session:
        await manager.webhook_server.listening()
        assert (await Caller(manager, session).ask(PATH, review(wire())))["allowed"]


async def test_what_was_unmounted_may_be_mounted_again(manager_of, serving):
    """The server runs on meanwhile."""
    manager = manager_of()

    async def judge(request):
        return allowed()

    server = manager.webhook_server
    server.register(PATH, judge)
    async with serving(manager) as caller:
        server.unmount([PATH])
        async with caller.post(PATH, review(wire())) as response:
            assert response.status == 404
        server.register(PATH, judge)
        assert (await caller.ask(PATH, review(wire())))["allowed"]


async def test_webhooks_may_be_switched_off(manager_of):
    """What is registered is known, and not served."""
    manager = manager_of(webhooks=False)

    async def judge(request):
        return allowed()

    manager.webhook_server.register(PATH, judge)
    async with running(manager):
        await asyncio.sleep(0.05)
        assert not manager.webhook_server.is_listening
        assert "webhooks" not in manager.readyz.names


async def test_standbys_serve_too():
    """The API server asks any replica; what reacts to objects runs on the leader only."""
    store = FakeApiServer()
    election = {"leader_elect": True, "webhook_port": 0, "webhook_bind_host": "127.0.0.1"}
    leader = Manager(ManagerOptions(**election), client=Client(store))
    standby = Manager(ManagerOptions(**election), client=Client(store))

    async def judge(request):
        return allowed()

    standby.webhook_server.register(PATH, judge)
    async with running(leader):
        task = asyncio.create_task(standby.start())
        await asyncio.wait_for(standby.webhook_server.listening(), 60)
        async with aiohttp.ClientSession() as session:
            assert (await Caller(standby, session).ask(PATH, review(wire())))["allowed"]
        assert not standby.elected.is_set()
        standby.stop()
        await task


async def test_a_port_that_is_taken_is_told_with_the_right_flag(manager_of):
    """Another manager has it, most often."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = ManagerOptions(webhook_port=taken.getsockname()[1], webhook_bind_host="127.0.0.1")
        manager = Manager(options, client=fake_client())

        async def judge(request):
            return allowed()

        manager.webhook_server.register(PATH, judge)
        with pytest.raises(EnvironmentProblem) as problem:
            await manager.start()
    diagnostic = problem.value.diagnostic
    assert diagnostic.code.slug == "cannot-listen"
    assert diagnostic.message.startswith("the webhook server cannot listen on `127.0.0.1:")
    assert "--webhook-port" in diagnostic.help[0]


async def test_a_certificate_that_is_not_there_is_told(manager_of, tmp_path):
    """With the files that were looked for."""
    manager = manager_of(webhook_certificate=CertificateOptions(tmp_path))

    async def judge(request):
        return allowed()

    manager.webhook_server.register(PATH, judge)
    with pytest.raises(EnvironmentProblem, match=r"tls\.crt"):
        await manager.start()


async def test_a_path_has_one_webhook(manager):
    """The API server asks at a path; what is no path is refused."""

    async def judge(request):
        return allowed()

    with pytest.raises(EnvironmentProblem) as problem:
        manager.webhook_server.register(PATH, judge)
    assert problem.value.diagnostic.code.slug == "webhook-path-taken"
    for path in ("judge", "/a?b", ""):
        with pytest.raises(ValueError, match="is not a path of a webhook"):
            manager.webhook_server.register(path, judge)


def test_a_manager_without_webhooks_loads_nothing_of_them():
    """Neither modules nor a certificate: memory is paid for what is used."""
    code = """
import asyncio, sys
from pykb.runtime import Manager, ManagerOptions
from pykb.runtime.fake import FakeApiServer, fake_client
async def main():
    manager = Manager(ManagerOptions(), client=fake_client())
    asyncio.get_running_loop().call_later(0.1, manager.stop)
    await manager.start()
asyncio.run(main())
print([name for name in sys.modules if name.startswith(("pykb.webhook", "pykb.api.conversion", "kopf"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
