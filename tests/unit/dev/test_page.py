"""The page of `pykb dev`: what it keeps, whom it answers, and what it does with what is sent to it."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from pykb.dev.page import history as module
from pykb.dev.page._events import LONGEST_LINE
from pykb.dev.page.history import Entry, History, received, take
from pykb.dev.page.objects import Cluster, summary
from pykb.dev.page.server import Page, Workbench
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.rest import Rest
from pykb.runtime._stream import RecordStream
from pykb.runtime.records.causes import ObjectId, ReconcileId, WebhookRecord, WebhookType
from tests.records import ENDING

POD = {"apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "<script>alert(1)</script>"}


def ended(number: int, request: str = "default/a", **rest: object) -> bytes:
    """A record as a manager sends it."""
    told = {"event": "ended", "id": f"r{number}", "controller": "pod", "request": request, "at": 1.0, "causes": []}
    return orjson.dumps({**told, "object": None, **ENDING, **rest})


def cause(**rest: object) -> dict[str, Any]:
    """Why a reconcile runs."""
    told = {"kind": "event", "event": "update", "object": None, "changes": [], "fieldManager": "", "writtenBy": None}
    return {**told, **rest}


def events(entries: list[Entry]) -> list[tuple[str, Any]]:
    """The events with what they tell, without the time."""
    return [(entry.event, {**orjson.loads(entry.data), "now": 0}) for entry in entries]


async def kept(history: History) -> list[str]:
    """What a page that connects gets."""
    following = history.follow()
    found = [f"{event} {told.get('id', '')}".strip() for event, told in events(await anext(following))]
    await following.aclose()
    return found


async def test_a_page_gets_what_is_kept_and_then_each_new_event() -> None:
    """In the order in which it happened. What runs is shown until it ends."""
    history = History(project="shop")
    history.add("manager", {"state": "started"})
    history.record(ended(1))
    history.record(ended(2).replace(b"ended", b"started"))
    following = history.follow()
    first = events(await anext(following))
    assert [event for event, _ in first] == ["reset", "manager", "ended", "started", "ready"]
    about = {"project": "shop", "cluster": "", "source": "", "editor": "", "isOver": False}
    assert first[0][1] == {**about, "dropped": 0, "now": 0}
    history.record(ended(2))
    assert [event for event, _ in events(await anext(following))] == ["ended"]
    await following.aclose()
    assert history.readers == 0
    assert await kept(history) == ["reset", "manager", "ended r1", "ended r2", "ready"]


async def test_a_page_that_was_away_gets_what_it_missed() -> None:
    """Or all, if that is no longer kept, or if another `pykb dev` had the numbers."""
    history = History()
    for number in range(3):
        history.record(ended(number))
    following = history.follow(after=1)
    assert [entry.number for entry in await anext(following)] == [2, 3]
    await following.aclose()
    following = history.follow(after=99)
    assert (await anext(following))[0].event == "reset"
    await following.aclose()


async def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object that is reconciled all the time does not push out the records of others."""
    monkeypatch.setattr(module, "MOST_RECORDS_OF_AN_OBJECT", 2)
    monkeypatch.setattr(module, "MOST_RECORDS", 4)
    history = History()
    history.record(ended(0, "default/calm"))
    for number in range(1, 100):
        history.record(ended(number, "default/hot"))
    assert await kept(history) == ["reset", "ended r0", "ended r98", "ended r99", "ready"]
    monkeypatch.setattr(module, "MOST_BYTES", 2 * len(ended(0)))
    history.record(ended(100, "default/other"))
    following = history.follow()
    entries = await anext(following)
    await following.aclose()
    assert [entry.event for entry in entries].count("ended") <= 2
    assert orjson.loads(entries[0].data)["dropped"] >= 98


async def test_what_a_manager_sends_of_webhooks_is_kept_by_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many calls of each webhook for an object as reconciles of a controller."""
    monkeypatch.setattr(module, "MOST_RECORDS_OF_AN_OBJECT", 2)
    history = History()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stream = RecordStream(ours)
        for number, name in enumerate("aaab"):
            found = ObjectId("v1", "Pod", "default", name)
            record = WebhookRecord(f"w{number}", WebhookType.VALIDATING, "/validate", found, after={"kind": "Pod"})
            record.error, record.warnings, record.fields = ValueError("hole"), ("old",), (("spec", "bad"),)
            record.sent_by = ReconcileId("pods", "default/b", "r0")
            stream.answered(record)
        stream.answered(WebhookRecord("w9", WebhookType.CONVERSION, "/convert"))
        for line in theirs.recv(2**20).splitlines():
            history.record(line)
    assert await kept(history) == ["reset", "webhook w1", "webhook w2", "webhook w3", "webhook w9", "ready"]


async def test_no_bytes_are_kept_without_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of what runs, nor for pages that were away."""
    monkeypatch.setattr(module, "MOST_BYTES", 100_000)
    history = History()
    for number in range(300):
        history.record(ended(number, causes=[cause(kind="x" * 5000)]).replace(b"ended", b"started"))
    following = history.follow()
    assert sum(len(entry.data) for entry in await anext(following)) < 110_000
    await following.aclose()
    following = history.follow(after=10)
    assert (await anext(following))[0].event == "reset"
    await following.aclose()
    following = history.follow(after=295)
    assert [entry.number for entry in await anext(following)] == [296, 297, 298, 299, 300]
    await following.aclose()


