"""Stale CRD files: those that a generator wrote for kinds that are gone. A user's own file is never one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from pykb.gen.emit.yaml import dump_document
from pykb.gen.output import Change, read_text

_NAME = re.compile(r"(?P<group>[a-z0-9.-]+)_(?P<plural>[a-z0-9-]+)\.yaml")


def stale_crds(root: Path, folder: str, kept: Iterable[str], groups: Callable[[], frozenset[str]]) -> list[Change]:
    """Files to remove from the directory of CRDs.

    A file is stale when all of this holds: no kind generates it any more; it is named ``<group>_<plural>.yaml`` for the
    CRD in it; the group is one of the project's; and every byte of the document is as a generator writes it, so that
    a file which somebody wrote or edited by hand stays.

    Args:
        root: The project.
        folder: Where CRDs are, relative to it.
        kept: The names of the files that this run writes.
        groups: Gives the API groups of the project; asked only when there are other files.
    """
    names = frozenset(kept)
    others = [path for path in sorted((root / folder).glob("*.yaml")) if path.name not in names]
    own = groups() if others else frozenset()
    found: list[Change] = []
    for path in others:
        match = _NAME.fullmatch(path.name)
        if match is None or match["group"] not in own or not path.is_file():
            continue
        text = read_text(path) or ""
        if _is_generated(text, match["group"], match["plural"]):
            found.append(Change(f"{folder.rstrip('/')}/{path.name}", text, None))
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
