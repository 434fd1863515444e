"""PROJECT: kubebuilder's version 3, round trip with comments and unknown keys, mistakes with their place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.meta.gvk import GroupKind
from pykb.project import Certificates
from pykb.project.file import Project, check, load, read
from pykb.project.resource import Operand, Resource, Webhooks, merge
from pykb.project.writer import new_project, with_certificates, with_resource, without_resource

MACHINE = Resource("infra", "example.com", "v1", "Machine", "machines", path="app.api.v1", api=True, controller=True)
DISK = Resource("infra", "example.com", "v1", "Disk", "disks", path="app.api.v1", api=True)

BY_HAND = """\
# our project
version: "3"            # do not touch
projectName: app
repo: app
domain: example.com
layout:
  - python.pykb.dev/v1
x-team: storage         # unknown to pykb
resources:
  - kind: Machine       # the first
    group: infra
    domain: example.com
    version: v1
    path: app.api.v1
    api:
      crdVersion: v1
      namespaced: true
      x-note: kept
    webhooks:
      validation: true
      webhookVersion: v1
"""


def new() -> Project:
    """A project as `init` makes it."""
    return new_project(
        domain="example.com",
        project_name="app",
        package="app",
        layout=["python.pykb.dev/v1"],
        multigroup=True,
        namespaced=False,
        cli_version="1.2.3",
    )


def grown(*resources: Resource) -> Project:
    """Such a project with these entries."""
    project = new()
    for resource in resources:
        project = with_resource(project, resource)
    return project


def test_a_new_file_has_kubebuilders_keys_in_alphabetical_order() -> None:
    """Tools that read PROJECT find what they know; keys that say nothing are left out."""
    text = with_resource(new(), MACHINE).text
    document = yaml.safe_load(text)
    assert list(document) == sorted(document)
    assert document == {
        "cliVersion": "1.2.3",
        "domain": "example.com",
        "layout": ["python.pykb.dev/v1"],
        "multigroup": True,
        "projectName": "app",
        "repo": "app",
        "resources": [
            {
                "api": {"crdVersion": "v1", "namespaced": True},
                "controller": True,
                "domain": "example.com",
                "group": "infra",
                "kind": "Machine",
                "path": "app.api.v1",
                "version": "v1",
            }
        ],
        "version": "3",
    }
    assert 'version: "3"\n' in text


def test_what_is_written_is_read_back() -> None:
    """A file means the same after it was written and read."""
    odd = Resource("", "example.com", "v1beta1", "Box", "boxen", path="app.api.v1beta1", namespaced=False, api=True)
    core = Resource("core", "", "v1", "Pod", "pods", path="pykb.api.core.v1", core=True, controllers=("a", "b"))
    project = grown(MACHINE, odd, core)
    assert project.resources == (MACHINE, odd, core)
    assert project.multigroup


def test_comments_unknown_keys_and_the_order_of_a_person_are_kept() -> None:
    """A change adds its lines and touches no other."""
    project, found = load(BY_HAND)
    assert not found
    old = project.find(MACHINE)
    assert old is not None
    assert with_resource(project, old).text == BY_HAND
    changed = with_resource(with_resource(project, merge(old, MACHINE)), DISK).text
    lines = iter(changed.splitlines())
    assert all(line in lines for line in BY_HAND.splitlines()), "every old line is still there, in order"
    assert "    controller: true\n" in changed
    assert "  - api:\n      crdVersion: v1\n" in changed, "the list stays indented as it was"


def test_lines_end_as_they_did() -> None:
    """A file of Windows stays one, comments and new lines alike."""
    project, found = load(BY_HAND.replace("\n", "\r\n"))
    assert not found
    text = with_resource(project, DISK).text
    assert text.count("\r\n") == text.count("\n") > BY_HAND.count("\n")
    assert "\r\r" not in text


def test_the_layout_may_be_one_text() -> None:
    """Kubebuilder's older files have a text where newer ones have a list."""
    project, found = load('version: "3"\nprojectName: a\nlayout: go.kubebuilder.io/v3\n')
    assert not found
    assert project.layout == ("go.kubebuilder.io/v3",)


