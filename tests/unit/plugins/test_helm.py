"""Helm charts: their text, and what becomes of a user's edits. `tests/differential/test_chart.py` asks Helm itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.files.apply import apply
from pykb.plugins.helm_v1 import ChartFiles, Template, chart, merged, values
from pykb.plugins.rendered import Rendered
from pykb.scaffold.plan import PlanBuilder

_FILES = {"Chart.yaml": "name: fleet\n", "templates/a.yaml": "a: {{ 1 }}\n", "templates/b.yaml": "b: 1\n"}
_VALUES = "# The values.\nreplicas: 1\nimage:\n  tag: v1  # the tag\n"
_NEW = "# The values.\nreplicas: 2\nimage:\n  tag: v2  # the tag\nmetrics: true\n"


def put(root: Path, files: dict[str, str], text: str = _VALUES, *, force: bool = False) -> list[str]:
    """Write a chart; gives the places of the warnings."""
    plan = PlanBuilder(root)
    ChartFiles("charts/fleet", plan, force).put_chart(files, text)
    assert apply(plan.build()) is None
    return [str(finding.span.path) for finding in plan.diagnostics if finding.span]


def test_an_expression_is_not_yaml() -> None:
    """It stands inside of texts, for whole values and for items. Text that looks like one stays text."""
    template = Template()
    block = template.block("{{- with .a }}", "a:", "  {{- toYaml . | nindent <indent+2> }}", "{{- end }}")
    obj = {
        "name": f"{template.inline('{{ .n }}')}-suffix",
        "items": ["x", template.block("{{- if .b }}", "- b", "{{- end }}")],
        "list": [{"args": template.block("args:", "- {{ .c }}"), "b": {"a": block}}],
        "note": "use {{ braces }}",
    }
    assert template.text(obj) == (
        "items:\n- x\n{{- if .b }}\n- b\n{{- end }}\n"
        "list:\n- args:\n  - {{ .c }}\n  b:\n    {{- with .a }}\n    a:\n      {{- toYaml . | nindent 6 }}\n    {{- end }}\n"
        "name: {{ .n }}-suffix\n"
        "note: use {{ `{{` }} braces }}\n"
    )


def test_a_chart_that_nobody_edited_is_brought_up_to_date(tmp_path: Path) -> None:
    """All files but Chart.yaml, which is the user's; files that are no longer needed go."""
    folder = tmp_path / "charts/fleet"
    assert put(tmp_path, _FILES) == []
    assert put(tmp_path, {"Chart.yaml": "name: x\n", "templates/a.yaml": "a: 2\n"}, _NEW) == []
    assert (folder / "Chart.yaml").read_text() == "name: fleet\n"
    assert (folder / "templates/a.yaml").read_text() == "a: 2\n"
    assert not (folder / "templates/b.yaml").exists()
    assert (folder / "values.yaml").read_text() == _NEW


def test_edited_templates_stay_and_are_reported_until_they_are_overwritten(tmp_path: Path) -> None:
    """Also deleted ones. What config/ does not change needs no report."""
    put(tmp_path, _FILES)
    first, second = (tmp_path / "charts/fleet/templates" / name for name in ("a.yaml", "b.yaml"))
    first.write_text("a: mine\n")
    second.unlink()
    assert put(tmp_path, _FILES) == []
    changed = _FILES | {"templates/a.yaml": "a: 2\n", "templates/b.yaml": "b: 2\n"}
    stale = ["charts/fleet/templates/a.yaml", "charts/fleet/templates/b.yaml"]
    assert put(tmp_path, changed) == stale
    assert put(tmp_path, changed) == stale
    assert first.read_text() == "a: mine\n"
    assert not second.exists()
    assert put(tmp_path, {"Chart.yaml": ""}) == stale[:1]
    assert put(tmp_path, changed, force=True) == []
    assert (first.read_text(), second.read_text()) == ("a: 2\n", "b: 2\n")
    assert put(tmp_path, changed) == []


def test_edited_values_keep_the_edits(tmp_path: Path) -> None:
    """New keys come, and defaults that the user did not change; comments stay."""
    put(tmp_path, _FILES)
    file = tmp_path / "charts/fleet/values.yaml"
    file.write_text(_VALUES.replace("replicas: 1", "replicas: 5 # mine") + "own: 1\n")
    assert put(tmp_path, _FILES, _NEW) == []
    assert file.read_text() == (
        "# The values.\nreplicas: 5 # mine\nimage:\n  tag: v2  # the tag\nown: 1\nmetrics: true\n"
    )
    file.write_text("a: [")
    assert put(tmp_path, _FILES, _NEW) == ["charts/fleet/values.yaml"]
    assert file.read_text() == "a: ["


