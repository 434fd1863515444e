"""Reads the samples of a project. No other module of this package reads files."""

from __future__ import annotations

import re
from pathlib import Path

_FOLDER = "config/samples"


def read_samples(root: Path) -> dict[tuple[str, str], str]:
    """The text of the first sample of each apiVersion and kind, without the comments above it.

    Files that are not YAML or not manifests are ignored.
    """
    import yaml

    from pykb.gen.manifest import load_manifest

    found: dict[tuple[str, str], str] = {}
    for path in sorted((root / _FOLDER).glob("*.yaml")):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for document in re.split(r"^---.*\n", text.replace("\r\n", "\n"), flags=re.MULTILINE):
            try:
                data = load_manifest(document)
            except yaml.YAMLError:
                continue
            if isinstance(data, dict) and isinstance(data.get("metadata"), dict):
                key = (str(data.get("apiVersion")), str(data.get("kind")))
                found.setdefault(key, _without_head(document))
    return found


def _without_head(text: str) -> str:
    lines = text.strip("\n").split("\n")
    while lines and (not lines[0].strip() or lines[0].startswith("#")):
        del lines[0]
    return "\n".join(lines).rstrip() + "\n"
