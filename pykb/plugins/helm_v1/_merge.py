"""Brings values that a user has edited up to date."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap


def merged(text: str, before: Mapping[str, Any], after: str) -> str:
    """The user's values with new keys, and with new defaults where the user kept the old ones.

    Args:
        text: The values as they are.
        before: The values that pykb wrote last.
        after: The values that pykb would write now.
    """
    yaml = YAML()
    yaml.width = 4096
    yaml.preserve_quotes = True
    current = yaml.load(text)
    if not isinstance(current, CommentedMap):
        return text
    _merge(current, before, yaml.load(after))
    stream = StringIO()
    yaml.dump(current, stream)
    return stream.getvalue()


def _merge(current: CommentedMap, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    for key in [key for key in before if key not in after and current.get(key) == before[key]]:
        del current[key]
    for key, value in after.items():
        was = before.get(key)
        if key not in current:
            if key not in before:
                current[key] = value
        elif isinstance(value, dict) and isinstance(current[key], dict) and isinstance(was, dict) and value:
            _merge(current[key], was, value)
        elif current[key] == was and value != was:
            current[key] = value
