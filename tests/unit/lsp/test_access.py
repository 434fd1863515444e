"""Requests without a grant: what is certain is found, what is not certain is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.lsp._access import Access
from tests.pages import PAGES, blocks
from tests.sources import ROOT, files_of

PROJECT = """layout:
- python.pykb/v1
projectName: shop
repo: shop
version: "3"
resources:
- group: shop
  domain: example.com
  version: v1
  kind: Box
  path: shop/api/v1
"""
GRANTED = "    # +kubebuilder:rbac:groups=shop.example.com,resources=boxes,verbs=get;list;watch\n"
HEADER = """from pykb.api.apps.v1 import Deployment
from pykb.api.core.v1 import ConfigMap
from pykb.runtime import ControllerBuilder, Reconciler, create_or_update, ensure_applied, patch_status
from shop.api.v1 import Box


def map_of(box) -> ConfigMap:
    return ConfigMap()


class BoxReconciler(Reconciler):
"""
METHOD = "    async def reconcile(self, request):\n        "


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a kind."""
    root = tmp_path_factory.mktemp("project")
    (root / "PROJECT").write_text(PROJECT, encoding="utf-8")
    (root / "config/rbac").mkdir(parents=True)
    return root


def found(root: Path, text: str) -> list[str]:
    """What is missing, by verbs and resource."""
    findings = Access().findings(root, root / "shop.py", text)
    return [each.message.removeprefix("no marker allows to ").partition(":")[0] for each in findings]


CERTAIN = {
    "await self.client.create(ConfigMap())": ["create configmaps"],
    "await self.client.create(map_of(1))": ["create configmaps"],
    "await ensure_applied(self.client, map_of(1), owner=request)": ["create configmaps"],
    "await create_or_update(self.client, ConfigMap(), print)": ["create configmaps"],
    "await self.client.get(Deployment, request)": ["get deployments"],
    "await self.client.live.list(Deployment)": ["list deployments"],
    "await self.client.delete(Deployment, request)": ["delete deployments"],
    "await self.client.delete_all_of(Deployment)": ["deletecollection deployments"],
    "box = await self.client.find(Box, request)\n        await self.client.update(box)": ["update boxes"],
    "if box := await self.client.find(Box, request):\n            await self.client.status.patch(box)": [
        "patch boxes/status"
    ],
    "ControllerBuilder(self.manager).for_(Box).owns(Deployment).complete(self)": ["list or watch deployments"],
    "b = ControllerBuilder(self.manager)\n        b.watches(Deployment, print)": ["list or watch deployments"],
    "await self.client.create(Deployment())\n        await self.client.delete(Deployment())": [
        "create or delete deployments"
    ],
}
UNCERTAIN = (
    "pass\n\n\nclass Empty(Reconciler):\n    pass",
    "pass\n\n    def client(self):\n        return self.client.create(ConfigMap())",
    "await self.client.find(Box, request)",
    "await self.client.create(request)",
    "await self.other.create(ConfigMap())",
    "await self.client.impersonate('eve').create(ConfigMap())",
    "x = ConfigMap()\n        x = other(x)\n        await self.client.create(x)",
    "ConfigMap = print\n        await self.client.create(ConfigMap())",
    "self.client = other\n        await self.client.create(ConfigMap())",
    "x = await x\n        await self.client.create(x)",
    "b = b.owns(ConfigMap)",
    "WebhookBuilder(self.manager).for_(Deployment)",
    "await self.client.create(",
)


@pytest.mark.parametrize("body", CERTAIN)
def test_a_request_without_a_grant_is_found(root: Path, body: str):
    """By the class of the object, and by what the method sends in every case."""
    assert found(root, HEADER + GRANTED + METHOD + body + "\n") == CERTAIN[body]


