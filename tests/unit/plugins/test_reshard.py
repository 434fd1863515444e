"""`edit --shards`: the manifests, the way back to the byte, edits that stay or stop it, charts and bundles."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from pykb.commands.options import Edits
from pykb.envtest import get_assets
from pykb.project.file import read
from pykb.tools.kubectl import build_kustomization
from tests.unit.plugins.scaffolding import start, write
from tests.unit.plugins.test_delete import Tree, edit, tree
from tests.unit.plugins.test_regroup import OPTIONS, changed, differences

MANAGER = "config/manager/manager.yaml"
DEFAULT = "config/default/kustomization.yaml"
BUDGET = "disruption_budget.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project without kinds."""
    return start(OPTIONS, tmp_path / "fleet")


def reshard(root: Path, shards: int) -> list[str]:
    """Change the number of shards; gives the slugs of the findings."""
    plan, found = changed(root, Edits(shards=shards))
    write(plan, found)
    return [each.code.slug for each in found]


def refusal(root: Path, shards: int) -> list[tuple[str, str, int]]:
    """Why the number cannot be changed, by code, path and line."""
    plan, found = changed(root, Edits(shards=shards))
    assert plan is None
    errors = [each for each in found if each.severity.value == "error"]
    return [
        (each.code.slug, each.span.path if each.span else "", each.span.line if each.span else 0) for each in errors
    ]


def line_of(root: Path, path: str, text: str) -> int:
    """The number of the line with a text."""
    return next(number for number, line in enumerate((root / path).read_text().splitlines(), 1) if text in line)


def paths(before: Tree, after: Tree) -> set[str]:
    """The files that differ."""
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def test_there_and_back_is_the_same_to_the_byte(root: Path) -> None:
    """By way of another number. The same command again changes nothing."""
    before = tree(root)
    assert reshard(root, 16) == []
    assert read(root)[0].shards == 16
    plan, _ = changed(root, Edits(shards=16))
    assert plan is not None
    assert plan.is_empty
    sixteen = tree(root)
    assert reshard(root, 40) == []
    assert paths(sixteen, tree(root)) == {"PROJECT", MANAGER, "config/autoscaling/autoscaler.yaml"}
    assert reshard(root, 16) == []
    assert differences(sixteen, tree(root)) == ""
    assert reshard(root, 0) == []
    assert differences(before, tree(root)) == ""


def test_the_manifests(root: Path, request: pytest.FixtureRequest) -> None:
    """The change of all files, as committed; `--update-golden` accepts an explained difference."""
    before = tree(root)
    reshard(root, 16)
    expected = Path(__file__).with_name("reshard.diff")
    shown = differences(before, tree(root))
    if request.config.getoption("--update-golden"):
        expected.write_text(shown)
    assert shown == expected.read_text()


def objects(root: Path) -> dict[str, dict[str, object]]:
    """What kustomize renders, by kind; of several, the last."""
    folders = [path.parent for path in [get_assets(kubectl=True).kubectl] if path]
    rendered = build_kustomization(root / "config/default", folders=folders)
    return {each["kind"]: each for each in yaml.safe_load_all(rendered)}


