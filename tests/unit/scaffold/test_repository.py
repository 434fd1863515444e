"""What the repository says of itself: addresses, workflows, and what the package index shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from hack.screencast import IMAGES, RECORDINGS, as_svg, from_asciicast
from pykb.cli.app import root as command_line
from pykb.envtest.cache import KUBERNETES

ROOT = Path(__file__).parents[3]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]
ADDRESS = PROJECT["urls"]["Repository"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("*.cff"), *(ROOT / ".github").rglob("*.yml"), ROOT / "pyproject.toml"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_each_address_of_the_repository_leads_somewhere(page: Path) -> None:
    """All are those of pyproject.toml, so that a move is one replacement; a path in them is a file here."""
    owner = ADDRESS.removeprefix("https://github.com/")
    text = page.read_text(encoding="utf-8")
    here = re.findall(r"https://(?:github|raw\.githubusercontent)\.com/([\w-]+/[\w-]*pykb[\w-]*)", text)
    assert set(here) <= {owner}
    places = rf"{ADDRESS}/(?:blob|tree)/main|https://raw\.githubusercontent\.com/{owner}/main"
    for path in re.findall(rf"(?:{places})/([^\s)\"'#>\]\\]+)", text):
        assert (ROOT / path).exists(), path


def test_the_readme_works_on_the_package_index() -> None:
    """It has no copy of the repository beside it: the build makes every link and image absolute."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(rf"^\[[\w-]+\]: {ADDRESS}/blob", text, re.MULTILINE) == [], "a relative link works here, too"
    for substitution in SETTINGS["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    defined = dict(re.findall(r"^\[([\w-]+)\]: (\S+)$", text, re.MULTILINE))
    assert set(re.findall(r"\]\[([\w-]+)\]", text)) == set(defined)
    targets = [*defined.values(), *re.findall(r"\]\(([^)\s]+)", text)]
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    for path in re.findall(r"(?:/blob|githubusercontent\.com/[\w-]+/\w+)/main/([^\s)#]+)", text):
        assert (ROOT / path).exists(), path


def test_the_tested_pythons_are_those_that_the_package_claims() -> None:
    """A classifier is a promise. A Python that is only tried needs none."""
    claimed = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
    assert claimed <= set(workflow["jobs"]["test"]["strategy"]["matrix"]["python"])


def test_the_page_of_supported_versions_is_that_of_the_nightly_tests() -> None:
    """The same versions of Kubernetes, the default among them, and the bounds of pyproject.toml."""
    page = (ROOT / "docs/reference/supported-versions.md").read_text(encoding="utf-8")
    jobs = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8"))["jobs"]
    servers = re.findall(r"^\| (1\.\d+\.\d+) \| \d+ \|", page, re.MULTILINE)
    assert servers[0] == KUBERNETES
    assert {version.rpartition(".")[0] for version in servers} == set(
        jobs["kubernetes"]["strategy"]["matrix"]["kubernetes"]
    )
    rows = dict(re.findall(r"^\| ([A-Za-z][\w-]+) \| ([\d.]+) \|", page, re.MULTILINE))
    required = [
        *PROJECT["dependencies"],
        *PROJECT["optional-dependencies"]["cli"][:1],
        f"python{PROJECT['requires-python']}",
    ]
    bounds = dict(re.match(r"([\w-]+)>=([\d.]+)", each).groups() for each in required)
    assert {name.lower() for name in rows} == set(bounds)
    for name, oldest in rows.items():
        assert f"{oldest}.".startswith(f"{bounds[name.lower()]}."), name


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_few_rights_and_pinned_actions(path: Path) -> None:
    """No permission by default, a commit for each action with its version beside it, no input in a script."""
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    for line in re.findall(r"^.*\buses: .*$", text, re.MULTILINE):
        assert re.search(r"uses: [\w/.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line), line
    for job in workflow["jobs"].values():
        assert "permissions" in job
        assert job["timeout-minutes"] <= 60
        for step in job["steps"]:
            assert "${{" not in step.get("run", ""), "pass it by `env`: its text would be a part of the script"
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False


def test_a_release_is_built_with_pinned_packages_only() -> None:
    """Whatever else runs, runs in jobs that cannot change the files. Nothing is attested before all of them passed."""
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    assert [step["run"] for step in jobs["build"]["steps"] if step.get("run", "").startswith("make")] == ["make dist"]
    others = {name for name, job in jobs.items() if job.get("needs") == "build"}
    assert others == {"sbom", "try"}
    assert set(jobs["attest"]["needs"]) == others


def test_the_targets_that_workflows_and_pages_name_exist() -> None:
    """`make X` is a target of the Makefile."""
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    known = set(re.findall(r"^  \x1b\[36m(\S+)", done.stdout, re.MULTILINE))
    for path in [*WORKFLOWS, ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "AGENTS.md"]:
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"(?:`|run: |^    |^ +)make ([a-z][a-z-]*)", text, re.MULTILINE))
        of_projects = {"install", "docker-build", "dev"}  # the README also shows a project's own
        assert named - of_projects <= known, path


def test_what_agents_are_sent_to_exists() -> None:
    """Each path and module in AGENTS.md."""
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    paths = [*re.findall(r"`((?:pykb|hack|tests|docs)/[\w/.]+)`", text), *re.findall(r"\]\((\S+)\)", text)]
    modules = [name.replace(".", "/") for name in re.findall(r"-m (hack\.\w+)", text)]
    assert len(paths) > 4
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert [name for name in modules if not ((ROOT / name).is_dir() or (ROOT / f"{name}.py").exists())] == []


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recording_shows_commands_that_exist_and_nothing_of_a_machine(name: str) -> None:
    """Its words are commands and options of today. It has no folder, port or time of the machine that recorded it."""
    cast, title = from_asciicast((IMAGES / f"{name}.cast").read_text(encoding="utf-8"))
    text = "\n".join(re.sub(r"\x1b\[[0-9;]*m", "", line) for _, line in cast)
    assert not re.search(r"/(?:tmp|home|root|usr|work)/|\b\d+(?:\.\d+)? ?(?:ms|s|seconds)\b", text)
    commands = re.findall(r"^\$ pykb (.+?)(?: &)?$", text, re.MULTILINE)
    assert commands
    for words in map(shlex.split, commands):
        command = command_line()
        while hasattr(command, "get_command") and words and not words[0].startswith("-"):
            command = command.get_command(None, words.pop(0))
            assert command is not None, text
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= known
    picture = (IMAGES / f"{name}.svg").read_text(encoding="utf-8")
    assert picture == as_svg(cast, title)
    assert len(picture) < 200_000


@pytest.mark.parametrize("path", sorted(IMAGES.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_is_drawn_without_anything_else(path: Path) -> None:
    """Well-formed, with a title for those who do not see it, no script and nothing from elsewhere."""
    text = path.read_text(encoding="utf-8")
    tree = ET.fromstring(text)
    assert tree.find("{http://www.w3.org/2000/svg}title") is not None
    assert not re.search(r"<script|<foreignObject|href=|@import|url\((?!#)", text)