async def test_what_ran_when_the_manager_ended_runs_no_longer() -> None:
    """Its end never comes."""
    history = History()
    history.record(ended(1).replace(b"ended", b"started"))
    history.add("manager", {"state": "ended"})
    assert await kept(history) == ["reset", "manager", "ready"]


async def test_what_runs_goes_on_while_a_broken_file_waits_for_a_change() -> None:
    """The manager runs on with the code from before."""
    history = History()
    history.record(ended(1).replace(b"ended", b"started"))
    history.add("manager", {"state": "waiting"})
    assert await kept(history) == ["reset", "started r1", "manager", "ready"]


async def test_what_the_manager_has_dropped_is_counted() -> None:
    """A page says that something is missing."""
    history = History()
    history.record(b'{"event": "dropped", "records": 7}')
    following = history.follow()
    assert orjson.loads((await anext(following))[0].data)["dropped"] == 7
    await following.aclose()
    assert await kept(history) == ["reset", "ready"]


def test_what_does_not_fit_the_page_is_not_kept() -> None:
    """The page relies on the shapes of events."""
    for line, said in (
        (b"[" * 5000, "it is not JSON"),
        (ended(1, causes=7), "`causes` has a wrong value"),
        (ended(1, causes=[cause(), cause(object={"kind": "Pod"})]), "`causes[1].object.apiVersion` has a wrong value"),
        (ended(1, at=1e300), "`at` has a wrong value"),
        (ended(1, seconds=True), "`seconds` has a wrong value"),
        (ended(1).replace(b'"outcome"', b'"income"'), "`outcome` has a wrong value"),
        (b'{"event": "dropped", "records": "many"}', "`records` has a wrong value"),
        (b'{"event": "manager"}', "it is not an event that this version of pykb knows"),
    ):
        with pytest.raises(ValueError, match="^" + re.escape(said)):
            History().record(line)


HOSTILE = [
    b"\n",
    b"not JSON\n",
    b"[]\n",
    b"7\n",
    b'{"event": 1}\n',
    b'{"event": "ended"}\n',
    b'{"event": "gone", "id": 1}\n',
]


async def test_lines_of_anybody_do_no_harm(tmp_path: Path) -> None:
    """What is no record is left out, and of a line without an end as much as there is."""
    history = History()
    async with received(history, tmp_path / "records"):
        _, writer = await asyncio.open_unix_connection(tmp_path / "records")
        writer.write(b"".join(HOSTILE) + ended(0, causes=7) + b"\n" + ended(1) + b"\n")
        reader, endless = await asyncio.open_unix_connection(tmp_path / "records")
        endless.write(b"x" * (10 * LONGEST_LINE))
        endless.write(b"\n" + ended(2) + b"\n")
        following = history.follow()
        while b'"r2"' not in b"".join([entry.data for entry in await asyncio.wait_for(anext(following), 25)]):
            pass
        await following.aclose()
        writer.close()
        endless.close()
        assert not reader.at_eof()
    assert await kept(history) == ["reset", "ended r1", "ended r2", "ready"]


async def test_a_stream_is_taken_in_whatever_parts_it_comes() -> None:
    """Lines of anybody do no harm, and one that does not end takes no memory. It ends, or is silent, and is over."""
    text = b"\n" + ended(1) + b"\n" + b"".join(HOSTILE) + b"x" * (5 * LONGEST_LINE) + b"\n" + ended(2) + b"\nhalf"

    async def parts(size: int) -> AsyncIterator[bytes]:
        for begin in range(0, len(text), size):
            yield text[begin : begin + size]
        if size > len(text):
            await asyncio.Event().wait()

    for size, patience in ((100_000, 60.0), (2 * len(text), 0.1)):
        history = History()
        await take(history, parts(size), timedelta(seconds=patience))
        assert await kept(history) == ["reset", "ended r1", "ended r2", "ready"]
        following = history.follow()
        dropped = orjson.loads((await anext(following))[0].data)["dropped"]
        await following.aclose()
        assert dropped == (1 if size < LONGEST_LINE else 0)


