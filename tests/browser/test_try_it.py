"""What the page does with a cluster: an API server that is real."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from pykb.envtest import ControlPlane
from pykb.envtest.rest import Rest
from tests.browser.conftest import Site

pytestmark = pytest.mark.apiserver

SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  name: web
  annotations:
    since: 2026-01-01
spec:
  ports:
  - name: http
    port: 99999
"""


@pytest.fixture
def connect(control_plane: ControlPlane) -> Callable[[], Rest]:
    """Connects the page with a control plane."""
    return lambda: Rest.from_kubeconfig(control_plane.kubeconfig)


def test_a_sample_is_corrected_applied_and_deleted(site: Site, page: Page):
    """The API server's error leads to its line. Each action shows the command of kubectl that does the same."""
    (site.samples / "service.yaml").write_text(SERVICE, encoding="utf-8")
    page.get_by_role("link", name="Try it").click()
    expect(page.get_by_label("Sample")).to_have_value("Service web")
    page.get_by_role("button", name="Apply").click()
    problem = page.get_by_role("listitem").first
    expect(problem).to_contain_text("spec.ports[0].port: Invalid value: 99999")
    problem.get_by_role("button", name="line 10").click()
    yaml = page.get_by_label("YAML")
    assert yaml.evaluate("it => it.value.slice(it.selectionStart, it.selectionEnd)") == "    port: 99999"
    page.keyboard.type("    port: 80")
    page.get_by_role("button", name="Dry run").click()
    expect(page.get_by_text("The API server accepts it. Nothing was stored.")).to_be_visible()
    expect(page.locator("#said code")).to_contain_text("--dry-run=server")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("✓ Applied.")).to_be_visible()
    page.get_by_role("button", name="Restart the manager").click()
    expect(page.get_by_text("✓ The manager was restarted.")).to_be_visible()
    assert site.restarts == 1

    page.evaluate("location.hash = 'object/v1,Service,default,web'")
    expect(page.locator("pre")).to_contain_text("clusterIP:")
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_role("heading", name="Edit Service default/web")).to_be_visible()
    expect(yaml).to_have_value(re.compile("clusterIP:"))
    yaml.evaluate("it => { it.value = it.value.replace('targetPort: 80', 'targetPort: 99999') }")
    page.get_by_role("button", name="Apply").click()
    expect(problem).to_contain_text("spec.ports[0].targetPort: Invalid value: 99999")
    yaml.evaluate("it => { it.value = it.value.replace('targetPort: 99999', 'targetPort: 81') }")
    page.get_by_role("button", name="Apply").click()
    expect(page.get_by_text("✓ Applied.")).to_be_visible()
    expect(page.locator("#said code")).to_contain_text("kubectl patch service web --namespace default")
    page.go_back()
    expect(page.locator("pre")).to_contain_text("targetPort: 81")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete it: sure?").click()
    expect(page.get_by_text("✓ The API server deletes it.")).to_be_visible()
    expect(page.locator("code")).to_have_text("kubectl delete service web --namespace default --wait=false")
    page.reload()
    expect(page.locator("pre")).to_have_text("this object is not there")
