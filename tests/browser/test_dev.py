"""`pykb dev` as somebody uses it: a new project, its control plane and its manager, seen in a browser. All is real."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from pykb.commands.options import NewApi, NewProject, NewWebhook
from tests.apiserver.envtest.test_dev import Dev, edit
from tests.browser.conftest import opened
from tests.unit.plugins.scaffolding import start

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(300)]

CONTROLLER = "shop/controllers/thing_controller.py"
COUNTS = """\
        number = int((resource.metadata.annotations or {}).get("number", "0"))
        resource.metadata.annotations = {"number": str(number + 1)}
        await self.client.update(resource)
        return Result()

    def setup"""


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Dev]:
    """The loop in a new project, whose reconciler changes its object each time."""
    webhooks = NewWebhook("shop", "v1", "Thing", defaulting=True, validation=True)
    project = start(NewProject(domain="example.com"), tmp_path / "shop", NewApi("shop", "v1", "Thing"), webhooks)
    edit(project / CONTROLLER, "        return Result()\n\n    def setup", COUNTS)
    dev = Dev(project)
    yield dev
    if dev.process.poll() is None:
        assert dev.end(signal.SIGINT) == 0


def test_a_hot_loop_is_found_and_ended(dev: Dev, browser: Browser) -> None:
    """From the sample to the line of code that writes, with the webhooks that judge it, and to the repaired manager."""
    url = dev.says("page: ").rpartition(" ")[2].strip()
    dev.says("webhooks are served at")
    with opened(browser, url) as page:
        page.get_by_role("link", name="Try it").click()
        expect(page.get_by_label("Sample")).to_have_value("Thing thing-sample")
        page.get_by_role("button", name="Apply").click()
        expect(page.get_by_text("✓ Applied.")).to_be_visible()
        alarm = page.get_by_role("status").filter(has_text="Hot loop: thing default/thing-sample")
        expect(alarm).to_contain_text("Its own write of metadata.annotations")
        alarm.get_by_role("link", name="Last reconcile").click()
        expect(page.get_by_text("PUT Thing default/thing-sample")).to_be_visible()
        controller = dev.folder / CONTROLLER
        line = controller.read_text().split("self.client.update")[0].count("\n") + 1
        link = page.get_by_role("link", name=f"thing_controller.py:{line}")
        expect(link).to_have_attribute("href", f"vscode://file{controller}:{line}")
        expect(page.get_by_text("validating webhook, Thing default/thing-sample, UPDATE by")).to_be_visible()
        page.get_by_text("mutating webhook, Thing default/thing-sample").get_by_role("link").click()
        expect(page.get_by_text("✓ allowed")).to_be_visible()
        page.get_by_role("link", name="thing default/thing-sample", exact=True).click()
        expect(page.get_by_role("heading", name="Why it ran")).to_be_visible()

        edit(controller, "        await self.client.update(resource)\n", "")
        dev.says("manager started")
        expect(alarm).to_have_count(0)
        page.get_by_role("link", name="Objects").click()
        expect(page.get_by_role("listitem").first).to_contain_text("Thing default/thing-sample")