class Opened:
    """A page that is served, and a browser."""

    def __init__(self, page: Page, url: str, session: aiohttp.ClientSession) -> None:
        self.page = page
        self.url = url
        self.base = url.partition("/?")[0]
        self.session = session

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Ask for a path."""
        async with self.session.get(self.base + path, headers=headers, allow_redirects=False) as answer:
            return answer.status, await answer.text()

    async def post(self, path: str, body: object, **headers: str) -> tuple[int, str]:
        """Send JSON, as the page does."""
        given = {"Origin": self.base, "Content-Type": "application/json", **headers}
        async with self.session.post(self.base + path, data=json.dumps(body), headers=given) as answer:
            return answer.status, await answer.text()


def no_cluster() -> Rest:
    """A cluster that is not there."""
    raise AssertionError("nobody is to ask the cluster")


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opened]:
    """A page, and a browser that has not opened its address yet."""
    (tmp_path / "samples").mkdir()
    (tmp_path / "samples/pod.yaml").write_text(f"kind: Pod\nmetadata: {{name: '{POD['name']}'}}\n", encoding="utf-8")
    (tmp_path / "samples/kustomization.yaml").write_text("resources: [pod.yaml]\n", encoding="utf-8")
    (tmp_path / "samples/broken.yaml").write_text("a: [\n", encoding="utf-8")
    restarts: list[int] = []

    async def restart() -> None:
        restarts.append(1)

    workbench = Workbench(tmp_path / "samples", tmp_path, restart)
    page = Page(History(project="shop"), Cluster(no_cluster), workbench=workbench)
    jar = aiohttp.CookieJar(unsafe=True)
    async with page.served() as url, aiohttp.ClientSession(cookie_jar=jar) as session:
        yield Opened(page, url, session)


async def test_only_who_has_opened_the_address_is_answered(opened: Opened) -> None:
    """The cookie is not for scripts, nor for other sites."""
    for path in ("/", "/events", "/findings", "/api/samples", "/static/main.js", "/?token=wrong"):
        status, text = await opened.get(path)
        assert (status, "open the address" in text) == (401, True)
    async with opened.session.get(opened.url, allow_redirects=False) as answer:
        assert (answer.status, answer.headers["Location"]) == (303, "/")
        assert "HttpOnly; SameSite=Strict" in answer.headers["Set-Cookie"]
    status, text = await opened.get("/")
    assert status == 200
    assert "<script type=" in text
    assert "token" not in text


async def test_no_other_site_reaches_the_page(opened: Opened) -> None:
    """By a name that points here, or from the user's browser."""
    await opened.session.get(opened.url)
    assert (await opened.get("/", Host="evil.example.com"))[0] == 421
    assert (await opened.get("/events", Origin="https://evil.example.com"))[0] == 403
    assert (await opened.post("/api/restart", {}, Origin="https://evil.example.com"))[0] == 403
    assert (await opened.post("/api/restart", {}, **{"Content-Type": "text/plain"}))[0] == 415
    async with opened.session.post(f"{opened.base}/api/restart", json={}) as answer:
        assert answer.status == 403  # without an origin
    assert (await opened.post("/api/restart", {}))[0] == 200
    async with opened.session.get(f"{opened.base}/") as answer:
        assert "script-src 'self'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"]


async def test_a_drawing_of_anybody_runs_nothing(opened: Opened) -> None:
    """It has an origin of its own, and gets nothing from a network. A new run of the explorer takes it away."""
    await opened.session.get(opened.url)
    assert (await opened.get("/findings"))[0] == 404
    opened.page.history.add("findings", {"html": "<script>alert(1)</script>"})
    async with opened.session.get(f"{opened.base}/findings") as answer:
        policy = answer.headers["Content-Security-Policy"].split("; ")
        assert {"default-src 'none'", "frame-ancestors 'none'", "sandbox"} < {*policy}
        assert await answer.text() == "<script>alert(1)</script>"
    opened.page.history.add("findings", {"html": ""})
    assert (await opened.get("/findings"))[0] == 404


@pytest.mark.parametrize(
    "name", ["../server.py", "%2e%2e/server.py", "..%2fserver.py", "index", "nothing.js", "%00.js"]
)
async def test_only_files_of_the_page_are_served(opened: Opened, name: str) -> None:
    """Not what is beside them."""
    await opened.session.get(opened.url)
    assert (await opened.get(f"/static/{name}"))[0] in (400, 404)


