"""Finds stale files: those generated for kinds and markers that do not exist any more. Never a user's own file.

A CRD is removed. Roles and webhook configurations are emptied and stay, since kustomizations and bindings name them,
and a cluster keeps the old objects until new ones are applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pykb._regular_file import read_bytes
from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.generate import KIND_GONE, MARKERS_GONE
from pykb.gen._webhook import FILE_NAME
from pykb.gen.emit.yaml import dump_document
from pykb.gen.options import GenerateOptions
from pykb.gen.output import OutputRules
from pykb.gen.run import GenerateResult
from pykb.meta.gvk import GroupKind
from pykb.project import FILE_NAME as PROJECT
from pykb.project.settings import config_folder
from pykb.reading import mapping

if TYPE_CHECKING:
    from pykb.project.file import Project

_LISTS = {
    "ClusterRole": "rules",
    "Role": "rules",
    "MutatingWebhookConfiguration": "webhooks",
    "ValidatingWebhookConfiguration": "webhooks",
}
_EFFECTS = {"rbac": "its roles allow nothing", "webhook": "it lists no webhook"}
_NAME = re.compile(r"(?P<group>[a-z0-9.-]+)_(?P<plural>[a-z0-9-]+)\.yaml")


def stale_files(
    root: Path, options: GenerateOptions, rules: OutputRules, result: GenerateResult, diagnostics: Diagnostics
) -> dict[str, str | None]:
    """The stale files of a run over the whole project, with their new texts; ``None`` for a file to remove.

    Args:
        root: The project.
        options: The options of the run.
        rules: Where files go. Printed or discarded output has no stale files.
        result: The result of the run.
        diagnostics: Gets what is lost with the files.
    """
    own = {name for name in result.artifacts if name not in rules.printed | rules.discarded}
    found: dict[str, str | None] = {}
    if "crd" in own:
        names = [artifact.path for artifact in result.artifacts["crd"]]
        gone = stale_crds(root, rules.folders["crd"], names, lambda: result.groups | _project(root).groups)
        diagnostics.extend(_gone(root, path) for path in gone)
        found |= dict.fromkeys(gone)
    for generator, name in (("rbac", options.rbac_file_name), ("webhook", FILE_NAME)):
        if generator in own and not result.artifacts[generator]:
            path = f"{rules.folders[generator].rstrip('/')}/{name}"
            text = emptied(root, path)
            if text is not None:
                diagnostics.add(_emptied(generator, path))
                found[path] = text
    return found


def _project(root: Path) -> Project:
    from pykb.project.file import read

    return read(root)[0]


def emptied(root: Path, path: str) -> str | None:
    """A manifest of roles or webhooks, emptied. ``None`` when a generator did not write all of it."""
    text = _text(root / path)
    header, *bodies = re.split(r"^---\n", text, flags=re.MULTILINE)
    documents = [_generated(body) for body in bodies]
    kept = [document for document in documents if document is not None]
    if not kept or len(kept) < len(documents):
        return None
    after = header + "".join(f"---\n{dump_document(document)}" for document in kept)
    return after if after != text else None


def _text(path: Path) -> str:
    """The text of a file; empty when it does not exist or is a link, since no generator makes links."""
    try:
        return "" if path.is_symlink() else read_bytes(path).decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _generated(body: str) -> dict[str, object] | None:
    """A generated document, emptied."""
    import yaml

    from pykb.gen.manifest import load_manifest

    try:
        document = load_manifest(body)
    except yaml.YAMLError:
        return None
    if not isinstance(document, dict) or dump_document(document) != body:
        return None
    key = _LISTS.get(str(document.get("kind")), "")
    metadata = document.get("metadata")
    if set(document) != {"apiVersion", "kind", "metadata", key} or not isinstance(metadata, dict):
        return None
    return {**document, key: []} if set(metadata) <= {"name", "namespace"} else None


def _emptied(generator: str, path: str) -> Diagnostic:
    return MARKERS_GONE.at(
        Span(path, 1, 1),
        f"no file has a `+kubebuilder:{generator}` marker any more, so `{path}` is emptied: {_EFFECTS[generator]}",
        "restore the markers",
        "or keep the file unchanged: `--no-prune`",
        notes="a cluster keeps the previous version until you apply this one: `make deploy`",
    )


def _gone(root: Path, path: str) -> Diagnostic:
    from pykb.gen.manifest import load_manifest

    document = load_manifest(_text(root / path).rpartition("---\n")[2])
    spec = mapping(document).get("spec")
    names, group = (spec["names"], str(spec["group"])) if isinstance(spec, dict) else ({}, "")
    kind, plural = str(names.get("kind")), str(names.get("plural"))
    users = ", ".join(f"`{user}`" for user in _users(root, path, group, kind, plural))
    return KIND_GONE.at(
        None,
        f"no class defines the kind `{kind}` of `{group}` any more, so `{path}` is removed",
        f"to keep the kind: class {kind}(CustomResource, group_version=GROUP_VERSION)",
        "a kind cannot be renamed: for a new one, `pykb create api`; then remove the old one from the files above",
        "to keep the file: `--no-prune`",
        notes=(
            "if the CRD is deleted from a cluster, all objects of its kind are deleted as well",
            f"still named in {users}" if users else "",
        ),
    )


def _users(root: Path, own: str, group: str, kind: str, plural: str) -> Iterator[str]:
    """The files of the project that name a kind, besides its CRD."""
    if GroupKind(group, kind) in _project(root).kinds:
        yield PROJECT
    word = re.compile(rf"(?<![A-Za-z0-9-])(?:{re.escape(kind)}|{re.escape(plural)})(?![A-Za-z0-9-])")
    for path in sorted((root / config_folder(root)).rglob("*.yaml")):
        shown = path.relative_to(root).as_posix()
        text = _text(path)
        if shown != own and group in text and word.search(text):
            yield shown


def stale_crds(root: Path, folder: str, kept: Iterable[str], groups: Callable[[], frozenset[str]]) -> list[str]:
    """Files to remove from the directory of CRDs, by their paths.

    A file is stale when all of this holds: no kind generates it any more; it is named ``<group>_<plural>.yaml`` for the
    CRD in it; the group is one of the project's; and every byte of the document is as a generator writes it. A file
    that somebody wrote or edited by hand stays. A link also stays, since no generator makes links.

    Args:
        root: The project.
        folder: Where CRDs are, relative to it.
        kept: The names of the files that this run writes.
        groups: Gives the API groups of the project. Called only when there are other files.
    """
    names = frozenset(kept)
    others = [path for path in sorted((root / folder).glob("*.yaml")) if path.name not in names]
    own = groups() if others else frozenset()
    found: list[str] = []
    for path in others:
        match = _NAME.fullmatch(path.name)
        if match is None or match["group"] not in own or not path.is_file():
            continue
        if _is_generated(_text(path), match["group"], match["plural"]):
            found.append(f"{folder.rstrip('/')}/{path.name}")
    return found


def _is_generated(text: str, group: str, plural: str) -> bool:
    import yaml

    from pykb.gen.manifest import load_manifest

    _, marker, body = text.rpartition("---\n")
    try:
        document = load_manifest(body)
    except yaml.YAMLError:
        return False
    if not marker or not isinstance(document, dict) or document.get("kind") != "CustomResourceDefinition":
        return False
    spec = document.get("spec")
    if not isinstance(spec, dict) or spec.get("group") != group:
        return False
    names = spec.get("names")
    return isinstance(names, dict) and names.get("plural") == plural and dump_document(document) == body
