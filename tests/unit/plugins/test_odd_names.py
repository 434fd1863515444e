"""Names that are legal and odd make projects as good as any: in order for every tool that reads them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from pykb.commands.options import NewApi, NewProject, NewWebhook
from pykb.plugins import Style
from tests.unit.plugins.conftest import Grow, pykb

BIN = Path(sys.executable).parent
LONGEST_NAME = "m" * 27
LONGEST_KIND = "K" + "i" * 60
DEEP = "l" * 55 + "." + "g" * 55


def hooks(group: str, version: str, *names: str, **options: object) -> list[NewWebhook]:
    """Webhooks of both kinds of admission for each name."""
    whole = {"defaulting": True, "validation": True, **options}
    return [replace(NewWebhook(group, version, name), **whole) for name in names]  # type: ignore[arg-type]


def kinds(group: str, version: str, *names: str, **options: object) -> list[NewApi]:
    """One API for each name."""
    return [replace(NewApi(group, version, name), **options) for name in names]  # type: ignore[arg-type]


LONG_PATHS = {"defaulting_path": "/" + "d" * 253, "validation_path": "/" + "v" * 253}
HANDLERS = {"style": Style.HANDLERS}
BUILTIN = {"resource": False}

PROJECTS: dict[str, tuple[NewProject, list[NewApi | NewWebhook]]] = {
    "acronyms, digits, one letter, the longest": (
        NewProject("x.io", "a-b1", license="none"),
        [
            *kinds("g", "v1", "VM", "HTTPRoute", "IPv6Pool", "X", "Foo2Bar", "S3", LONGEST_KIND, "Zz"),
            *kinds("g", "v1", "HDD", **HANDLERS),
            *kinds("g", "v1alpha1", "VM", "Foo2Bar", controller=False),
            *kinds("g", "v2beta10", "VM", controller=False),
            *hooks("g", "v1", "VM", "HTTPRoute", "X", "S3", LONGEST_KIND),
            *hooks("g", "v1", "VM", defaulting=False, validation=False, conversion=True),
            *hooks("g", "v1alpha1", "VM", validation=False),
            *hooks("g", "v1", "Foo2Bar", conversion=True),
            *hooks("core", "v1", "Pod", defaulting_path="/a/b-c.d", validation_path="/" + "p" * 60),
        ],
    ),
    "words of Python, of YAML, of pytest and of pykb": (
        NewProject("my-company.example.com", "words", owner="O'Brien & Söhne", multigroup=True),
        [
            *kinds("null", "v1", "Type", "List", "Object", "Any", "Self", "Yes", "Null", "Y", "No", "Off"),
            *kinds("yes.and-no", "v1", "Test", "TestRun", "TestCase", "Pytest", "Yaml", "Sample", "Literal"),
            *kinds("class", "v1", "Import", "Class", "Api", "Controller", "Group", "Pykb", "Status", "Spec"),
            *kinds("class", "v1", "Lambda", "Kopf", "Body", **HANDLERS),
            *kinds("test", "v1", "Machine", "Self"),
            *kinds("machine", "v1", "Machine", plural="machinery"),
            *kinds("machine", "v2", "Machine", plural="machinery", controller=False),
            *kinds("machine", "v1", "Machine", controller_name="a-1-very-special-one", resource=False),
            *hooks("null", "v1", "Type", "List", "Object", "Any", "Self", "Yes", "Null", "Y"),
            *hooks("yes.and-no", "v1", "Test", "TestCase", "Pytest", "Yaml", "Sample", "Literal"),
            *hooks("class", "v1", "Import", "Class", "Lambda", "Kopf"),
            *hooks("machine", "v2", "Machine", conversion=True),
            *hooks("test", "v1", "Machine", "Self"),
            *hooks("machine", "v1", "Machine"),
        ],
    ),
    "longest names in one namespace, types of others": (
        NewProject("d" * 60 + ".example", LONGEST_NAME, namespaced=True, multigroup=True),
        [
            *kinds(DEEP, "v1alpha10", LONGEST_KIND, plural="p" * 63),
            *kinds(DEEP, "v1alpha10", "Cluster"),
            *kinds(DEEP, "v1alpha10", "Handled" + "d" * 50, **HANDLERS),
            *kinds("scope", "v1", "Wide", namespaced=False),
            *kinds("apps", "v1", "Deployment", **BUILTIN),
            *kinds("core", "v1", "Pod", **BUILTIN, **HANDLERS),
            *kinds("networking", "v1", "Ingress", **BUILTIN, controller_name="routes"),
            *kinds(DEEP, "v1", LONGEST_KIND, plural="p" * 63, controller=False),
            *hooks(DEEP, "v1alpha10", LONGEST_KIND, **LONG_PATHS, conversion=True),
            *hooks(DEEP, "v1alpha10", "Cluster"),
            *hooks("scope", "v1", "Wide"),
            *hooks("networking", "v1", "Ingress"),
            *hooks("apps", "v1", "DaemonSet", validation=False),
        ],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def projects(grow: Grow) -> dict[str, Path]:
    """The projects, grown and generated."""
    grown = {name: grow(options, *apis) for name, (options, apis) in PROJECTS.items()}
    for root in grown.values():
        pykb(root, "generate")
    return grown


def run(root: Path, *command: str | Path, environment: dict[str, str] | None = None) -> str:
    """Run a tool in a project; what it finds fails the test."""
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def documents(root: Path) -> Iterator[tuple[Path, dict[str, object]]]:
    """Each object of each YAML file of `config`."""
    for path in sorted(root.glob("config/**/*.yaml")):
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if isinstance(document, dict):  # a JSON patch is a list
                yield path, document


@pytest.mark.parametrize("name", PROJECTS)
def test_the_projects_own_linter_and_formatter_change_nothing(projects: dict[str, Path], name: str) -> None:
    """`ruff` finds nothing and formats nothing, by the project's own rules."""
    run(projects[name], BIN / "ruff", "check", "--no-cache", ".")
    run(projects[name], BIN / "ruff", "format", "--no-cache", "--check", "--diff", ".")


