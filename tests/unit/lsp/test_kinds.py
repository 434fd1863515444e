"""The places of types in CRDs, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pykb.lsp import _kinds
from pykb.lsp._kinds import Answer, NoAnswerError, Place, answer, ask, find
from pykb.tools.process import Limits

HEADER = "from pykb.api import CustomResource, GroupVersion, Struct\n\n\n"
BOX = """class Size(Struct):
    # +optional
    width_mm: int


class BoxSpec(Struct):
    size: Size
    others: list[Size]


class Box(CustomResource, group_version=GroupVersion("shop.example.com", "v1")):
    spec: BoxSpec
"""
FILE = "box/api/v1/box.py"
CRD = "config/crd/bases/shop.example.com_boxes.yaml"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose file is empty on disk: the editor has its text."""
    root = tmp_path_factory.mktemp("project")
    for folder in (root / "box", root / "box/api", root / "box/api/v1"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    (root / FILE).write_text(HEADER, encoding="utf-8")
    return root


def asked(root: Path, line: str, text: str = HEADER + BOX) -> Answer:
    """The answer about a line."""
    number = text.split("\n").index(line) + 1
    values = json.loads(answer(root, json.dumps({"path": FILE, "text": text, "line": number}).encode()))
    assert not values["error"], values["error"]
    return Answer(values["manifests"], tuple(Place(p[0], p[1], tuple(p[2]), *p[3:]) for p in values["places"]))


@pytest.fixture(scope="module")
def manifest(root: Path) -> str:
    """The CRD of the text, as a preview has it."""
    return asked(root, "class Size(Struct):").manifests[CRD]


def test_a_field_is_where_its_type_is_used(root: Path, manifest: str):
    """A type that is used twice has two places, by the names of the wire. The class leads to the same schemas."""
    (root / CRD).parent.mkdir(parents=True, exist_ok=True)
    (root / CRD).write_text(manifest, encoding="utf-8")
    lines = manifest.split("\n")
    for line, keys in (("    width_mm: int", ["widthMm:"] * 2), ("class Size(Struct):", ["items:", "size:"])):
        places = asked(root, line).places
        assert sorted(lines[at].strip() for at, _ in find(root, CRD, places)) == keys
    [kind] = asked(root, 'class Box(CustomResource, group_version=GroupVersion("shop.example.com", "v1")):').places
    [(line, column)] = find(root, CRD, [kind])
    assert lines[line - 1].strip() == "openAPIV3Schema:"
    assert lines[line][column:].startswith("properties:")


def test_the_text_of_the_editor_counts(root: Path):
    """The file on disk does not. A line outside of types has no CRD."""
    assert "heightMm" in asked(root, "    height_mm: int", HEADER + BOX.replace("width", "height")).manifests[CRD]
    assert asked(root, "from pykb.api import CustomResource, GroupVersion, Struct").manifests == {}


def test_a_file_with_a_mistake_says_which(root: Path):
    """With its place, and no manifest."""
    question = {"path": FILE, "text": HEADER + BOX.replace("int", "float"), "line": 5}
    values = json.loads(answer(root, json.dumps(question).encode()))
    assert values["manifests"] == {}
    assert values["error"].startswith(f"{FILE}:6: ")


VERSIONS = "spec: {versions: [{name: v1, schema: {openAPIV3Schema: {properties: {a: {}}}}}]}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no `crd.yaml`: run `pykb generate`"),
        ("spec: [", "`crd.yaml` is not YAML: "),
        ("[" * 1000, "`crd.yaml` cannot be read: it is nested more than 100 levels deep"),
        ("", "`crd.yaml` is older than this type: run `pykb generate`"),
        ("spec: {versions: {name: v1}}", "`crd.yaml` is older than this type"),
        (VERSIONS.replace("v1", "v2"), "`crd.yaml` is older than this type"),
        (VERSIONS.replace("a:", "b:"), "`crd.yaml` is older than this type"),
        ("\0", "`crd.yaml` is not YAML"),
        (" " * 17_000_000, "`crd.yaml` cannot be read: it is larger than"),
    ],
)
def test_a_manifest_that_cannot_help_says_why(tmp_path: Path, text: str | None, message: str):
    """It is absent, broken, stale or huge."""
    if text is not None:
        (tmp_path / "crd.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(NoAnswerError) as found:
        find(tmp_path, "crd.yaml", [Place("crd.yaml", "v1", ("properties", "a"), 1, 2)])
    assert str(found.value).startswith(message)


def test_a_place_is_found_by_version(tmp_path: Path):
    """Not by its number in the list."""
    first = VERSIONS.replace("[", "[{name: v0}, ")
    (tmp_path / "crd.yaml").write_text(first, encoding="utf-8")
    place = Place("crd.yaml", "v1", ("properties", "a"), 1, 2)
    assert find(tmp_path, "crd.yaml", [place]) == [(0, first.index("a: {}"))]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'error: no such option' >&2; exit 2", "the pykb of the project does not answer: error: no such option"),
        ("echo '{}'", "the pykb of the project does not answer: it gave no answer"),
        ("sleep 60", "the CRD cannot be made: did not end within 0.2 s"),
    ],
)
def test_a_program_that_does_not_answer_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
):
    """The pykb of the project is too old, or hangs."""
    if "sleep" in script:  # the others would fail on a busy machine
        monkeypatch.setattr(_kinds, "_LIMITS", Limits(seconds=0.2, size=1000))
    with pytest.raises(NoAnswerError) as found:
        ask(("sh", "-c", script), tmp_path, path=FILE, text="", line=1)
    assert str(found.value) == message
