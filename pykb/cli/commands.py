"""The table of commands, and the text of ``pykb --help``.

Imports neither typer nor any command, so that help and the completion of names start as fast as
Python. Each command is a function in a module that :mod:`pykb.cli.app` imports when the
command line names it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Command(NamedTuple):
    """One command: its words, its function, and one line of help."""

    words: str
    target: str  # "module:function"
    summary: str


SECTIONS: dict[str, tuple[Command, ...]] = {
    "Start and change a project": (
        Command("init", "pykb.cli.init:init", "start a project in this directory"),
        Command("create api", "pykb.cli.create:api", "add a kind: types, controller, sample, roles, tests"),
        Command("create webhook", "pykb.cli.create:webhook", "add defaulting, validation, conversion to a kind"),
        Command("edit", "pykb.cli.init:edit", "change options of `init`, add plugins (a Helm chart)"),
        Command("update", "pykb.cli.init:update", "bring a project to what this version scaffolds"),
        Command("delete api", "pykb.cli.delete:api", "delete what `create api` made"),
        Command("delete webhook", "pykb.cli.delete:webhook", "delete what `create webhook` made"),
    ),
    "Generate manifests": (
        Command("generate", "pykb.cli.generate:generate", "write CRDs, RBAC and webhook manifests from the code"),
        Command("generate docs", "pykb.cli.generate:docs", "write an API reference from the types"),
        Command("lsp", "pykb.cli.lsp:lsp", "run the language server: markers in your editor"),
    ),
    "Use types of other projects": (
        Command(
            "import crd",
            "pykb.cli.import_crd:crd",
            "generate typed Python classes from CRDs: files, folders, a cluster",
        ),
    ),
    "Run and try": (
        Command("dev", "pykb.cli.dev:dev", "run control plane, CRDs and manager, and follow code changes"),
        Command("inspect", "pykb.cli.inspect:inspect", "show what a manager in a cluster does, or a recording"),
        Command("explore", "pykb.cli.explore:explore", "look for faults of the operator, without a cluster"),
        Command("run", "pykb.cli.deploy:run", "run the manager on this machine against a cluster"),
        Command("cluster up", "pykb.cli.dev:up", "start a local control plane, no Docker needed"),
        Command("cluster status", "pykb.cli.dev:status", "show whether it runs, and where"),
        Command("cluster down", "pykb.cli.dev:down", "stop it"),
        Command("envtest use", "pykb.cli.envtest:use", "download the programs of a control plane"),
        Command("envtest list", "pykb.cli.envtest:list_", "list the versions in the cache"),
        Command("envtest path", "pykb.cli.envtest:path", "print the folder of a version"),
        Command("envtest cleanup", "pykb.cli.envtest:cleanup", "delete versions from the cache"),
        Command("envtest sideload", "pykb.cli.envtest:sideload", "put an archive from stdin into the cache"),
    ),
    "Ship": (
        Command("install", "pykb.cli.deploy:install", "install the CRDs in a cluster"),
        Command("uninstall", "pykb.cli.deploy:uninstall", "delete the CRDs and the objects of their kinds"),
        Command("deploy", "pykb.cli.deploy:deploy", "deploy the operator, and say why it does not start"),
        Command("undeploy", "pykb.cli.deploy:undeploy", "delete the operator, its CRDs and their objects"),
        Command("build-installer", "pykb.cli.deploy:build_installer", "write what `deploy` applies to one file"),
    ),
    "About pykb": (
        Command(
            "explain", "pykb.cli.explain:explain", "explain a message, a marker, a page of the reference, a Python name"
        ),
        Command("completion", "pykb.cli.about:completion", "print the completion script of a shell"),
        Command("version", "pykb.cli.about:version", "print the version of pykb, Python and the platform"),
    ),
}

GROUPS: dict[str, str] = {
    "create": "Add to a project.",
    "delete": "Delete from a project.",
    "cluster": "A local control plane: etcd, kube-apiserver and kube-controller-manager.",
    "import": "Import the types of other projects.",
    "envtest": "The programs of a local control plane.",
}

GLOBAL_OPTIONS: tuple[tuple[str, str], ...] = (
    ("--format full|concise|json|github|sarif", "how findings are shown (default: full)"),
    ("--verbose", "show a traceback if pykb itself fails"),
    ("-h, --help", "help for a command"),
    ("--version", "print the version"),
)

EXAMPLES: tuple[str, ...] = (
    "pykb init --domain example.com",
    "pykb create api --group infra --version v1 --kind Machine",
    "pykb generate --check",
)


def commands() -> tuple[Command, ...]:
    """All commands in the order of the help."""
    return tuple(command for section in SECTIONS.values() for command in section)


def tree() -> dict[str, Command | dict[str, Command]]:
    """Commands by their first word. A group has its sub-commands by their second word.

    If the first word is a command itself (`generate docs`), use :func:`longer`.
    """
    found: dict[str, Command | dict[str, Command]] = {}
    for command in commands():
        first, _, second = command.words.partition(" ")
        if not second:
            found[first] = command
            continue
        group = found.setdefault(first, {})
        if isinstance(group, dict):
            group[second] = command
    return found


def longer(words: Sequence[str]) -> Command | None:
    """Find the command of two words whose first word is also a command. ``None`` if there is none.

    >>> longer(["generate", "docs", "--check"]).words, longer(["generate", "crd"]), longer(["create", "api"])
    ('generate docs', None, None)
    """
    named = " ".join(words[:2])
    beside = isinstance(tree().get(words[0]), Command) if words else False
    return next((command for command in commands() if beside and command.words == named), None)


def overview() -> str:
    """The text of ``pykb --help``."""
    width = max(len(c.words) for c in commands())
    out = ["pykb: kubebuilder for Python", "", "Usage: pykb COMMAND [OPTIONS]"]
    for title, section in SECTIONS.items():
        out += ["", f"{title}:", *(f"  {c.words:<{width}}  {c.summary}" for c in section)]
    option_width = max(len(name) for name, _ in GLOBAL_OPTIONS)
    out += ["", "Options of every command:", *(f"  {name:<{option_width}}  {text}" for name, text in GLOBAL_OPTIONS)]
    out += ["", "Examples:", *(f"  {line}" for line in EXAMPLES)]
    out += ["", "`pykb help COMMAND` shows the options of a command, `pykb help TOPIC` what `pykb explain` does."]
    return "\n".join(out) + "\n"


def print_overview() -> None:
    """Print the help of the whole command line."""
    print(overview(), end="")
