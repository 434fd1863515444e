"""What somebody sees of a recording: `pykb inspect FILE`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, expect

from pykb.dev.page.history import History
from pykb.dev.page.recording import recorded
from tests.browser.conftest import basket, ended, opened, started

HOSTILE = "<script>document.title='taken'</script>"
PLACE = {"path": "/app/shop/basket.py", "line": 31}


def record(file: Path) -> None:
    """Record something of an hour ago."""
    then = time.time() - 3600
    history = History(project="shop", cluster="a cluster")
    error = {
        "type": "ValueError",
        "message": f"ValueError: {HOSTILE}",
        "place": PLACE,
        "traceback": "Traceback\n  line",
    }
    with recorded(history, file, print):
        told = {
            "at": then,
            "state": "ended",
            "reason": "exit code 1",
            "files": [],
            "crds": [],
            "took": 0,
            "log": [HOSTILE],
        }
        history.add("manager", told)
        history.add("object", basket("apple", ready=True))
        for each in (
            ended("1", "pear", at=then - 300),
            ended("2", "apple", at=then, outcome="error", error=error),
            started("3", "plum", at=then),
        ):
            history.record(json.dumps(each).encode())


def test_a_recording_is_shown_as_it_was_and_changes_nothing(browser: Browser, tmp_path: Path):
    """At the time of its end. Lines of code are not on this machine."""
    file = tmp_path / "bug.jsonl"
    record(file)
    command = [sys.executable, "-m", "pykb", "inspect", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        url = process.stdout.readline().partition("page: ")[2].strip()
        with opened(browser, url) as page:
            expect(page.get_by_role("heading", name="pykb inspect shop")).to_be_visible()
            expect(page.get_by_text("recording bug.jsonl")).to_be_visible()
            expect(page.get_by_role("link", name="Try it")).to_be_hidden()
            page.get_by_role("link", name="Basket default/apple").click()
            expect(page.get_by_text("A recording has no YAML of objects.")).to_be_visible()
            expect(page.get_by_role("button", name="Delete")).to_be_hidden()
            page.get_by_role("listitem").filter(has_text="basket default/apple: ✗ ValueError").get_by_role(
                "link"
            ).click()
            expect(page.get_by_text(f"ValueError: {HOSTILE}")).to_be_visible()
            expect(page.get_by_text("basket.py:31")).to_be_visible()
            expect(page.get_by_role("link", name="basket.py:31")).to_have_count(0)
            page.get_by_role("link", name="Health").click()
            expect(page.locator("pre", has_text=HOSTILE)).to_be_visible()
            page.get_by_role("link", name="Timeline").click()
            entries = page.get_by_role("list", name="Last reconciles").get_by_role("link")
            expect(entries).to_have_count(3)
            expect(page.get_by_role("button", name="End")).to_have_attribute("aria-pressed", "true")
            for _ in range(4):
                page.get_by_role("button", name="← Earlier").click()
            page.get_by_role("button", name="5 min").click()
            expect(page.get_by_role("button", name="End")).to_have_attribute("aria-pressed", "false")
            expect(entries).to_have_count(1)
            assert page.title() == "pykb inspect"
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        process.stdout.close()
