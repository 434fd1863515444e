"""docs/reference/kubebuilder.md is true: commands, options, targets and files are there, and none is left out.

Each name of pykb's Python API beside one of controller-runtime's exists.
"""

from __future__ import annotations

import inspect
import re
from fnmatch import fnmatch
from pathlib import Path

import pytest

import pykb.api
import pykb.envtest
import pykb.runtime
import pykb.runtime.fake
import pykb.runtime.webhook
import pykb.testing
import pykb.testing.plugin
from pykb.cli.commands import commands
from pykb.cli.parsing import GO_OPTIONS, PykbCommand, load
from tests.sources import files_of

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs/reference/kubebuilder.md").read_text(encoding="utf-8")
SAMPLE = ROOT / "testdata/multigroup"
REPLICAS = ROOT / "testdata/memcached"
HOW = {"same", "more", "other", "not needed", "missing", "new"}
KUBEBUILDER = {
    "edit": "--multigroup --namespaced --license --license-file --owner --force --plugins --manifests --output-dir",
    "delete": "--group --version --kind --plugins --defaulting --programmatic-validation --conversion"
    " --skip-confirmation",
    "alpha generate": "--input-dir --output-dir --skip-go-version-check",
    "alpha update": "--from-version --to-version --from-branch --output-branch --force --show-commits --restore-path"
    " --push --open-gh-issue --merge-message --conflict-message --git-config",
}
"""The options of kubebuilder's commands, with those of its plugins."""

AREAS = re.findall(r"^### (.+)$", TEXT.partition("\n## controller-runtime\n")[2], re.MULTILINE)
"""The tables beside controller-runtime."""

MODULES = (
    *(pykb.runtime, pykb.runtime.fake, pykb.runtime.webhook),
    *(pykb.api, pykb.envtest, pykb.testing, pykb.testing.plugin),
)
"""Where the names of these tables are public: the last has the fixtures."""

OF_EVERY_COMMAND = {"--help", "--format", "--verbose"}


def rows(title: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    (section,) = re.findall(rf"^##+ {title}\n(.*?)(?=^##|\Z)", TEXT, re.MULTILINE | re.DOTALL)
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def named(title: str) -> list[str]:
    """What the table names in pykb's column."""
    return [name for row in rows(title) for name in re.findall(r"`([^`]+)`", row[1])]


def options_of(words: str) -> set[str]:
    """The names of a command's options; of two opposite ones only the positive."""
    (command,) = [command for command in commands() if command.words == words]
    found = load(command, words)
    assert isinstance(found, PykbCommand)
    names = {name for parameter in found.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return {name for name in names if name.startswith("--") and not name.startswith("--no-")}


@pytest.mark.parametrize("title", re.findall(r"^##+ (.+)$", TEXT, re.MULTILINE))
def test_each_row_says_how(title: str) -> None:
    """By one of the words that the page explains; only what pykb lacks or does not need has no name in its column."""
    for theirs, ours, how, _ in rows(title):
        assert how in HOW
        assert theirs or how == "new"
        assert "`" in ours or how in {"missing", "not needed", "other"}


@pytest.mark.parametrize("title", re.findall(r"^##+ (.+)$", TEXT, re.MULTILINE))
def test_what_is_missing_has_a_reason(title: str) -> None:
    """Or a remedy. Beside controller-runtime, so has what has no counterpart at all."""
    without = {"missing", "not needed", "other"} if title in AREAS else {"missing"}
    assert [row for row in rows(title) if row[2] in without and "`" not in row[1] and not row[3]] == []


@pytest.mark.parametrize("title", AREAS)
def test_the_names_beside_controller_runtime_exist(title: str) -> None:
    """Classes, functions, attributes and parameters (`Client.list(limit)`), fixtures, and commands."""
    assert rows(title)
    made = pykb.runtime.fake.fake_client()
    objects = {"Client": made, "FakeApiServer": made.connection, "Manager": pykb.runtime.Manager(client=made)}
    for name in named(title):
        if name.startswith("pykb "):
            assert name.removeprefix("pykb ") in {command.words for command in commands()}, name
            continue
        path, _, parameter = name.removesuffix(")").partition("(")
        first, *attributes = path.split(".")
        found = next((getattr(module, first) for module in MODULES if hasattr(module, first)), None)
        assert found is not None, name
        found = objects.get(first, found) if attributes else found
        for attribute in attributes:
            assert hasattr(found, attribute), name
            found = getattr(found, attribute)
        if parameter:
            assert parameter in inspect.signature(found).parameters, name


def test_the_page_names_each_command() -> None:
    """And no other."""
    mentioned = {name.removeprefix("pykb ") for name in named("Commands") if name != "pykb --help"}
    assert mentioned == {command.words for command in commands()}
    for name in named("setup-envtest"):
        words, _, option = name.removeprefix("pykb ").partition(" --")
        assert words in {command.words for command in commands()}
        assert not option or f"--{option}" in options_of(words)


def test_the_page_has_each_option_of_kubebuilder() -> None:
    """Of the commands that do not take Go's options: no option is left out, and none is made up."""
    for title, options in KUBEBUILDER.items():
        first = [name for row in rows(f"Options of {title}") for name in re.findall(r"`(--[^`]+)`", row[0])]
        assert sorted(first) == sorted(options.split()), title


@pytest.mark.parametrize(
    ("title", "commands_of_pykb"),
    [("edit", ["edit"]), ("delete", ["delete api", "delete webhook"]), ("alpha update", ["update"])],
)
def test_the_page_names_each_option_of_these_commands(title: str, commands_of_pykb: list[str]) -> None:
    """Also those that kubebuilder does not have."""
    own = set[str]().union(*map(options_of, commands_of_pykb)) - OF_EVERY_COMMAND
    mentioned = {name for name in named(f"Options of {title}") if name.startswith("--")}
    assert mentioned == own


@pytest.mark.parametrize("words", ["init", "create api", "create webhook"])
def test_the_page_names_each_option(words: str) -> None:
    """Those of Go are accepted by each of the three commands; the page names each that kubebuilder's command has."""
    own = options_of(words)
    mentioned = set(named(f"Options of {words}"))
    assert own - OF_EVERY_COMMAND <= mentioned
    assert mentioned - own <= GO_OPTIONS.keys()


def test_the_page_names_each_target() -> None:
    """Of the Makefile of a project, and no other."""
    text = (SAMPLE / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z0-9-]+):.*?##", text, re.MULTILINE))
    assert {name.removeprefix("make ") for name in named("Makefile targets")} == targets


def test_the_page_names_each_file() -> None:
    """Of a sample with everything, and one with replicas; each name stands for a file. Imported types are apart."""
    patterns = [re.sub(r"<\w+>", "*", name) for name in named("Files")]
    files = [name for name in files_of(SAMPLE) if "/external/" not in name]
    assert [name for name in files if not any(fnmatch(name, pattern) for pattern in patterns)] == []
    files += files_of(REPLICAS)
    assert [pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in files)] == []