@pytest.mark.parametrize(
    "record", ["", "[]", "{}", '{"files": [], "values": 1}', '{"files": {"../x": ""}, "values": {}}']
)
def test_a_record_of_another_form_makes_all_files_the_users(tmp_path: Path, record: str) -> None:
    """It comes from the repository: whatever it says, nothing outside of the chart is touched."""
    put(tmp_path, _FILES)
    (tmp_path / "charts/fleet/.pykb.json").write_text(record)
    (tmp_path / "charts/x").write_text("theirs")
    (tmp_path / "charts/fleet/templates/a.yaml").write_text("a: mine\n")
    assert "charts/fleet/templates/a.yaml" in put(tmp_path, _FILES)
    assert (tmp_path / "charts/fleet/templates/a.yaml").read_text() == "a: mine\n"
    assert (tmp_path / "charts/x").read_text() == "theirs"


def test_values_that_are_removed_stay_removed() -> None:
    """A user may not want one; one that pykb no longer knows goes if it has its default."""
    before = {"a": 1, "b": {"c": 1, "d": 2}, "e": 3}
    assert merged("b:\n  c: 1\ne: 3\n", before, "a: 1\nb:\n  c: 2\n  d: 2\n") == "b:\n  c: 2\n"
    assert merged("- 1\n", before, "a: 1\n") == "- 1\n"


def deployment(**container: object) -> dict[str, object]:
    """A Deployment as kustomize renders it."""
    pod = {"containers": [{"name": "manager", "image": "controller:latest", **container}]}
    metadata = {"name": "webhook-metrics-manager", "namespace": "webhook-metrics-system"}
    spec = {"replicas": 2, "template": {"spec": pod}, "selector": {"matchLabels": {}}}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize(
    ("image", "repository", "tag"),
    [
        ("controller", "controller", "latest"),
        ("registry.example.com:5000/a", "registry.example.com:5000/a", "latest"),
        ("registry.example.com:5000/a:v1", "registry.example.com:5000/a", "v1"),
        ("a:v1@sha256:00", "a", "sha256:00"),
    ],
)
def test_the_image_is_the_default_of_the_values(image: str, repository: str, tag: str) -> None:
    """Its tag, or its digest."""
    rendered = Rendered([deployment(image=image)], [], "webhook-metrics-system", "webhook-metrics-")
    found = yaml.safe_load(values(rendered))["manager"]
    assert found["image"] == {"repository": repository, "tag": tag, "pullPolicy": "IfNotPresent"}
    assert found["replicas"] == 2
    assert found["resources"] == {}


def test_a_project_may_be_called_anything() -> None:
    """Its name says nothing about what its objects are for. Another manager has no chart."""
    rendered = Rendered([deployment()], [], "webhook-metrics-system", "webhook-metrics-")
    files = chart("webhook-metrics", rendered)
    assert [path for path in files if path.startswith("templates/")] == [
        "templates/NOTES.txt",
        "templates/_helpers.tpl",
        "templates/manager/manager.yaml",
    ]
    assert ".Values.webhook" not in files["templates/manager/manager.yaml"]
    with pytest.raises(EnvironmentProblem, match="no Deployment with a container `manager`"):
        values(Rendered([deployment(name="other")], [], "", ""))


def test_an_expression_of_a_policy_is_not_about_the_namespace() -> None:
    """Its words stay, also if a namespace or a Service is called like one of them."""
    expression = 'request.userInfo.username == "system:serviceaccount:" + params.metadata.namespace'
    spec = {
        "matchConditions": [{"name": "system", "expression": expression}],
        "matchConstraints": {"resourceRules": [{"resourceNames": ["a-hook"]}]},
    }
    group = "admissionregistration.k8s.io/v1"
    policy = {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "a-policy"}, "spec": spec}
    hook = {
        "apiVersion": group,
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "a-hook"},
        "webhooks": [],
    }
    files = chart("a", Rendered([deployment(), policy, hook], [], "system", "a-"))
    text = files["templates/webhook/policy.yaml"]
    assert expression in yaml.safe_load(re.sub("{{.*?}}", "", text))["spec"]["matchConditions"][0]["expression"]
    assert '- {{ include "a.fullname" $ }}-hook' in text
