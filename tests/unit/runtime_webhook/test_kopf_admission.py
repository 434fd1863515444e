"""What kopf is given as a server of its admission handlers: the manager's own."""

import asyncio
import base64
import json

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.runtime import CertificateOptions, Manager, ManagerOptions, VirtualClock
from pykb.runtime._kopf.handlers import AdmissionServer
from pykb.runtime._kopf.internals import AmbiguousResourceError, UnknownResourceError, WebhookError
from pykb.runtime.fake import fake_client
from pykb.runtime.webhook import allowed
from pykb.serving.tls import POLL, self_signed
from pykb.testing import eventually

from .conftest import patch_of, review, wire  # noqa: TID252 - shared by this folder only


class Asked:
    """Stands for kopf's function that answers, and says what it was asked."""

    def __init__(self):
        self.questions = []

    async def __call__(self, data, *, webhook, sslpeer, headers):
        """An answer, or what kopf raises, by the name of the object."""
        self.questions.append((webhook, sslpeer, headers["Content-Type"]))
        errors = {"unknown": UnknownResourceError, "ambiguous": AmbiguousResourceError, "broken": WebhookError}
        name = data["request"]["name"]
        if name in errors:
            raise errors[name](f"{name} resource")
        return {**{key: data[key] for key in ("apiVersion", "kind")}, "response": {"uid": data["request"]["uid"]}}


async def test_handlers_answer_at_their_ids(manager_of, serving):
    """As long as kopf wants them; its errors have the codes that its own server gives."""
    manager = manager_of()
    asked = Asked()
    configurations = AdmissionServer(
        manager.webhook_server, {"judge": "validating", "module.<locals>.fill": "mutating"}
    )(asked)
    first = asyncio.ensure_future(anext(configurations))  # what is mounted makes the server listen
    async with serving(manager) as caller:
        assert await first == {
            "url": manager.webhook_server.url,
            "caBundle": base64.b64encode(caller.server.certificate.authority).decode(),
        }
        answer = await caller.ask("/judge", review(wire()))
        assert patch_of(answer) == []
        await caller.ask("/module.%3Clocals%3E.fill", review(wire()))
        assert [webhook for webhook, *_ in asked.questions] == ["judge", "module.<locals>.fill"]
        for name, status in (("unknown", 404), ("ambiguous", 409), ("broken", 400)):
            async with caller.post("/judge", review(wire(), name=name)) as response:
                assert (response.status, await response.text()) == (status, f"{name} resource\n")
        async with caller.post("/judge", b"{") as response:
            assert response.status == 400
        assert caller.value("controller_runtime_webhook_requests_total", webhook="/judge", code="200") == 1
        await configurations.aclose()
        assert manager.webhook_server.paths == frozenset()
        async with caller.post("/judge", json.dumps(review(wire())).encode()) as response:
            assert response.status == 404


async def test_a_renewed_certificate_is_told_to_kopf(tmp_path, serving):
    """So that the configurations that it keeps trust the new one."""

    def renew():
        for name, content in zip(("tls.crt", "tls.key"), self_signed(("localhost",)), strict=True):
            (tmp_path / name).write_bytes(content)
        return base64.b64encode((tmp_path / "tls.crt").read_bytes()).decode()

    first, clock = renew(), VirtualClock()
    options = ManagerOptions(webhook_port=0, webhook_certificate=CertificateOptions(tmp_path))
    manager = Manager(options, client=fake_client(), clock=clock)
    configurations = AdmissionServer(manager.webhook_server, {"judge": "validating"})(Asked())
    told = asyncio.ensure_future(anext(configurations))
    async with serving(manager):
        assert (await told)["caBundle"] == first
        again = asyncio.ensure_future(anext(configurations))
        second = renew()

        def renewed():
            clock.advance(POLL)
            assert again.done()

        await eventually(renewed)
        assert again.result() == {"url": f"https://localhost:{manager.webhook_server.port}", "caBundle": second}
        await configurations.aclose()


async def test_a_path_that_is_taken_is_told(manager_of):
    """And what had been mounted before is given free."""
    manager = manager_of()
    server = manager.webhook_server

    async def judge(request):
        return allowed()

    server.register("/taken", judge)
    with pytest.raises(EnvironmentProblem, match="there is already a webhook at `/taken`"):
        await anext(AdmissionServer(server, {"free": "mutating", "taken": "mutating"})(Asked()))
    assert server.paths == {"/taken"}
