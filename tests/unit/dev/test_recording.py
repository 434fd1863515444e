"""Recordings of what the page shows: what is in them, and what a damaged or hostile one does."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from pykb.dev.page import history as bounds
from pykb.dev.page._events import LONGEST_LINE
from pykb.dev.page.history import History
from pykb.dev.page.objects import summary
from pykb.dev.page.recording import read_recording, recorded
from pykb.diagnostics import EnvironmentProblem
from tests.unit.dev.test_page import cause, ended, events

SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "a", "namespace": "b", "uid": "u"},
    "data": {"password": "aHVzaA=="},
}
STARTED = {"at": 1.0, "state": "started", "reason": "", "files": ["a.py"], "crds": [], "took": 0, "log": []}


def never(reason: str) -> None:
    """The recording does not end by itself."""
    raise AssertionError(reason)


def lines(path: Path) -> list[Any]:
    """The events in a file."""
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


async def shown(history: History) -> list[tuple[str, Any]]:
    """What a page gets of a history."""
    following = history.follow()
    found = events(await anext(following))
    await following.aclose()
    return found


async def test_a_recording_shows_what_the_page_showed(tmp_path: Path) -> None:
    """All of it, also what was there before, at the time of its last event."""
    file = tmp_path / "bug.jsonl"
    history = History(project="shop", cluster="a control plane")
    history.add("manager", STARTED)
    with recorded(history, file, never):
        history.record(ended(1, at=5.0))
        history.record(ended(2, at=7.0).replace(b"ended", b"started"))
        history.record(b'{"event": "dropped", "records": 7}')
        history.add("object", {**summary(SECRET), "uid": "u"})
        history.add("object", {**summary(SECRET), "uid": "v"})
        history.add("gone", {"uid": "v"})
        history.add(
            "findings",
            {"at": 7.0, "state": "done", "message": "", "histories": 3, "unfinished": [], "findings": [], "html": ""},
        )
    history.record(ended(3))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "aHVzaA" not in file.read_text(encoding="utf-8")
    again, notes = read_recording(file)
    (_, about), *found = await shown(again)
    (_, before), *expected = await shown(history)
    assert notes == []
    assert found == [each for each in expected if each[1].get("id") != "r3"]
    assert about == {**before, "source": "recording bug.jsonl", "isOver": True}
    assert again.until == 7.5


async def test_a_recording_has_a_largest_size_and_the_last_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what it has dropped."""
    monkeypatch.setattr(bounds, "MOST_BYTES", 20_000)
    file = tmp_path / "bug.jsonl"
    history = History()
    sizes = []
    with recorded(history, file, never):
        for number in range(2000):
            history.record(ended(number))
            sizes.append(file.stat().st_size)
    assert 80_000 < max(sizes) <= 160_000
    again, _ = read_recording(file)
    (_, about), *found = await shown(again)
    numbers = [int(told["id"][1:]) for event, told in found if event == "ended"]
    assert numbers == [*range(2000 - len(numbers), 2000)]
    assert about["dropped"] == 2000 - len(numbers)


def test_a_full_disk_ends_the_recording_after_a_whole_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program works on."""
    reasons: list[str] = []
    history = History()
    file = tmp_path / "bug.jsonl"
    write = os.write
    room = 10

    def full(handle: int, content: Any) -> int:
        nonlocal room
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = write(handle, content[:room])
        room = 0
        return taken

    with recorded(history, file, reasons.append):
        history.record(ended(1))
        monkeypatch.setattr(os, "write", full)
        history.record(ended(2))
        history.record(ended(3))
    assert reasons == ["No space left on device"]
    assert [each.get("id") for each in lines(file)][-1] == "r1"


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    """Also not through a link."""
    file, link = tmp_path / "bug.jsonl", tmp_path / "link"
    file.write_text("precious", encoding="utf-8")
    link.symlink_to(tmp_path / "nowhere")
    for path, said in ((file, "exists"), (link, "exists"), (tmp_path / "nothing/bug.jsonl", "cannot be made: No such")):
        with pytest.raises(EnvironmentProblem, match=said), recorded(History(), path, never):
            pass
    assert file.read_text(encoding="utf-8") == "precious"
    assert not (tmp_path / "nowhere").exists()


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording with two reconciles."""
    file = tmp_path / "bug.jsonl"
    history = History()
    with recorded(history, file, never):
        history.record(ended(1))
        history.record(ended(2))
    return file


