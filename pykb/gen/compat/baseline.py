"""The definitions to compare with: those of the last commit, those of a revision, or the files on disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pykb.files.plan import Change
from pykb.tools.git import Commit, has_repository

EXAMPLE = "An example field, to be replaced by what "
"""The start of the description of the field that `pykb create api` writes. A kind that still has it
is not in use yet.
"""

_KIND = "\nkind: CustomResourceDefinition"

Documents = Mapping[str, Mapping[str, Any]]


def replaced(root: Path, changes: Iterable[Change]) -> Documents:
    """The definitions that a run replaces. Removed definitions are reported elsewhere.

    In a Git repository they are those of the last commit: a kind that was never committed may change freely, and so may
    a committed kind between two commits. Outside of a repository they are the files on disk.
    """
    needed = [change for change in changes if change.after and _KIND in _text(change)]
    if not needed:
        return {}
    texts: Iterable[str | None] = map(_text, needed)
    if has_repository(root):
        head = Commit.find(root, "HEAD")
        texts = (None if head is None else head.read(change.path) for change in needed)
    return _definitions(text for text in texts if text and EXAMPLE not in text)


def _text(change: Change) -> str:
    return (change.snapshot.content or b"").decode("utf-8", "replace")


def of_commit(commit: Commit, folder: str, groups: frozenset[str]) -> Documents:
    """The definitions of some groups in a commit."""
    names = [name for name in commit.files(folder) if name.endswith(".yaml")]
    found = _definitions(commit.read(f"{folder}/{name}") or "" for name in names)
    return {name: each for name, each in found.items() if each["spec"]["group"] in groups}


def _definitions(texts: Iterable[str]) -> Documents:
    import yaml

    from pykb.gen.manifest import load_manifest

    found: dict[str, Mapping[str, Any]] = {}
    for text in texts:
        try:
            document: Any = load_manifest(text)
        except yaml.YAMLError:
            continue  # not written by a generator
        if _is_definition(document):
            found[document["metadata"]["name"]] = document
    return found


def _is_definition(document: Any) -> bool:
    """Whether a document has the fields that are compared."""
    try:
        spec = document["spec"]
        named = [document["metadata"]["name"], spec["group"], spec["names"]["kind"]]
        return document["kind"] == "CustomResourceDefinition" and all(
            isinstance(text, str) for text in (*named, *(version["name"] for version in spec["versions"]))
        )
    except (TypeError, KeyError):
        return False