async def test_events_are_streamed_as_text(opened: Opened) -> None:
    """A name from outside stays within its JSON."""
    await opened.session.get(opened.url)
    opened.page.history.record(ended(1, causes=[cause(object=POD, kind="event\n\ndata: x")]))
    async with opened.session.get(f"{opened.base}/events") as answer:
        assert answer.headers["Content-Type"] == "text/event-stream"
        text = (await answer.content.readuntil(b"event: ready\n")).decode()
        [line] = [line for line in text.splitlines() if "alert" in line]
        assert json.loads(line.removeprefix("data: "))["causes"][0]["object"] == POD
        opened.page.history.record(ended(2))
        assert b'"r2"' in await answer.content.readuntil(b'"r2"')
    async with opened.session.get(f"{opened.base}/events", headers={"Last-Event-ID": "1"}) as answer:
        assert b"reset" not in await answer.content.readuntil(b'"r2"')


async def test_samples_are_those_that_can_be_applied(opened: Opened) -> None:
    """A broken file is left out, and a kustomization is none."""
    await opened.session.get(opened.url)
    _, text = await opened.get("/api/samples")
    [sample] = json.loads(text)["samples"]
    assert (sample["path"], sample["kind"], sample["name"]) == ("samples/pod.yaml", "Pod", POD["name"])


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("a: [", "this is not YAML"),
        ("- 1", "this is not an object"),
        ("", "write one object"),
        ("a: 1\n---\nb: 2", "write one object"),
        ("kind: Pod\ndata: !!binary aGk=", "write one object"),
        ("!!python/object/apply:os.system ['true']", "this is not YAML"),
        ("kind: Pod", "an object needs `apiVersion`, `kind` and `metadata.name`"),
        ("kind: Pod\nmetadata: 7", "an object needs `apiVersion`, `kind` and `metadata.name`"),
    ],
)
async def test_what_is_no_object_is_not_sent(opened: Opened, yaml: str, said: str) -> None:
    """The answer says why."""
    await opened.session.get(opened.url)
    status, text = await opened.post("/api/apply", {"yaml": yaml})
    assert status == 422
    assert said in json.loads(text)["errors"][0]["message"]


async def test_a_text_that_is_not_yaml_has_its_line(opened: Opened) -> None:
    """A button of the page leads there."""
    await opened.session.get(opened.url)
    _, text = await opened.post("/api/apply", {"yaml": "a: 1\nb: {\n"})
    assert json.loads(text)["errors"][0]["line"] == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"metadata": {"name": "b"}}, "another object"),
        ({"data": {"password": "***", "user": "***"}}, "a hidden value would be lost"),
    ],
)
async def test_an_edit_that_would_do_harm_is_not_sent(opened: Opened, change: dict[str, Any], said: str) -> None:
    """To another object, or with what stands in place of a secret."""
    await opened.session.get(opened.url)
    base = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"password": "***"}}
    edited = json.dumps({**base, **change})
    status, text = await opened.post("/api/apply", {"yaml": edited, "base": json.dumps(base)})
    assert (status, said in text) == (422, True)


async def test_what_fits_is_answered(opened: Opened) -> None:
    """For the text around the cursor. What is not text fits nowhere."""
    await opened.session.get(opened.url)
    status, text = await opened.post("/api/complete", {"before": "k", "after": ""})
    assert (status, [each["label"] for each in json.loads(text)["items"]]) == (200, ["kind"])
    status, text = await opened.post("/api/complete", {"before": ["k"], "after": 7})
    assert (status, json.loads(text)["items"]) == (200, [])
    assert (await opened.post("/api/complete", []))[0] == 400


async def test_a_cluster_that_is_not_the_loops_own_is_only_read(opened: Opened) -> None:
    """A person may look at it."""
    assert opened.page.workbench
    opened.page.workbench = replace(opened.page.workbench, is_read_only=True)
    await opened.session.get(opened.url)
    status, text = await opened.post("/api/delete", POD)
    assert (status, "use kubectl" in text) == (403, True)


async def test_a_port_in_use_is_said() -> None:
    """With the option that helps."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        page = Page(History(), port=port)
        with pytest.raises(EnvironmentProblem, match=f"127.0.0.1:{port}") as raised:
            async with page.served():
                pass
    assert "--port 0" in "".join(raised.value.diagnostic.help)


def test_the_values_of_an_object_are_not_shown() -> None:
    """Only how it is."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "namespace": "b", "uid": "u", "annotations": {"x": "hush"}},
        "data": {"password": "aHVzaA=="},
        "status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Empty"}, 7], "phase": {"x": "hush"}},
    }
    told = summary(secret)
    assert "hush" not in str(told)
    assert "aHVzaA" not in str(told)
    assert (told["ready"], told["conditions"][0]["reason"], told["phase"]) == (False, "Empty", "")