@pytest.mark.parametrize(
    ("text", "slug", "line", "column"),
    [
        ("a: [\n", "project-syntax", 2, 1),
        ("- x\n", "project-syntax", 1, 1),
        ("", "project-syntax", 1, 1),
        ("projectName: a\nversion: 2\n", "project-version", 2, 10),
        ("projectName: a\n", "project-version", 1, 1),
        ('version: "3"\n', "project-field", 1, 1),
        ('version: "3"\nprojectName: [a]\n', "project-field", 2, 14),
        ('version: "3"\nprojectName: a\nmultigroup: maybe\n', "project-field", 3, 13),
        ('version: "3"\nprojectName: a\nlayout: {}\n', "project-field", 3, 9),
        ('version: "3"\nprojectName: a\nresources: 3\n', "project-field", 3, 12),
        ('version: "3"\nprojectName: a\nresources:\n- version: v1\n', "project-field", 4, 3),
        ('version: "3"\nprojectName: a\nresources:\n- x\n', "project-field", 4, 3),
        ('version: "3"\nprojectName: a\nresources:\n- {kind: A, version: v1, api: 3}\n', "project-field", 4, 33),
        (
            'version: "3"\nprojectName: a\nresources:\n- {kind: A, version: v1, controllers: [x]}\n',
            "project-field",
            4,
            41,
        ),
    ],
)
def test_mistakes_are_reported_at_their_place(text: str, slug: str, line: int, column: int) -> None:
    """Wrong YAML, wrong version, values of the wrong type: each at the text to change."""
    _, found = load(text)
    assert found.has_errors()
    (finding,) = list(found)[:1]
    assert finding.span is not None
    assert (finding.code.slug, finding.span.line) == (slug, line)
    if slug == "project-field":
        assert finding.span.column in {column, column - 1, column - 2}


def test_the_span_of_a_resource_is_where_it_stands() -> None:
    """Findings about a resource point at its kind."""
    project, _ = load(BY_HAND)
    span = project.span(MACHINE)
    assert BY_HAND.splitlines()[span.line - 1][span.column - 1 : span.end_column - 1] == "Machine"


@pytest.mark.parametrize(
    ("old", "new", "controller", "names"),
    [
        ((False, ()), (True, ()), True, ()),
        ((True, ()), (False, ("cleaner",)), False, ("machine", "cleaner")),
        ((False, ()), (False, ("cleaner",)), False, ("cleaner",)),
        ((False, ("a",)), (False, ("b",)), False, ("a", "b")),
        ((False, ("a",)), (True, ()), False, ("a", "machine")),
        ((False, ("a",)), (False, ("a",)), False, ("a",)),
        ((True, ()), (True, ()), True, ()),
    ],
)
def test_controllers_are_merged_as_kubebuilder_does(
    old: tuple[bool, tuple[str, ...]], new: tuple[bool, tuple[str, ...]], *, controller: bool, names: tuple[str, ...]
) -> None:
    """One unnamed controller is a flag; with a second, both have names."""
    base = {"group": "infra", "domain": "e.com", "version": "v1", "kind": "Machine", "plural": "machines"}
    merged = merge(
        Resource(**base, controller=old[0], controllers=old[1]),
        Resource(**base, controller=new[0], controllers=new[1]),
    )
    assert (merged.controller, merged.controllers) == (controller, names)


def test_merging_keeps_what_either_had() -> None:
    """A controller added to an API leaves the API, and the other way round."""
    base = {"group": "infra", "domain": "e.com", "version": "v1", "kind": "Machine", "plural": "machines"}
    api = Resource(**base, api=True, namespaced=False, path="app.api.v1")
    controller = Resource(**base, controller=True)
    assert merge(api, controller) == merge(controller, api)
    assert merge(api, controller).namespaced is False


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ("domain: example.com\nlayout", "domain: Example_com\nlayout", "domain"),
        ("projectName: app", "projectName: ../app", "projectName"),
        *[("repo: app", f"repo: {name}", "repo") for name in ("../app", "a/b", "class", "a b", "a.b")],
        ("group: infra", "group: ../infra", "group"),
        ("version: v1", "version: one", "version"),
        ("kind: Machine", "kind: machine/x", "kind"),
        ("path: app.api.v1", "path: ../../api", "path"),
        ("    api:", "    plural: ../x\n    api:", "plural"),
    ],
)
def test_names_that_no_command_would_write_are_findings(old: str, new: str, key: str) -> None:
    """They become paths, code and manifests; the finding stands at the value."""
    project, found = load(BY_HAND.replace(old, new))
    assert not found
    (finding,) = check(project)
    assert finding.message.startswith(f"`{key}` must be ")
    assert finding.span is not None
    assert new.strip().splitlines()[0] in BY_HAND.replace(old, new).splitlines()[finding.span.line - 1]