@pytest.mark.apiserver  # kubectl comes with it
def test_kustomize_renders_every_combination_of_components(root: Path) -> None:
    """With the autoscaler, a deploy does not set the number of replicas; there is one budget in any case."""
    reshard(root, 16)
    text = (root / DEFAULT).read_text()
    for line, scales in (("- ../availability", False), ("- ../autoscaling", True)):
        text = text.replace("#components:", "components:").replace(f"#{line}", line)
        (root / DEFAULT).write_text(text)
        found = objects(root)
        spec: dict[str, object] = found["Deployment"]["spec"]  # type: ignore[assignment]
        assert ("replicas" in spec) is not scales
        assert found["PodDisruptionBudget"]["metadata"]["name"] == "fleet-controller-manager"  # type: ignore[index]
        if scales:
            target = found["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]  # type: ignore[index]
            assert target["name"] == found["Deployment"]["metadata"]["name"]  # type: ignore[index]


def test_edits_stay(root: Path) -> None:
    """Also across the way back. A number of replicas of one's own is kept, with a warning."""
    edit(root, MANAGER, "cpu: 500m", "cpu: 600m")
    edit(root, MANAGER, "replicas: 1", "replicas: 3")
    before = tree(root)
    assert reshard(root, 16) == ["left-as-edited"]
    text = (root / MANAGER).read_text()
    assert "- --shards=16\n" in text
    assert "replicas: 3\n" in text
    reshard(root, 0)
    assert differences(before, tree(root)) == ""


def test_an_edited_flag_stops_it_until_it_is_set_by_hand(root: Path) -> None:
    """Then the command does the rest, without a warning."""
    edit(root, MANAGER, "- --leader-elect\n", "- --leader-elect=true\n")
    assert refusal(root, 16) == [("shards-unset", MANAGER, line_of(root, MANAGER, "- args:"))]
    edit(root, MANAGER, "- --leader-elect=true\n", "- --shards=16\n")
    assert reshard(root, 16) == []
    edit(root, MANAGER, "- --shards=16\n", "- --shards=8\n")
    assert refusal(root, 0) == [("shards-unset", MANAGER, line_of(root, MANAGER, "- args:"))]
    _, found = changed(root, Edits(shards=0))
    (helps,) = [each.help for each in found if each.code.slug == "shards-unset"]
    assert helps == ("put `--leader-elect` in place of `--shards=8`, then run the command again",)


def test_ranges_are_enough_for_the_replicas(root: Path) -> None:
    """Each of which has one at least."""
    assert refusal(root, 1) == [("shards-few", MANAGER, line_of(root, MANAGER, "replicas:"))]
    edit(root, MANAGER, "replicas: 1", "replicas: 20")
    assert refusal(root, 16) == [("shards-few", MANAGER, line_of(root, MANAGER, "replicas:"))]
    assert reshard(root, 20) == ["left-as-edited"]


def test_without_the_manager_nothing_is_changed(root: Path) -> None:
    """Whether its file is gone, is not YAML, or has no such container."""
    edit(root, MANAGER, "name: manager\n", "name: operator\n")
    assert refusal(root, 16) == [("shards-unset", MANAGER, 1)]
    (root / MANAGER).write_text("a: [\n")
    assert ("shards-unset", MANAGER, 1) in refusal(root, 16)
    (root / MANAGER).unlink()
    assert refusal(root, 16) == [("file-missing", "", 0)]


def test_what_would_be_lost_or_broken_stops_it(root: Path) -> None:
    """An edited budget, a file of one's own in its place, and a kustomization that names what goes."""
    write(*changed(root, Edits(replicas=2)))
    edit(root, f"config/availability/{BUDGET}", "maxUnavailable: 1", "maxUnavailable: 2")
    assert refusal(root, 16) == [("edited-by-hand", f"config/availability/{BUDGET}", 1)]
    edit(root, f"config/availability/{BUDGET}", "maxUnavailable: 2", "maxUnavailable: 1")
    (root / f"config/manager/{BUDGET}").write_text("kind: PodDisruptionBudget\n")
    assert refusal(root, 16) == [("file-exists", f"config/manager/{BUDGET}", 1)]
    write(*changed(root, Edits(shards=16, force=True)))
    assert b"maxUnavailable: 1" in tree(root)[f"config/manager/{BUDGET}"]
    edit(root, DEFAULT, "#components:\n#- ../availability\n", "components:\n#- ../availability\n")
    edit(root, DEFAULT, "#- ../autoscaling", "- ../autoscaling")
    assert refusal(root, 0) == [("still-used", DEFAULT, line_of(root, DEFAULT, "- ../autoscaling"))]


def test_a_folder_that_the_user_deleted_stays_away(root: Path) -> None:
    """So do its lines."""
    write(*changed(root, Edits(replicas=2)))
    edit(root, DEFAULT, "components:\n- ../availability\n", "")
    for path in sorted((root / "config/availability").iterdir()):
        path.unlink()
    reshard(root, 16)
    reshard(root, 0)
    assert not list((root / "config/availability").iterdir())


@pytest.mark.apiserver  # kubectl comes with it
def test_charts_and_bundles_follow(root: Path) -> None:
    """In the same command. The chart has values; OLM has no autoscaler, so the bundle has its least number."""
    get_assets(kubectl=True)
    plan, found = changed(root, Edits(shards=16, plugins=("helm", "olm")))
    write(plan, found)
    values = yaml.safe_load((root / "charts/fleet/values.yaml").read_text())
    assert (values["manager"]["replicas"], values["manager"]["shards"]) == (4, 16)
    assert values["podDisruptionBudget"] == {"enabled": True}
    assert values["autoscaling"] == {"enabled": False, "minReplicas": 2, "maxReplicas": 4}
    deployment = (root / "charts/fleet/templates/manager/controller-manager.yaml").read_text()
    assert "  {{- if not .Values.autoscaling.enabled }}\n  replicas: {{ .Values.manager.replicas }}\n" in deployment
    assert "- --shards={{ .Values.manager.shards }}\n" in deployment
    assert (root / "bundle/manifests/fleet-controller-manager_poddisruptionbudget.yaml").exists()
    edit(root, DEFAULT, "#components:\n", "components:\n")
    edit(root, DEFAULT, "#- ../autoscaling", "- ../autoscaling")
    plan, found = changed(root, Edits(plugins=("helm", "olm")))
    assert [each.code.slug for each in found] == ["bundle-left-out"]
    write(plan, found)
    bundle = yaml.safe_load((root / "bundle/manifests/fleet.clusterserviceversion.yaml").read_text())
    (installed,) = bundle["spec"]["install"]["spec"]["deployments"]
    assert installed["spec"]["replicas"] == 2
    values = yaml.safe_load((root / "charts/fleet/values.yaml").read_text())
    assert (values["manager"]["replicas"], values["autoscaling"]["enabled"]) == (2, True)
    edit(root, DEFAULT, "- ../autoscaling", "#- ../autoscaling")
    edit(root, DEFAULT, "components:\n", "#components:\n")
    plan, found = changed(root, Edits(shards=0, plugins=("helm",)))
    write(plan, found)
    values = yaml.safe_load((root / "charts/fleet/values.yaml").read_text())
    assert values["manager"]["replicas"] == 1
    assert not {"autoscaling", "podDisruptionBudget"} & set(values)
    assert "shards" not in values["manager"]
