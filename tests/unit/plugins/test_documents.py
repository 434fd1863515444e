"""What a generated project says of itself is true: its README, AGENTS.md, Makefile and workflows."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from pykb.commands.options import NewApi, NewProject
from tests.unit.plugins.conftest import Grow, kubectl, pykb, run


@pytest.fixture(scope="module")
def root(grow: Grow) -> Path:
    """A project with one kind."""
    return grow(NewProject("example.com", "harbour"), NewApi("fleet", "v1", "Ship"))


def targets(root: Path) -> dict[str, str]:
    """The Makefile's documented targets, and what `make help` says of each."""
    done = subprocess.run(["make", "help"], cwd=root, capture_output=True, text=True, check=True)
    return dict(re.findall(r"^  \x1b\[36m(\S+) *\x1b\[0m (.+)$", done.stdout, re.MULTILINE))


KUBEBUILDERS = (
    *("all", "help", "manifests", "generate", "fmt", "lint", "lint-fix", "test", "test-e2e", "setup-test-e2e"),
    *("cleanup-test-e2e", "run", "docker-build", "docker-push", "docker-buildx", "build-installer"),
    *("install", "uninstall", "deploy", "undeploy"),
)


def test_the_makefile_has_kubebuilders_targets_and_explains_all(root: Path) -> None:
    """Whoever knows a kubebuilder project finds what they type; every target that is no file has its line of help."""
    text = (root / "Makefile").read_text(encoding="utf-8")
    documented = targets(root)
    assert documented.keys() >= set(KUBEBUILDERS)
    (phony,) = re.findall(r"^\.PHONY: ((?:.*\\\n)*.*)$", text, re.MULTILINE)
    checks = {"need-container-tool", "need-kind"}  # of other targets, not to be typed
    assert set(phony.replace("\\", " ").split()) - checks == documented.keys()


@pytest.mark.parametrize("page", ["README.md", "AGENTS.md", ".github/workflows/*.yml"])
def test_every_target_that_a_page_names_exists(root: Path, page: str) -> None:
    """`make X` is a target, in prose, in code and in workflows."""
    known = targets(root)
    for path in root.glob(page):
        text = path.read_text(encoding="utf-8")
        commands = re.findall(r"(?:^|`|: |\" )make((?: [a-z0-9-]+)+)", text, re.MULTILINE)
        named = {word for command in commands for word in command.split()}
        assert named or page != ".github/workflows/*.yml"
        assert named <= known.keys(), path


@pytest.mark.parametrize("page", ["README.md", "AGENTS.md"])
def test_every_path_that_a_page_names_exists(root: Path, page: str) -> None:
    """Files and folders in code style are there, or are what a target writes."""
    text = (root / page).read_text(encoding="utf-8")
    made = {
        "dist/install.yaml",
        ".venv",
        ".venv/bin/pykb",
        "config/webhook/manifests.yaml",
        "harbour/webhooks/",
        "config/crd/bases/",
        "crd/bases",
    }
    paths = set(re.findall(r"`([\w.*-]*/[\w./*-]*)`", text)) - made
    assert paths
    for path in paths:
        assert any(root.glob(path.rstrip("/"))) or any((root / "config").glob(path.rstrip("/"))), path


def test_every_pykb_command_that_a_page_names_works(root: Path) -> None:
    """The README's `pykb create api`, with names filled in, is accepted."""
    text = (root / "README.md").read_text(encoding="utf-8")
    commands = re.findall(r"^pykb ([^#\n]+)", text, re.MULTILINE)
    assert commands
    for command in commands:
        words = command.replace("GROUP", "fleet").replace("KIND", "Pier").split()
        pykb(root, *words, "--dry-run")


def test_workflows_are_workflows(root: Path) -> None:
    """Each has a trigger, no permission that it does not name, and jobs of known actions and commands."""
    for path in root.glob(".github/workflows/*.yml"):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {}
        assert {"push", "pull_request"} <= workflow[True].keys()  # YAML 1.1 reads `on` so; GitHub does not
        for job in workflow["jobs"].values():
            assert job["permissions"] == {"contents": "read"}
            for step in job["steps"]:
                assert ("uses" in step) != ("run" in step)
                assert "run" in step or re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", step["uses"])


def test_the_development_container_is_json_with_names_that_exist(root: Path) -> None:
    """Its command is a target, and its paths are those of the environment. The end-to-end test has what it has in CI."""
    text = (root / ".devcontainer/devcontainer.json").read_text(encoding="utf-8")
    container = json.loads(text)
    assert container["name"] == "harbour"
    kind, target = container["postCreateCommand"].split(" && make ")
    assert target in targets(root)
    assert kind in (root / ".github/workflows/test-e2e.yml").read_text(encoding="utf-8")
    features = {name.rpartition("/")[2].partition(":")[0] for name in container["features"]}
    assert features == {"docker-in-docker", "go", "kubectl-helm-minikube"}
    assert set(re.findall(r"\}/(\.[\w/]+)", text)) == {".venv/bin", ".venv/bin/python"}


def test_the_image_is_made_of_all_code_and_nothing_else(root: Path) -> None:
    """.dockerignore lets in what the Dockerfile copies: the package as a whole, since some builders skip parts of it."""
    rules = [line for line in (root / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    assert rules[0] == "**"
    assert "!harbour" in rules
    copied = re.findall(r"^COPY (?!--)(.+) \S+$", (root / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    sources = {re.sub(r"\[(.)\]", r"\1", source).rstrip("/") for line in copied for source in line.split()}
    assert sources == {rule[1:] for rule in rules if rule[0] == "!"}


@pytest.mark.apiserver
def test_what_is_commented_out_in_config_can_be_switched_on(root: Path) -> None:
    """ServiceMonitor, NetworkPolicy, a certificate of one's own, and replicas: kustomize builds all of them together."""
    pykb(root, "edit", "--replicas", "2", "--no-make")
    pykb(root, "generate")
    for folder in ("default", "prometheus"):
        path = root / "config" / folder / "kustomization.yaml"
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"^#(?=- |  |patches:|components:)", "", text, flags=re.MULTILINE), encoding="utf-8")
    objects = {each["kind"]: each for each in yaml.safe_load_all(run(root, kubectl(), "kustomize", "config/default"))}
    assert {"ServiceMonitor", "NetworkPolicy", "PodDisruptionBudget"} <= objects.keys()
    assert objects["Deployment"]["spec"]["replicas"] == 2
    template = objects["Deployment"]["spec"]["template"]
    selector = objects["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]
    assert selector.items() <= template["metadata"]["labels"].items()
    (spread,) = template["spec"]["topologySpreadConstraints"]
    assert spread["labelSelector"]["matchLabels"] == selector
    assert objects["ServiceMonitor"]["spec"]["endpoints"][0]["tlsConfig"]["insecureSkipVerify"] is False
    pod = objects["Deployment"]["spec"]["template"]["spec"]
    assert [volume["name"] for volume in pod["volumes"]] == ["metrics-certs"]
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == {"metrics-certs"}
    assert any(argument.startswith("--metrics-cert-path=") for argument in container["args"])
