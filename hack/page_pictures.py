"""`make pictures`: photographs the page of `pykb dev` and a finding of the explorer, with a real operator."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from hack.demo import RECONCILE, Demo, edit_types, scaffold
from tests.browser.conftest import ARGUMENTS, program

IMAGES = Path(__file__).parents[1] / "docs/images"
SIZE = {"width": 1000, "height": 500}
CONTROLLER = "sealvm/controllers/virtulmachine_controller.py"
WEBHOOK = "sealvm/webhooks/v1/virtulmachine_webhook.py"
JUDGES = """Accept updates that leave the spec unchanged.\"\"\"
        if new.spec.cpu < old.spec.cpu:
            raise Invalid.of(new, [FieldError.forbidden("spec.cpu", "a running machine keeps its CPUs")])
"""
IMPORTS = """from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import ensure_applied
"""
APPLIES = """        if resource.spec.cpu == "0":
            raise ValueError("a machine needs a CPU")
        settings = ConfigMap(metadata=ObjectMeta(name=request.name, namespace=request.namespace))
        settings.data = {"memory": resource.spec.memory}
        await ensure_applied(self.client, settings, owner=resource)
        resource.status.phase = "Running"
        await self.client.status.update(resource)
"""
RULES = '    # +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch\n'
MANIFEST = """\
apiVersion: infra.sealyun.com/v1
kind: VirtulMachine
metadata:
  name: {name}
spec:
  cpu: "{cpu}"
  memory: {memory}
"""


def prepare(demo: Demo) -> None:
    """A project that applies a ConfigMap for each machine, fails for one without a CPU, and takes no CPU away."""
    scaffold(demo)
    kind = "--group infra --version v1 --kind VirtulMachine"
    demo.run(f"pykb create webhook {kind} --programmatic-validation --no-make")
    demo.edit(WEBHOOK, 'Accept updates that leave the spec unchanged."""\n', JUDGES)
    demo.edit(WEBHOOK, "import Manager", "import FieldError, Invalid, Manager")
    edit_types(demo)
    demo.edit(CONTROLLER, RECONCILE, APPLIES)
    demo.edit(CONTROLLER, "from pykb.runtime import ", f"{IMPORTS}from pykb.runtime import ")
    demo.edit(CONTROLLER, "    # +kubebuilder:rbac:", f"{RULES}    # +kubebuilder:rbac:")
    demo.edit(CONTROLLER, ".complete(self)", ".owns(ConfigMap).complete(self)")


def address(log: Path) -> str:
    """The address that `pykb dev` prints, when the manager runs."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        text = log.read_text(encoding="utf-8")
        if "webhooks are served" in text and (found := re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", text)):
            return found.group()
        time.sleep(0.2)
    raise SystemExit(f"{text}\nerror: no manager has started")


def apply(page: Page, name: str, cpu: str, memory: str, said: str = "✓ Applied.") -> None:
    """Apply a machine on the page, and wait for what it says."""
    page.get_by_role("link", name="Try it").click()
    page.get_by_label("YAML").fill(MANIFEST.format(name=name, cpu=cpu, memory=memory))
    page.get_by_role("button", name="Apply").click()
    page.get_by_text(said).first.wait_for()


def photograph(page: Page, demo: Demo) -> None:
    """Work on the page as its user would, and take the pictures."""
    apply(page, "web", "2", "4Gi")
    apply(page, "empty", "0", "1Gi")
    page.wait_for_timeout(6000)
    apply(page, "web", "2", "8Gi")
    page.wait_for_timeout(3000)
    demo.edit(CONTROLLER, '== "0"', '== "none"')
    page.wait_for_timeout(12000)
    apply(page, "db", "4", "16Gi")
    page.get_by_role("link", name="Timeline").click()
    page.wait_for_timeout(4000)
    page.screenshot(path=IMAGES / "page-timeline.png")
    changed = page.get_by_role("listitem").filter(has_text="default/web").filter(has_text="3 writes").first
    changed.get_by_role("link").click()
    page.get_by_role("heading", name="Why it ran").wait_for()
    page.wait_for_timeout(600)
    page.screenshot(path=IMAGES / "page-reconcile.png")
    apply(page, "db", "1", "16Gi", said="a running machine keeps its CPUs")
    page.get_by_role("link", name="Timeline").click()
    page.get_by_role("list", name="Last webhook calls").get_by_role("link").first.click()
    page.get_by_role("heading", name="Refused fields").wait_for()
    page.wait_for_timeout(600)
    page.screenshot(path=IMAGES / "page-webhook.png")


def photograph_finding(page: Page, demo: Demo) -> None:
    """Let the explorer find that the ConfigMap of a machine without an owner stays, and take its picture."""
    demo.edit(CONTROLLER, ", owner=resource)", ")")
    demo.run("pykb generate")
    with contextlib.suppress(subprocess.CalledProcessError):  # it has findings
        demo.run("pykb explore --only explore-leak --html finding.html")
    page.goto((demo.folder / "finding.html").as_uri())
    page.locator("section").first.screenshot(path=IMAGES / "explore-finding.png")


def main() -> None:
    """Scaffold, run, photograph."""
    with tempfile.TemporaryDirectory(prefix="pykb-page-") as temporary:
        folder = Path(temporary, "sealvm")
        folder.mkdir()
        demo, log = Demo(folder), Path(temporary, "log")
        prepare(demo)
        dev = demo.start("pykb dev", log)
        try:
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program(), args=ARGUMENTS)
                page = browser.new_page(viewport=SIZE, color_scheme="light")
                page.goto(address(log))
                photograph(page, demo)
                photograph_finding(page, demo)
                browser.close()
        finally:
            os.killpg(dev.pid, signal.SIGINT)
            dev.wait(timeout=60)


if __name__ == "__main__":
    main()
