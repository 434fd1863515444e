"""Puts a chart into the plan. What the user edited stays, and is reported if it is out of date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from pykb.diagnostics import Span
from pykb.diagnostics.codes.plugin import CHART_EDITED
from pykb.files.plan import digest
from pykb.plugins.helm_v1.chart import ONCE
from pykb.reading import read_json, yaml_text
from pykb.scaffold.plan import OnExists, PlanBuilder


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


RECORD = ".pykb.json"
VALUES = "values.yaml"


@dataclass(frozen=True, slots=True)
class Record:
    """What pykb wrote last: the hashes of the files, and the values. Tells what the user edited since."""

    files: Mapping[str, str]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, content: bytes | None) -> Record:
        """The record in a file. One of another form counts as none: then all files are the user's."""
        try:
            found = read_json(content or b"")
            files, values = found["files"], found["values"]
        except (ValueError, LookupError, TypeError):
            return cls({}, {})
        return cls(files, values) if isinstance(files, dict) and isinstance(values, dict) else cls({}, {})

    def encode(self) -> bytes:
        """The text of the file."""
        return (json.dumps({"files": self.files, "values": self.values}, indent=1, sort_keys=True) + "\n").encode()


@dataclass(frozen=True, slots=True)
class ChartFiles:
    """The files of a chart, below a folder of the project."""

    folder: str
    plan: PlanBuilder
    force: bool
    stale: set[str] = field(default_factory=set)

    def put(self, files: Mapping[str, str], values: str) -> None:
        """Write a chart, or bring one up to date."""
        path = f"{self.folder}/{RECORD}"
        last = Record.read(self.plan.current(path))
        for name, text in sorted(files.items()):
            self._put(name, text.encode(), last)
        for name in sorted(set(last.files) - set(files) - {VALUES}):
            self._remove(name, last)
        self._put_values(values, last)
        written = {**files, VALUES: values}
        hashes = {name: digest(text.encode()) for name, text in written.items() if name not in ONCE}
        hashes |= {name: last.files.get(name, "") for name in self.stale}  # they are reported again next time
        self.plan.update(path, Record(hashes, yaml_text.load(values)).encode())

    def _put(self, name: str, content: bytes, last: Record) -> None:
        path = f"{self.folder}/{name}"
        current = self.plan.current(path)
        if name in ONCE and current is not None:
            return
        if current is None and name not in last.files:
            self.plan.create(path, content)
        elif digest(current) == last.files.get(name):
            self.plan.update(path, content)
        elif self.force:
            self.plan.create(path, content, on_exists=OnExists.OVERWRITE)
        elif current != content and digest(content) != last.files.get(name):
            self._report(name)

    def _remove(self, name: str, last: Record) -> None:
        path = f"{self.folder}/{name}"
        current = self.plan.current(path)
        if current is None:
            return
        if self.force or digest(current) == last.files[name]:
            self.plan.update(path, None)
        else:
            self._report(name)

    def _put_values(self, values: str, last: Record) -> None:
        path = f"{self.folder}/{VALUES}"
        text = self.plan.text(path)
        if text is None or digest(text.encode()) == last.files.get(VALUES):
            self.plan.update(path, values.encode())
            return
        try:
            self.plan.update(path, merged(text, last.values, values).encode())
        except (yaml.YAMLError, YAMLError):
            self._report(VALUES)

    def _report(self, name: str) -> None:
        self.stale.add(name)
        path = f"{self.folder}/{name}"
        message = f"`{path}` was edited, and config/ has changed since; it stays as it is"
        helps = ("`--force --diff` shows the current version; `--force` writes it and keeps yours in `.pykb/backup`",)
        self.plan.diagnostics.add(CHART_EDITED.at(Span(path, 1, 1), message, help=helps))
