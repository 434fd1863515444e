"""OLM bundles: what `operator-sdk bundle validate` demands, what becomes of edits, and the removal of plugins."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from pykb.commands.edit import plan_edit
from pykb.commands.options import Edits
from pykb.envtest import get_assets
from pykb.files.apply import apply
from pykb.project.file import read
from tests.unit.plugins.test_delete import tree

pytestmark = pytest.mark.apiserver  # kubectl comes with it
TESTDATA = Path(__file__).parents[3] / "testdata"
Object = dict[str, Any]


def edit(root: Path, **options: Any) -> list[str]:
    """Run `pykb edit`; gives the slugs of the findings, or nothing but those if it refuses."""
    plan, found = plan_edit(Edits(**options), read(root)[0], root)
    if plan is not None:
        assert apply(plan) is None
    return [each.code.slug for each in found]


@pytest.fixture(params=["memcached", "virtulmachine", "multigroup"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A sample: without webhooks, with cert-manager or its own certificate, with conversion."""
    get_assets(kubectl=True)
    root = tmp_path / request.param
    shutil.copytree(TESTDATA / request.param, root)
    return root


@pytest.fixture
def memcached(tmp_path: Path) -> Path:
    """The sample without webhooks."""
    get_assets(kubectl=True)
    shutil.copytree(TESTDATA / "memcached", tmp_path / "memcached")
    return tmp_path / "memcached"


def bundle(root: Path) -> tuple[Object, list[Object]]:
    """The ClusterServiceVersion and the other manifests. Each is one document without a separator."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((root / "bundle/manifests").iterdir())]
    assert not [text for text in texts if text.startswith("---")]
    objects = [yaml.safe_load(text) for text in texts]
    (version,) = [each for each in objects if each["kind"] == "ClusterServiceVersion"]
    return version, [each for each in objects if each is not version]


def test_a_bundle_keeps_the_rules_of_the_validator(project: Path) -> None:
    """Of github.com/operator-framework/api/pkg/validation, which accepts these bundles."""
    assert edit(project, plugins=("olm",)) == []
    version, others = bundle(project)
    spec = version["spec"]
    crds = {(each["metadata"]["name"], v["name"]) for each in others if "Definition" in each["kind"]
            for v in each["spec"]["versions"]}  # fmt: skip
    assert {(each["name"], each["version"]) for each in spec["customresourcedefinitions"]["owned"]} == crds
    owned = {(each["kind"], each["version"]) for each in spec["customresourcedefinitions"]["owned"]}
    examples = json.loads(version["metadata"]["annotations"]["alm-examples"])
    assert {(each["kind"], each["apiVersion"].partition("/")[2]) for each in examples} == owned
    assert all(each["displayName"] and each["description"] for each in spec["customresourcedefinitions"]["owned"])
    (deployment,) = spec["install"]["spec"]["deployments"]
    accounts = {deployment["spec"]["template"]["spec"]["serviceAccountName"]}
    permissions = [*spec["install"]["spec"]["permissions"], *spec["install"]["spec"]["clusterPermissions"]]
    assert {each["serviceAccountName"] for each in permissions} == accounts
    assert not [each for each in others if each["kind"] in ("ServiceAccount", "Namespace", "RoleBinding")]
    assert not [each for each in others if "namespace" in each["metadata"]]
    assert {each["deploymentName"] for each in spec.get("webhookdefinitions", ())} <= {deployment["name"]}
    assert [each["type"] for each in spec["installModes"] if each["supported"]] == ["AllNamespaces"]
    platforms = re.search(r"PLATFORMS \?= (.+)", (project / "Makefile").read_text(encoding="utf-8"))
    assert platforms is not None
    built = {tuple(each.split("/")) for each in platforms[1].split(",")}
    labels = {
        f"operatorframework.io/{kind}.{name}" for os, arch in built for kind, name in (("os", os), ("arch", arch))
    }
    assert {key for key, value in version["metadata"]["labels"].items() if value == "supported"} == labels
    before = tree(project)
    assert edit(project, plugins=("olm",)) == []
    assert tree(project) == before


def test_the_manager_reads_the_certificate_that_olm_mounts(project: Path) -> None:
    """Nothing of the project's own certificates is in the bundle, and no right to write them."""
    edit(project, plugins=("olm",))
    text = "".join(path.read_text(encoding="utf-8") for path in (project / "bundle/manifests").iterdir())
    has_webhooks = read(project)[0].has_webhooks
    assert ("webhook-cert-path=/tmp/k8s-webhook-server/serving-certs" in text) == has_webhooks
    assert ("webhookdefinitions" in text) == has_webhooks
    for word in (
        "cert-manager",
        "--cert-secret",
        "serving-certificate",
        "webhook-certs",
        "mutatingwebhook",
        "admissionpolicy",
    ):
        assert word not in text.lower()


