"""Imported types on a real API server: it takes their CRDs, and the typed client reads and writes objects."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pykb.client.errors import Invalid
from pykb.diagnostics import Diagnostics
from pykb.envtest import get_assets
from pykb.importer.definition import find_definitions, read_sources
from pykb.importer.plan import package_files, regenerate
from pykb.runtime import Client
from pykb.tools.kubectl import Kubectl

pytestmark = pytest.mark.apiserver

ROOT = Path(__file__).parents[3] / "testdata" / "import"


@pytest.fixture(scope="module")
def generated() -> dict[str, dict[str, Any]]:
    """The CRDs that the types imported from testdata generate."""
    found = Diagnostics()
    definitions = find_definitions(read_sources([str(ROOT / "crds")], stdin="", kubectl=None, diagnostics=found), found)
    made = regenerate(package_files(definitions, found), found)
    assert not list(found)
    assert len(made) == len(definitions)
    return made


@pytest.fixture
def types() -> Iterator[dict[str, ModuleType]]:
    """The imported modules of testdata, by the folders of their groups."""
    sys.path.insert(0, str(ROOT))
    try:
        yield {
            path.parent.name: importlib.import_module(f"expected.{path.parent.name}.{path.stem}")
            for path in sorted(ROOT.glob("expected/*/*.py"))
            if path.name != "__init__.py" and path.stem != "v1alpha1"
        }
    finally:
        sys.path.remove(str(ROOT))
        for name in [name for name in sys.modules if name == "expected" or name.startswith("expected.")]:
            del sys.modules[name]


def test_the_server_takes_what_imported_types_generate(generated, dry_run) -> None:
    """Each CRD, conversion webhooks, protected groups and unions included."""
    for crd in generated.values():
        dry_run(crd)


async def test_typed_objects_are_written_and_read(generated, install, types, client: Client, namespace: str) -> None:
    """Defaults of the server, int-or-string, unions, lists and status arrive as Python values."""
    install(generated["routes.traffic.example.com"])
    module = types["traffic_example_com"]
    route = module.Route(
        metadata={"name": "r", "namespace": namespace},
        spec=module.RouteSpec(
            rules=[
                module.Rule(
                    match=module.Match(prefix="/a"),
                    targets=[module.Target(service="web", port="http"), module.Target(host="example.com", port=80)],
                    max_body_size="10m",
                )
            ]
        ),
    )
    await client.create(route)
    read = await client.get(module.Route, "r", namespace=namespace)
    [rule] = read.spec.rules
    assert (rule.share, rule.max_body_size, rule.match.prefix) == ("50%", "10m", "/a")
    assert [(target.port, target.weight) for target in rule.targets] == [("http", 1), (80, 1)]
    rule.match.regex = "^/b"  # two of which only one may be set: `oneOf`
    with pytest.raises(Invalid):
        await client.update(read)
    rule.match.prefix = None
    assert (await client.update(read)).spec.rules[0].match.to_wire() == {"regex": "^/b"}


async def test_rules_and_defaults_hold(generated, install, types, client: Client, namespace: str) -> None:
    """CEL rules of the imported CRD are the server's, defaults are Python's, too."""
    install(generated["databases.data.example.com"])
    module = types["data_example_com"]
    made = module.Database(
        metadata={"name": "d", "namespace": namespace},
        spec=module.DatabaseSpec(engine="postgres", size="1Gi", window=module.Window(hours=1.5)),
    )
    assert (made.spec.replicas, made.spec.ratio) == (3, 0.75)
    await client.create(made)
    read = await client.get(module.Database, "d", namespace=namespace)
    assert (read.spec.size, read.spec.window.start, read.spec.quorum) == ("1Gi", "02:00", 2)
    read.spec.engine = "mysql"
    with pytest.raises(Invalid, match="the engine cannot change"):
        await client.update(read)


async def test_whole_objects_and_null_survive(generated, install, types, client: Client) -> None:
    """Embedded objects, anything at all, and null where it is a value."""
    install(generated["policies.guard.example.com"])
    module = types["guard_example_com"]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n"}}
    policy = module.Policy(
        metadata={"name": "p"},
        spec=module.PolicySpec(
            template=pod, anything=[1, {"a": None}], values={"x": 1}, limit=None, exemptions=["a", None]
        ),
    )
    await client.create(policy)
    read = await client.get(module.Policy, "p")
    assert read.spec.template == pod
    assert (read.spec.anything, read.spec.values) == ([1, {"a": None}], {"x": 1})
    assert (read.spec.limit, read.spec.exemptions) == (None, ["a", None])
    assert "limit" in read.to_wire()["spec"]
    await client.delete(read)


async def test_names_that_are_awkward_arrive(generated, install, types, client: Client, namespace: str) -> None:
    """Wire names come from `Wire` where camelCase does not lead to them."""
    install(generated["pipelines.ci.example.com"])
    module = types["ci_example_com"]
    spec = {
        "$ref": "r",
        "x-odd-name": "o",
        "3scale": True,
        "class": "c",
        "from": "f",
        "copy": True,
        "json": "j",
        "model_config": "m",
        "str": "s",
        "list": ["l"],
        "podIPs": ["10.0.0.1"],
        "URL": "https://a.example",
        "fooBar": "1",
        "foo_bar": "2",
        "matrix": [[1], [2]],
        "environments": {"a": {"b": "c"}},
        "priority": 10,
    }
    made = module.Pipeline.from_wire({"metadata": {"name": "p", "namespace": namespace}, "spec": spec})
    await client.create(made)
    read = await client.get(module.Pipeline, "p", namespace=namespace)
    assert read.spec.to_wire() == spec


def test_a_cluster_that_does_not_answer_is_said(control_plane, tmp_path) -> None:
    """In one line with a remedy, without kubectl's log of its attempts."""
    kubeconfig = tmp_path / "dead"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: x}}]\n"
    )
    kubectl = Kubectl(control_plane.assets.kubectl, kubeconfig)
    found = Diagnostics()
    assert read_sources(["cluster://x"], stdin="", kubectl=kubectl, diagnostics=found) == []
    (only,) = found
    assert only.code.slug == "import-source-missing"
    assert only.message.startswith("`cluster://x` cannot be read: The connection to the server 127.0.0.1:1 was refused")
    assert only.notes == (f"using the cluster of `{kubeconfig}`",)
    assert only.help


