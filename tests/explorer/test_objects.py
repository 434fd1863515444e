"""Objects of other kinds in the samples and fixtures of a project are there when the operator starts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pykb.diagnostics import EnvironmentProblem
from pykb.explore import Explorer, Subject, subject_of

APP = Path(__file__).parents[2] / "testdata" / "app"
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: pull}\ndata: {token: aGF5}\n"
TICKET = "apiVersion: fair.example.com/v1\nkind: Ticket\nmetadata: {name: one}\n"
DEFINITION = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: tickets.fair.example.com}
spec:
  group: fair.example.com
  names: {kind: Ticket, plural: tickets, singular: ticket, listKind: TicketList}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
"""


@pytest.fixture
def root(tmp_path) -> Path:
    """A copy of the sample App."""
    folder = tmp_path / "app"
    shutil.copytree(APP, folder, ignore=shutil.ignore_patterns(".venv", ".pykb", "__pycache__"))
    (folder / "tests" / "fixtures").mkdir(exist_ok=True)
    return folder


def subject(root: Path, *objects: str) -> Subject:
    """The project, with files that the settings name."""
    if objects:
        file = root / "pyproject.toml"
        file.write_text(f"{file.read_text()}\n[tool.pykb.explore]\nobjects = {list(objects)}\n", encoding="utf-8")
    return subject_of(root, package="app_operator")


def write(root: Path, name: str, text: str) -> None:
    """Write a file."""
    (root / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize("place", ["config/samples/secret.yaml", "tests/fixtures/secret.yml"])
def test_an_object_of_kubernetes_is_there(root, place):
    """In the namespace of the samples."""
    write(root, place, SECRET)
    [secret] = subject(root).background
    assert secret["metadata"] == {"name": "pull", "namespace": "default"}
    report = Explorer(subject(root), only=["explore-leak"]).run()
    report.check()
    assert not report.notes()


def test_the_namespace_of_the_samples_is_there_as_it_is_written(root):
    """Samples are explored in the default one, so this is it."""
    sample = root / "config/samples/appcontroller_v1_app.yaml"
    sample.write_text(sample.read_text().replace("metadata:", "metadata:\n  namespace: shop", 1), encoding="utf-8")
    write(
        root,
        "tests/fixtures/shop.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {team: red}}\n",
    )
    found = subject(root)
    [namespace] = found.background
    assert namespace["metadata"] == {"name": "default", "labels": {"team": "red"}}
    report = Explorer(found, only=["explore-leak"]).run()
    report.check()
    assert not report.notes()


def test_objects_of_other_projects_come_with_their_definition(root):
    """In whatever order."""
    write(root, "tests/fixtures/a.yaml", f"{TICKET}---\n{DEFINITION}")
    found = subject(root)
    assert [each["kind"] for each in found.background] == ["Ticket"]
    assert found.crds[-1]["metadata"]["name"] == "tickets.fair.example.com"
    Explorer(found, only=["explore-leak"]).run().check()


def test_own_kinds_in_fixtures_are_not_there_unless_they_are_named(root):
    """A test may want a wrong one."""
    [sample] = root.glob("config/samples/app*.yaml")
    write(root, "tests/fixtures/other.yaml", sample.read_text().replace("name: app-sample", "name: other"))
    assert [each["metadata"]["name"] for each in subject(root).neighbours] == ["app-sample"]
    named = subject(root, "tests/fixtures/other.yaml").neighbours
    assert [each["metadata"]["name"] for each in named] == ["app-sample", "other"]


WRONG = [
    (SECRET.replace("Secret", "Secrt"), "no definition of v1 Secrt is known", "did you mean `Secret`?"),
    (TICKET, "no definition of fair.example.com/v1 Ticket is known", "CustomResourceDefinition"),
    (SECRET.replace("{name: pull}", "{}"), "has no `metadata.name`", "give it a name"),
    (SECRET.replace("{token: aGF5}", "3"), "v1 Secret pull is not valid: data: ", "correct it"),
]


@pytest.mark.parametrize(("text", "message", "remedy"), WRONG)
def test_an_object_that_cannot_be_there_is_said(root, text, message, remedy):
    """As a note, with its place. If a setting names its file, as an error."""
    write(root, "tests/fixtures/a.yaml", text)
    [note] = subject(root).notes
    assert note.code.slug == "explore-left-out"
    with pytest.raises(EnvironmentProblem) as caught:
        subject(root, "tests/fixtures/a.yaml")
    for found in (note, caught.value.diagnostic):
        assert message in found.message
        assert remedy in "".join(found.help)
        assert (found.span.path, found.span.line) == ("tests/fixtures/a.yaml", 1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tests/fixtures/secrets.yaml", "`objects` names `tests/fixtures/secrets.yaml`, which is no file"),
        ("../secret.yaml", "`objects` names no file of the project: "),
        ("/etc/passwd", "`objects` names no file of the project: "),
    ],
)
def test_a_file_that_is_not_there_is_one_message(root, name, message):
    """At the line of the settings."""
    write(root, "tests/fixtures/secret.yaml", SECRET)
    with pytest.raises(EnvironmentProblem) as caught:
        subject(root, name)
    found = caught.value.diagnostic
    assert found.message.startswith(message)
    assert found.span.path == "pyproject.toml"
    assert "objects" in (root / "pyproject.toml").read_text().splitlines()[found.span.line - 1]


def test_a_fixture_that_is_no_yaml_is_for_others(root):
    """Tests have such files on purpose. One that a setting names must be right."""
    write(root, "tests/fixtures/a.yaml", "a: [b")
    assert not subject(root).notes
    with pytest.raises(EnvironmentProblem, match="is not YAML"):
        subject(root, "tests/fixtures/a.yaml")