def test_a_manager_of_one_namespace_has_a_mode_of_its_own(memcached: Path) -> None:
    """Its permissions are those of the namespace that it is installed in."""
    edit(memcached, namespaced=True)
    edit(memcached, plugins=("olm",))
    version, _ = bundle(memcached)
    assert [each["type"] for each in version["spec"]["installModes"] if each["supported"]] == ["OwnNamespace"]
    images = {each["name"]: each["image"] for each in version["spec"]["relatedImages"]}
    assert images == {"manager": "controller:latest", "cache-memcached": "memcached:1.6"}


def test_the_version_and_the_channels_are_the_users(memcached: Path) -> None:
    """The base and the annotations are written once. An edited manifest stays and is reported."""
    edit(memcached, plugins=("olm",))
    base = memcached / "config/manifests/bases/memcached-operator.clusterserviceversion.yaml"
    base.write_text(base.read_text().replace("0.0.1", "1.2.3").replace("alpha", "stable"))
    annotations = memcached / "bundle/metadata/annotations.yaml"
    annotations.write_text(annotations.read_text().replace("candidate", "fast"))
    assert edit(memcached, plugins=("olm",)) == []
    version, _ = bundle(memcached)
    assert (version["metadata"]["name"], version["spec"]["maturity"]) == ("memcached-operator.v1.2.3", "stable")
    assert "channels.v1=fast" in (memcached / "bundle.Dockerfile").read_text()

    manifest = memcached / "bundle/manifests/memcached-operator.clusterserviceversion.yaml"
    manifest.write_text(f"# ours\n{manifest.read_text()}")
    base.write_text(base.read_text().replace("1.2.3", "1.2.4"))
    assert edit(memcached, plugins=("olm",)) == ["chart-edited"]
    base.write_text("- no mapping\n")
    assert edit(memcached, plugins=("olm",)) == ["file-broken"]


def test_what_plugins_wrote_goes_with_them(memcached: Path) -> None:
    """To the byte. Files that the user edited stop the command, or go into the backup."""
    before = tree(memcached)
    edit(memcached, plugins=("olm", "helm", "grafana"))
    after = tree(memcached)
    edit(memcached, removed_plugins=("olm", "helm", "grafana"))
    assert tree(memcached) == before

    edit(memcached, plugins=("olm", "helm", "grafana"))
    assert tree(memcached) == after
    files = ("charts/memcached-operator/values.yaml", "charts/memcached-operator/Chart.yaml", "grafana/operator.json")
    for name in (*files, "config/manifests/bases/memcached-operator.clusterserviceversion.yaml"):
        path = memcached / name
        text = path.read_text(encoding="utf-8")
        path.write_text(f"{text}\n", encoding="utf-8")
        assert edit(memcached, removed_plugins=("olm", "helm", "grafana")) == ["edited-by-hand"]
        assert path.exists()
        path.write_text(text, encoding="utf-8")
    path.write_text("# ours\n", encoding="utf-8")
    assert edit(memcached, removed_plugins=("olm", "helm", "grafana"), force=True) == []
    assert tree(memcached) == before
    assert [copy.read_text() for copy in (memcached / ".pykb/backup").rglob("*.yaml")] == ["# ours\n"]