def test_crds_of_a_cluster_are_imported(generated, install, control_plane) -> None:
    """By the name of one, by their group; an unknown name is said, with the groups that there are."""
    for name in (
        "backups.storage.example.com",
        "autoscalers.scale.example.com",
        "clusterautoscalers.scale.example.com",
    ):
        install(generated[name])
    kubectl = Kubectl.find(kubeconfig=control_plane.kubeconfig, folders=[get_assets(kubectl=True).folder])

    def kinds(source: str) -> list[str]:
        found = Diagnostics()
        documents = read_sources([source], stdin="", kubectl=kubectl, diagnostics=found)
        read = find_definitions(documents, found) if documents else []
        return [d.kind for d in read] or [d.message for d in found]

    assert kinds("cluster://backups.storage.example.com") == ["Backup"]
    assert kinds("cluster://scale.example.com") == ["Autoscaler", "ClusterAutoscaler"]
    assert kinds("cluster://none.example.com") == [
        "the cluster has no CRD and no group of CRDs called `none.example.com`"
    ]
    assert {"Backup", "Autoscaler"} <= set(kinds("cluster://"))


def test_a_cluster_may_have_characters_that_yaml_lacks(generated, install, control_plane) -> None:
    """In a description. kubectl writes them as they are."""
    manifest = copy.deepcopy(generated["backups.storage.example.com"])
    manifest["metadata"]["name"], manifest["spec"]["group"] = "backups.odd.example.com", "odd.example.com"
    manifest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "A next line \x85, a delete \x7f."
    kubectl = Kubectl.find(kubeconfig=control_plane.kubeconfig, folders=[get_assets(kubectl=True).folder])
    install(manifest)
    try:
        found = Diagnostics()
        documents = read_sources(["cluster://odd.example.com"], stdin="", kubectl=kubectl, diagnostics=found)
        [definition] = find_definitions(documents, found)
        assert definition.name == "backups.odd.example.com"
        assert not list(found)
    finally:  # kubectl cannot validate other objects while it is there
        control_plane.rest().call(
            "DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/backups.odd.example.com"
        )