def test_names_that_commands_write_are_no_findings() -> None:
    """Own kinds, kinds of Kubernetes and of other packages."""
    issuer = Resource("certs", "example.io", "v1", "Issuer", "issuers", path="certs.api.v1", external=True)
    pod = Resource("", "", "v1", "Pod", "pods", path="pykb.api.core.v1", core=True)
    assert list(check(grown(MACHINE, issuer, pod))) == []


WEBHOOKS = """\
version: "3"
projectName: sealvm
domain: sealyun.com
layout:
- python.pykb.dev/v1
resources:
- group: infra
  domain: sealyun.com
  kind: Machine
  version: v1
  webhooks:
    webhookVersion: v1 # kubebuilder's order
    defaulting: true
    defaultingPath: /mine
    conversion: true
    spoke:
    - v1beta1
    matchPolicy: Exact
"""


def test_webhooks_are_read_and_kept() -> None:
    """Every key, in any order; what is not known stays."""
    file, found = load(WEBHOOKS)
    assert not found
    (machine,) = file.resources
    assert machine.webhooks == Webhooks(defaulting=True, conversion=True, spoke=("v1beta1",), defaulting_path="/mine")
    assert with_resource(file, machine).text == WEBHOOKS
    more = merge(machine, replace(machine, webhooks=Webhooks(validation=True, conversion=True, spoke=("v1alpha1",))))
    text = with_resource(file, more).text
    assert yaml.safe_load(text)["resources"][0]["webhooks"] == {
        "webhookVersion": "v1",
        "conversion": True,
        "defaulting": True,
        "defaultingPath": "/mine",
        "spoke": ["v1beta1", "v1alpha1"],
        "validation": True,
        "matchPolicy": "Exact",
    }
    assert "# kubebuilder's order" in text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("defaulting: true", "defaulting: maybe"),
        ("    spoke:\n    - v1beta1\n", "    spoke: v1beta1\n"),
        ("    - v1beta1", "    - ../v1"),
        ("/mine", "mine"),
        ("/mine", "/Mine"),
    ],
)
def test_webhooks_that_no_command_would_have_written_are_refused(old: str, new: str) -> None:
    """They become paths and code."""
    assert old in WEBHOOKS
    file, found = load(WEBHOOKS.replace(old, new))
    problems = list(found) or list(check(file))
    assert [d.code.slug for d in problems] == ["project-field"]
    assert problems[0].span is not None


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_the_issuer_of_certificates_is_a_setting_of_a_plugin(newline: str) -> None:
    """Where kubebuilder keeps such settings; those of other plugins, comments and the rest of the file stay."""
    other = "plugins: # ours\n  helm.example.com/v1:\n    chart: dist\n"
    for text in (BY_HAND, BY_HAND + other, BY_HAND + "plugins:\n  kustomize.common.pykb.dev/v1:\n"):
        before, found = load(text.replace("\n", newline))
        assert (list(found), before.certificates) == ([], None)
        after = with_certificates(before, Certificates.BUILT_IN)
        assert after.certificates is Certificates.BUILT_IN
        settings = yaml.safe_load(after.text)["plugins"]
        assert settings.pop("kustomize.common.pykb.dev/v1") == {"certificates": "built-in"}
        assert settings == ({"helm.example.com/v1": {"chart": "dist"}} if text.endswith(other) else {})
        kept = [line for line in BY_HAND.replace("\n", newline).splitlines(keepends=True) if line in after.text]
        assert "".join(kept) == BY_HAND.replace("\n", newline)