def test_a_cut_last_line_is_left_out_and_said(recording: Path) -> None:
    """The program was killed while it wrote."""
    recording.write_bytes(recording.read_bytes()[:-20])
    again, [note] = read_recording(recording)
    kept = [orjson.loads(each.data) for each in again.snapshot() if each.event == "ended"]
    assert [told["id"] for told in kept] == ["r1"]
    assert (note.message, note.span and note.span.line) == ("the last line is cut off, and left out", 5)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda _: b"", "is not a recording"),
        (lambda _: b"\x1f\x8b\x08\x00 not a text\n", "is not a recording"),
        (lambda text: text.split(b"\n", 1)[1], "is not a recording"),
        (lambda text: text.replace(b'"version":1', b'"version":2'), "is of a newer pykb"),
        (lambda text: text.replace(b'"r1"', b"7"), "`id` has a wrong value"),
        (lambda text: text + b'{"event":"' + b"x" * LONGEST_LINE, "longer than 1048576 bytes"),
        (lambda text: text + b"\n" + text, "it is not JSON"),
        (lambda text: text + text, "is not an event that this version of pykb knows"),
    ],
)
def test_a_damaged_file_is_refused_with_its_line(recording: Path, damage: Callable[[bytes], bytes], said: str) -> None:
    """And with what to do."""
    recording.write_bytes(damage(recording.read_bytes()))
    with pytest.raises(EnvironmentProblem) as raised:
        read_recording(recording)
    found = raised.value.diagnostic
    assert said in found.message
    assert found.help
    assert (found.span is None) == ("bug.jsonl" in found.message)


def test_what_is_no_file_cannot_be_read(tmp_path: Path) -> None:
    """The message says so."""
    with pytest.raises(EnvironmentProblem, match="cannot be read"):
        read_recording(tmp_path)
    with pytest.raises(EnvironmentProblem, match="there is no file") as raised:
        read_recording(tmp_path / "service")
    assert "deployment/NAME" in raised.value.diagnostic.help[-1]  # it may be meant as an object


def test_a_hostile_file_takes_a_bounded_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A device without an end, and events that nobody sends so many or so large of."""
    monkeypatch.setattr(bounds, "MOST_BYTES", 100_000)
    with pytest.raises(EnvironmentProblem, match="is not a recording"):
        read_recording(Path("/dev/zero"))
    file = tmp_path / "bug.jsonl"
    history = History()
    with recorded(history, file, never):
        pass
    with file.open("ab") as out:
        for number in range(14):
            name = f"{number}{'n' * 9_000}"
            thing = {"apiVersion": "v1", "kind": name, "namespace": "", "name": name}
            out.write(ended(1, name, causes=[cause(object=thing)]) + b"\n")
            out.write(ended(number, id=name).replace(b"ended", b"started") + b"\n")
            out.write(orjson.dumps({"event": "manager", **STARTED, "log": [name]}) + b"\n")
            out.write(orjson.dumps({"event": "object", **summary(SECRET), "uid": name}) + b"\n")
    again, _ = read_recording(file)
    assert sum(len(each.data) for each in again.snapshot()) < 400_000 < file.stat().st_size
    assert not again.named
    monkeypatch.setattr(bounds, "MOST_BYTES", 10_000)
    with pytest.raises(EnvironmentProblem, match="is larger than any recording"):
        read_recording(file)