def test_the_types_are_right(projects: dict[str, Path], mypy_cache: Path) -> None:
    """`mypy --strict`, by the projects' own rules, finds nothing in their packages and tests; all in one run, for speed."""
    roots = list(projects.values())
    environment = {**os.environ, "MYPYPATH": ":".join(map(str, [*roots, Path.cwd()]))}
    files: list[Path] = []
    for root in roots:
        own = [
            p
            for p in sorted((root / "tests").rglob("*.py"))
            if root == roots[0] or {"controllers", "webhooks", "api"} & set(p.parts)
        ]
        files += [*own, *sorted((root / root.name.replace("-", "_")).rglob("*.py"))]
    options = ("--config-file", "pyproject.toml", "--cache-dir", mypy_cache)
    run(roots[0], BIN / "mypy", *options, *files, environment=environment)


@pytest.mark.parametrize("name", PROJECTS)
def test_every_module_can_be_imported(projects: dict[str, Path], name: str) -> None:
    """The manager takes every controller, and pytest takes no kind for a test, though it be called so."""
    plain = ("-q", "-p", "no:cacheprovider", "--assert=plain")  # to rewrite hundreds of assertions takes seconds
    run(projects[name], BIN / "pytest", *plain, "-k", "every_controller_registers", "tests")


@pytest.mark.parametrize("name", PROJECTS)
def test_yaml_reads_every_name_as_text(projects: dict[str, Path], name: str) -> None:
    """Kinds, groups, names and labels are strings, whatever words they are."""
    for path, document in documents(projects[name]):
        for key in ("apiVersion", "kind"):
            assert isinstance(document.get(key, ""), str), path
        metadata = document.get("metadata", {})
        assert isinstance(metadata, dict)
        labels = metadata.get("labels", {})
        assert all(isinstance(value, str) for value in [metadata.get("name", ""), *labels.values()]), path
        rules = document.get("rules", [])
        assert isinstance(rules, list)
        for rule in rules:
            assert all(isinstance(value, str) for values in rule.values() for value in values), path


@pytest.mark.apiserver
@pytest.mark.parametrize("name", PROJECTS)
def test_kustomize_builds_the_operator_and_the_samples(projects: dict[str, Path], name: str) -> None:
    """Every CRD, every role and every sample is in what kustomize makes; no two have one name."""
    kustomize = shutil.which("kustomize")
    command = [kustomize, "build"] if kustomize else [str(kubectl()), "kustomize"]
    objects = list(yaml.safe_load_all(run(projects[name], *command, "config/default")))
    names = [(each["kind"], each["metadata"]["name"]) for each in objects]
    assert len(set(names)) == len(names)
    _, additions = PROJECTS[name]
    apis = [each for each in additions if isinstance(each, NewApi)]
    made = {(api.group, api.kind) for api in apis if api.resource}
    assert sum(kind == "CustomResourceDefinition" for kind, _ in names) == len(made)
    samples = list(yaml.safe_load_all(run(projects[name], *command, "config/samples")))
    assert sorted(each["kind"] for each in samples) == sorted(api.kind for api in apis if api.resource)


def kubectl() -> Path:
    """The kubectl of pykb's own control plane."""
    from pykb.envtest import get_assets

    found = get_assets(kubectl=True).kubectl
    assert found is not None
    return found