def test_what_a_kind_deploys_is_a_setting_of_a_plugin() -> None:
    """With kubebuilder's keys. It changes and goes with the entry of its kind; other settings and comments stay."""
    operand = Operand("memcached:1.6", ("memcached", "-v"), 11211, 1001)
    other = replace(MACHINE, kind="Disk", operand=Operand("123"))
    project = with_certificates(grown(replace(MACHINE, operand=operand), other), Certificates.BUILT_IN)
    project, _ = load(project.text.replace("    - domain", "    # ours\n    - domain", 1))
    assert [each.operand for each in project.resources] == [operand, other.operand]
    (entry, _) = yaml.safe_load(project.text)["plugins"]["deploy-image.pykb.dev/v1"]["resources"]
    assert entry == {
        "domain": "example.com",
        "group": "infra",
        "kind": "Machine",
        "options": {
            "containerCommand": "memcached,-v",
            "containerPort": "11211",
            "image": "memcached:1.6",
            "runAsUser": "1001",
        },
        "version": "v1",
    }
    assert with_resource(project, project.resources[0]).text == project.text
    changed = with_resource(project, replace(MACHINE, operand=Operand("memcached:2")))
    assert [each.operand for each in changed.resources] == [Operand("memcached:2"), other.operand]
    assert "# ours" in changed.text
    gone = without_resource(without_resource(changed, MACHINE), other)
    assert list(yaml.safe_load(gone.text)["plugins"]) == ["kustomize.common.pykb.dev/v1"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("memcached:1.6", "Memcached:1.6"),
        ('"11211"', "port"),
        ('"11211"', '"99999999999"'),
        ("      options:", "      settings:"),
        ("        image: memcached:1.6\n", ""),
    ],
)
def test_an_image_that_no_command_would_have_written_is_refused(old: str, new: str) -> None:
    """It becomes code and manifests."""
    text = grown(replace(MACHINE, operand=Operand("memcached:1.6", port=11211))).text
    assert old in text
    file, found = load(text.replace(old, new))
    problems = list(found) or list(check(file))
    assert [d.code.slug for d in problems] == ["project-field"]
    assert problems[0].span is not None


@pytest.mark.parametrize(
    "value", ["helm", "{kustomize.common.pykb.dev/v1: built-in}", "{kustomize.common.pykb.dev/v1: {certificates: x}}"]
)
def test_a_setting_that_no_command_would_have_written_is_a_finding(value: str) -> None:
    """At its place."""
    project, found = load(f"{BY_HAND}plugins: {value}\n")
    (finding,) = found
    assert (finding.code.slug, project.certificates) == ("project-field", None)
    assert finding.span is not None
    assert finding.span.line == len(BY_HAND.splitlines()) + 1


@pytest.mark.parametrize(
    "word", ["on", "no", "y", "null", "true", "1e3", "0x1f", "0o7", "0b1", "010", "2001-01-01", "12"]
)
def test_every_word_that_is_a_name_stays_one(word: str) -> None:
    """Also those that are something else in YAML, of one version or another."""
    resource = replace(MACHINE, group=word, version="v1", path="")
    project, found = load(grown(resource).text)
    assert (list(found), project.resources) == ([], (resource,))
    assert project.groups == {f"{word}.example.com"}


WITH_WEBHOOK = "resources:\n- {group: infra, domain: example.com, kind: A, webhooks: {conversion: true}}\n"


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        (WITH_WEBHOOK, {GroupKind("infra.example.com", "A")}),
        ("resources: [{group: 5, kind: A, webhooks: {conversion: true}}]", {GroupKind("5", "A")}),
        ("resources: [{group: no, kind: A, webhooks: {conversion: true}}]", {GroupKind("no", "A")}),
        ("resources: [conversion, {kind: A, webhooks: {conversion: true}}]", {GroupKind("", "A")}),
        ("resources: 5 # conversion", set()),
        ("resources: conversion", set()),
        ("[conversion]", set()),
    ],
)
def test_what_is_wrong_hides_nothing_else(text: str, kinds: set[GroupKind]) -> None:
    """Who only reads goes by what can be read; each of these is refused where the project is to grow."""
    project, found = load(text)
    assert found.has_errors()
    assert project.converted_kinds == project.kinds == kinds
    assert project.groups == {kind.group for kind in kinds}


def test_a_file_that_cannot_be_written_back_is_refused() -> None:
    """A key that stands twice is read, but nobody knows which of them to change."""
    project, found = load(BY_HAND.replace("repo: app\n", "repo: other\nrepo: app\n"))
    assert not found
    with pytest.raises(EnvironmentProblem, match="duplicate") as refused:
        with_resource(project, MACHINE)
    assert refused.value.diagnostic.span is not None
    assert refused.value.diagnostic.span.line == 5


def test_an_empty_file_is_a_mistake_and_a_missing_one_is_not(tmp_path: Path) -> None:
    """A program that was killed may leave an empty file; there is nothing to add an entry to."""
    assert not read(tmp_path)[1]
    (tmp_path / "PROJECT").write_bytes(b"")
    assert [finding.code.slug for finding in read(tmp_path)[1]] == ["project-syntax"]
