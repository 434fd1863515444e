"""The vocabulary of the real controller-gen, as its own help lists it, is known here: names, targets, arguments, types."""

from __future__ import annotations

import json
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pykb.markers.definition import MarkerDefinition, MarkerTarget
from pykb.markers.registry import builtin_registry

ControllerGen = Callable[..., subprocess.CompletedProcess[str]]
Entry = dict[str, Any]

pytestmark = pytest.mark.differential

HERE = Path(__file__).parent
GENERATORS = ("crd", "rbac:roleName=x", "webhook", "object", "applyconfiguration")
COUNTS = {"crd": 134, "rbac": 1, "webhook": 2, "object": 6, "applyconfiguration": 137}
TYPES = {"int": "integer", "float64": "number", "bool": "boolean", "raw": "raw text", "string": "string", "any": "any"}


def allowances() -> dict[tuple[str, str], str]:
    """Differences by what differs and how, with their reasons."""
    entries = tomllib.loads((HERE / "vocabulary.toml").read_text(encoding="utf-8"))["difference"]
    return {(entry["where"], entry["what"]): entry["reason"] for entry in entries}


@pytest.fixture(scope="module")
def peers(controller_gen: ControllerGen, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Entry]]:
    """What each generator of controller-gen says that it knows."""
    found = {}
    for generator in GENERATORS:
        done = controller_gen(tmp_path_factory.mktemp("empty"), generator, "-wwww")
        assert done.returncode == 0, done.stderr
        found[generator.partition(":")[0]] = [m for part in json.loads(done.stdout) for m in part["markers"]]
    return found


def type_of(argument: Entry) -> str:
    """The type of an argument, in the words of pykb."""
    if argument["type"] == "slice":
        return f"list of {type_of(argument['itemType'])}"
    # Go's reflection gives a float no name in the help.
    return TYPES[argument["type"] or "float64"]


def differences(entry: Entry) -> Iterator[tuple[str, str]]:
    """Where pykb's definition is another one than the peer's: the place, and what differs."""
    name, target = entry["name"], MarkerTarget(entry["target"])
    where = f"{name} on {target}"
    ours = builtin_registry().get(name)
    if ours is None:
        yield where, "unknown"
        return
    if target not in ours.targets:
        yield where, "another target"
    theirs = {argument["name"]: argument for argument in entry.get("fields", ())}
    for argument in theirs.values():
        place = f"{where}: {argument['name'] or 'the value'}"
        known = ours.argument(argument["name"])
        if known is None:
            yield place, "unknown"
            continue
        if str(known.type) != type_of(argument):
            yield place, f"{type_of(argument)}, here {known.type}"
        if known.optional != argument["optional"]:
            yield place, "optional there" if argument["optional"] else "optional here"
    for known in ours.arguments:
        if known.name not in theirs:
            yield f"{where}: {known.name or 'the value'}", "only here"


def test_every_definition_is_known_alike(peers: dict[str, list[Entry]]) -> None:
    """Each difference is listed in vocabulary.toml with a reason, and each reason is used."""
    found = {difference for entries in peers.values() for entry in entries for difference in differences(entry)}
    allowed = allowances()
    assert found == set(allowed)
    assert all(len(reason) > 20 for reason in allowed.values())


def test_the_number_of_definitions_is_that_of_the_release(peers: dict[str, list[Entry]]) -> None:
    """A new release of controller-gen with more markers does not pass unseen."""
    assert {generator: len(entries) for generator, entries in peers.items()} == COUNTS


def test_the_table_of_the_unit_tests_is_what_the_help_says(peers: dict[str, list[Entry]]) -> None:
    """tests/unit/markers/controller_gen.tsv stands in for controller-gen where it is not to be had."""
    table = (HERE.parent / "unit" / "markers" / "controller_gen.tsv").read_text(encoding="utf-8").splitlines()[1:]
    rows = Counter(tuple(line.split("\t")[:2]) for line in table)
    entries = [entry for generator in ("crd", "rbac", "webhook") for entry in peers[generator]]
    assert rows == Counter((entry["name"], entry["target"]) for entry in entries)


def test_what_only_pykb_knows_is_of_known_families(peers: dict[str, list[Entry]]) -> None:
    """Tags of declarative validation and markers of Go's other generators; nothing of our own invention."""
    theirs = {entry["name"] for entries in peers.values() for entry in entries}
    own = [d for d in builtin_registry() if d.name not in theirs]
    assert not [d.name for d in own if not is_of_kubernetes(d)]


def is_of_kubernetes(definition: MarkerDefinition) -> bool:
    """Whether Kubernetes' own generators define it."""
    return definition.go_only or definition.name.startswith("k8s:")
