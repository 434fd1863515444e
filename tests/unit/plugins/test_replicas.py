"""`--replicas` of `init` and `edit`: config/availability comes and goes, and charts and bundles follow."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from pykb.commands.options import Edits
from pykb.envtest import get_assets
from pykb.project.file import read
from tests.unit.plugins.scaffolding import start, write
from tests.unit.plugins.test_delete import edit, tree
from tests.unit.plugins.test_regroup import OPTIONS, changed, differences
from tests.unit.plugins.test_reshard import BUDGET, DEFAULT, objects

FOLDER = "config/availability"
PATCH = f"{FOLDER}/manager_patch.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project without kinds."""
    return start(OPTIONS, tmp_path / "fleet")


def set_replicas(root: Path, replicas: int, **more: object) -> list[str]:
    """Change the number of replicas; gives the slugs of the findings."""
    plan, found = changed(root, Edits(replicas=replicas, **more))  # type: ignore[arg-type]
    if plan is not None:
        write(plan, found)
    return [each.code.slug for each in found]


def test_a_new_project_has_one_replica_and_no_folder_for_more(root: Path) -> None:
    """Nor a word about them."""
    assert not (root / FOLDER).exists()
    assert "availability" not in (root / DEFAULT).read_text().lower()
    assert "replicas: 1\n" in (root / "config/manager/manager.yaml").read_text()


def test_there_and_back_is_the_same_to_the_byte(root: Path, tmp_path: Path) -> None:
    """By way of another number, and as `init --replicas` makes it. The same command again changes nothing."""
    before = tree(root)
    assert set_replicas(root, 2) == []
    assert read(root)[0].replicas == 2
    assert differences(tree(root), tree(start(replace(OPTIONS, replicas=2), tmp_path / "new/fleet"))) == ""
    plan, _ = changed(root, Edits(replicas=2))
    assert plan is not None
    assert plan.is_empty
    assert set_replicas(root, 3) == []
    assert yaml.safe_load((root / PATCH).read_text())["spec"]["replicas"] == 3
    assert set_replicas(root, 1) == []
    assert differences(before, tree(root)) == ""


def test_the_files(root: Path, request: pytest.FixtureRequest) -> None:
    """The change of all files, as committed; `--update-golden` accepts an explained difference."""
    before = tree(root)
    set_replicas(root, 2)
    expected = Path(__file__).with_name("replicas.diff")
    shown = differences(before, tree(root))
    if request.config.getoption("--update-golden"):
        expected.write_text(shown)
    assert shown == expected.read_text()


def test_edits_stay_or_stop_it(root: Path) -> None:
    """An edited line stays. An edited file is not deleted, unless forced."""
    set_replicas(root, 2)
    edit(root, PATCH, "system-cluster-critical", "operators")
    edit(root, PATCH, "replicas: 2", "replicas: 4")
    assert set_replicas(root, 3) == ["left-as-edited"]
    assert "priorityClassName: operators\n" in (root / PATCH).read_text()
    assert set_replicas(root, 1) == ["edited-by-hand"]
    assert (root / PATCH).exists()
    assert set_replicas(root, 1, force=True) == []
    assert not (root / FOLDER).exists()


def test_a_list_of_components_of_ones_own_is_not_doubled(root: Path) -> None:
    """Kustomize would refuse the file. The message has the lines to add."""
    edit(root, DEFAULT, "patches:\n", "components:\n- ../mine\n\npatches:\n")
    before = (root / DEFAULT).read_text()
    plan, found = changed(root, Edits(replicas=2))
    write(plan, found)
    assert (root / DEFAULT).read_text() == before
    (left,) = found
    assert left.help[0].endswith("components:\n- ../availability")


def test_shards_and_replicas_do_not_go_together(root: Path) -> None:
    """With shards all replicas work. They replace the number of replicas, and it does not come back."""
    _, found = changed(root, Edits(shards=16, replicas=2))
    assert [each.code.slug for each in found] == ["flag-conflict"]
    set_replicas(root, 2)
    write(*changed(root, Edits(shards=16)))
    assert (read(root)[0].shards, read(root)[0].replicas) == (16, 0)
    assert (root / f"config/manager/{BUDGET}").exists()
    assert set_replicas(root, 2) == ["flag-conflict"]
    write(*changed(root, Edits(shards=0)))
    assert not (root / FOLDER).exists()


@pytest.mark.parametrize("value", ["two", "-1", "1.5", "[2]"])
def test_a_number_in_project_that_is_none_is_reported(root: Path, value: str) -> None:
    """With its place. It counts as the default."""
    set_replicas(root, 2)
    edit(root, "PROJECT", "replicas: 2", f"replicas: {value}")
    project, found = read(root)
    assert project.managers == 1
    assert [(each.code.slug, each.span and each.span.line) for each in found] == [("project-field", 9)]


@pytest.mark.apiserver  # kubectl comes with it
def test_manifests_charts_and_bundles_follow(root: Path) -> None:
    """In the same command, both ways."""
    get_assets(kubectl=True)
    values = root / "charts/fleet/values.yaml"
    assert set_replicas(root, 2, plugins=("helm", "olm")) == []
    found = objects(root)
    spec = found["Deployment"]["spec"]
    assert spec["replicas"] == 2  # type: ignore[index]
    pod = spec["template"]  # type: ignore[index]
    assert [each["topologyKey"] for each in pod["spec"]["topologySpreadConstraints"]] == ["kubernetes.io/hostname"]
    assert found["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()  # type: ignore[index]
    chart = yaml.safe_load(values.read_text())
    assert chart["manager"]["replicas"] == 2
    assert chart["podDisruptionBudget"] == {"enabled": True}
    assert (root / "bundle/manifests/fleet-controller-manager_poddisruptionbudget.yaml").exists()
    assert set_replicas(root, 1, plugins=("helm", "olm")) == []
    chart = yaml.safe_load(values.read_text())
    assert chart["manager"]["replicas"] == 1
    assert "podDisruptionBudget" not in chart
    assert not (root / "bundle/manifests/fleet-controller-manager_poddisruptionbudget.yaml").exists()
    assert "PodDisruptionBudget" not in objects(root)