@pytest.mark.parametrize("body", UNCERTAIN)
def test_what_is_not_certain_is_left_alone(root: Path, body: str):
    """Another client, a variable that is bound twice, a class of another name, a syntax error."""
    assert found(root, HEADER + GRANTED + METHOD + body + "\n") == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("other.py", '# +kubebuilder:rbac:groups="",resources=configmaps,verbs=create,resourceNames=a\n'),
        ("other.py", "# +kubebuilder:rbac:groups=*,resources=*,verbs=*,namespace=team\n"),
        ("config/rbac/own.yaml", 'rules: [{apiGroups: [""], resources: [configmaps], verbs: [create]}]'),
    ],
)
def test_a_grant_anywhere_in_the_project_counts(root: Path, file: str, text: str):
    """In another module, or in a role that is written by hand, until it is gone."""
    source = HEADER + GRANTED + METHOD + "await self.client.create(ConfigMap())\n"
    access = Access()
    (root / file).write_text(text, encoding="utf-8")
    assert access.findings(root, root / "shop.py", source) == []
    (root / file).unlink()
    assert len(access.findings(root, root / "shop.py", source)) == 1


def test_roles_of_people_and_broken_manifests_do_not_count(root: Path):
    """The manager does not have those that kubebuilder makes for users."""
    source = HEADER + GRANTED + METHOD + "await self.client.create(ConfigMap())\n"
    names = ("config/rbac/box_admin_role.yaml", "config/rbac/broken.yaml", "config/rbac/odd.yaml")
    (root / names[0]).write_text('rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]', encoding="utf-8")
    (root / names[1]).write_text("rules: [", encoding="utf-8")
    (root / names[2]).write_text("rules: [5, {verbs: 5}]\n---\nrules: 5", encoding="utf-8")
    assert found(root, source) == ["create configmaps"]
    for name in names:
        (root / name).unlink()


def test_a_project_without_markers_grants_in_another_way(root: Path):
    """So there is nothing to compare with."""
    assert found(root, HEADER + METHOD + "await self.client.create(ConfigMap())\n") == []


@pytest.mark.parametrize("above", [GRANTED, "    # A comment.\n"])
def test_the_fix_adds_the_marker_in_its_place(root: Path, above: str):
    """Below the markers of the class, or above its `reconcile`; then there is nothing to find."""
    text = HEADER + above + METHOD + "await self.client.create(ConfigMap())\n"
    (root / "other.py").write_text(GRANTED.strip() + "\n", encoding="utf-8")
    [finding] = Access().findings(root, root / "shop.py", text)
    [edit] = finding.fix
    lines = text.splitlines(keepends=True)
    lines.insert(edit.span.line - 1, edit.new)
    marker = '    # +kubebuilder:rbac:groups="",resources=configmaps,verbs=create\n'
    assert "".join(lines) == text.replace(above, above + marker)
    assert found(root, "".join(lines)) == []
    (root / "other.py").unlink()


RECONCILERS = [file for file in files_of(ROOT) if file.startswith("testdata/") and file.endswith("_controller.py")]


def test_no_sample_is_accused():
    """Their roles are right: the explorer and tests of nodes have shown so."""
    access = Access()
    for path in (ROOT / file for file in RECONCILERS):
        root = next((folder for folder in path.parents if (folder / "PROJECT").is_file()), ROOT)
        text = path.read_text(encoding="utf-8")
        assert access.findings(root, path, text) == [], path
    assert len(RECONCILERS) > 10


def test_no_page_is_accused(root: Path):
    """The programs of the documentation have the markers that they need."""
    for page in PAGES:
        text = "\n".join(blocks(page))
        assert found(root, text) == [], page


def test_settings_that_are_wrong_are_left_to_the_generator(root: Path):
    """The folder of manifests cannot be read then."""
    (root / "pyproject.toml").write_text('[tool.pykb]\nconfig = "../.."\n', encoding="utf-8")
    assert found(root, HEADER + GRANTED + METHOD + "await self.client.create(ConfigMap())\n") == []
    (root / "pyproject.toml").unlink()
