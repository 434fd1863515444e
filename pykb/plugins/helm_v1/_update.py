"""Puts a chart into the plan. Values are merged with the user's."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from pykb.files.plan import digest
from pykb.plugins.helm_v1.chart import ONCE
from pykb.plugins.written import Record, WrittenFiles
from pykb.reading import yaml_text
from pykb.scaffold.plan import PlanBuilder

VALUES = "values.yaml"


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


class ChartFiles(WrittenFiles):
    """The files of a chart, below a folder of the project."""

    def __init__(self, folder: str, plan: PlanBuilder, force: bool) -> None:
        super().__init__(folder, plan, force, ONCE)

    def put_chart(self, files: Mapping[str, str], values: str) -> None:
        """Write a chart, or bring one up to date."""
        last = self.last
        self.put_files(files, last, keep=frozenset({VALUES}))
        self._put_values(values, last)
        self.remember({**files, VALUES: values}, last, yaml_text.load(values))

    def _put_values(self, values: str, last: Record) -> None:
        path = f"{self.folder}/{VALUES}"
        text = self.plan.text(path)
        if text is None or digest(text.encode()) == last.files.get(VALUES):
            self.plan.update(path, values.encode())
            return
        try:
            self.plan.update(path, merged(text, last.values, values).encode())
        except (yaml.YAMLError, YAMLError):
            self.report(VALUES)
