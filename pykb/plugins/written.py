"""Puts files that are made of config/ into the plan. What users edited stays, and is reported if it is out of date."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pykb.diagnostics import Span
from pykb.diagnostics.codes.plugin import CHART_EDITED
from pykb.files.plan import digest
from pykb.reading import read_json
from pykb.scaffold.plan import OnExists, PlanBuilder

RECORD = ".pykb.json"


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
class WrittenFiles:
    """The files of a plugin below a folder of the project.

    Attributes:
        folder: The folder.
        plan: Takes the changes.
        force: Whether edited files are overwritten.
        once: Files that belong to the user once they exist.
        stale: Edited files that are out of date.
    """

    folder: str
    plan: PlanBuilder
    force: bool
    once: frozenset[str] = frozenset()
    stale: set[str] = field(default_factory=set)

    @property
    def last(self) -> Record:
        """What was written last."""
        return Record.read(self.plan.current(f"{self.folder}/{RECORD}"))

    def put(self, files: Mapping[str, str]) -> None:
        """Write the files, or bring them up to date."""
        self.put_files(files, self.last)
        self.remember(files, self.last, {})

    def put_files(self, files: Mapping[str, str], last: Record, *, keep: frozenset[str] = frozenset()) -> None:
        """Write files, and remove those that are no longer made, except some."""
        for name, text in sorted(files.items()):
            self._put(name, text.encode(), last)
        for name in sorted(set(last.files) - set(files) - keep):
            self._remove(name, last)

    def remember(self, written: Mapping[str, str], last: Record, values: Mapping[str, Any]) -> None:
        """Record what was written."""
        hashes = {name: digest(text.encode()) for name, text in written.items() if name not in self.once}
        hashes |= {name: last.files.get(name, "") for name in self.stale}  # they are reported again next time
        self.plan.update(f"{self.folder}/{RECORD}", Record(hashes, values).encode())

    def withdraw(self, fresh: Mapping[str, str]) -> None:
        """Remove the files. Reports those that the user edited.

        Args:
            fresh: The files that are written once, as pykb writes them.
        """
        last = self.last
        known = {name: digest(text.encode()) for name, text in fresh.items()} | dict(last.files)
        for name, written in sorted(known.items()):
            path = f"{self.folder}/{name}"
            current = self.plan.current(path)
            if current is not None:
                self.plan.update(path, None)
                if digest(current) != written:
                    self.plan.lose(path)
        self.plan.update(f"{self.folder}/{RECORD}", None)

    def _put(self, name: str, content: bytes, last: Record) -> None:
        path = f"{self.folder}/{name}"
        current = self.plan.current(path)
        if name in self.once and current is not None:
            return
        if current is None and name not in last.files:
            self.plan.create(path, content)
        elif digest(current) == last.files.get(name):
            self.plan.update(path, content)
        elif self.force:
            self.plan.create(path, content, on_exists=OnExists.OVERWRITE)
        elif current != content and digest(content) != last.files.get(name):
            self.report(name)

    def _remove(self, name: str, last: Record) -> None:
        path = f"{self.folder}/{name}"
        current = self.plan.current(path)
        if current is None:
            return
        if self.force or digest(current) == last.files[name]:
            self.plan.update(path, None)
        else:
            self.report(name)

    def report(self, name: str) -> None:
        """Say that a file was edited and is out of date."""
        self.stale.add(name)
        path = f"{self.folder}/{name}"
        message = f"`{path}` was edited, and config/ has changed since; it stays as it is"
        helps = ("`--force --diff` shows the current version; `--force` writes it and keeps yours in `.pykb/backup`",)
        self.plan.diagnostics.add(CHART_EDITED.at(Span(path, 1, 1), message, help=helps))
