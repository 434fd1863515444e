"""Records what plugins scaffold for a request, without planning it: files, and lines in files that are shared.

The records of what a project keeps and of what it loses tell what a deletion removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pykb.python_source.layout import WIDTH
from pykb.scaffold.insert import Fragment
from pykb.scaffold.kustomization import Member
from pykb.scaffold.plan import OnExists, PlanBuilder


@dataclass(slots=True)
class Scaffold:
    """What requests scaffold.

    Attributes:
        files: Each file with the contents that it may have. Options that PROJECT does not record lead to several.
        shared: The files that several commands share.
        fragments: The lines at anchors, by file.
        members: The members of kustomizations' lists, by file.
    """

    files: dict[str, list[bytes]] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    fragments: dict[tuple[str, Fragment], None] = field(default_factory=dict)
    members: dict[tuple[str, Member], None] = field(default_factory=dict)

    def add(self, other: Scaffold) -> None:
        """Add what another request scaffolds."""
        for path, contents in other.files.items():
            known = self.files.setdefault(path, [])
            known += [content for content in contents if content not in known]
        self.shared |= other.shared
        self.fragments |= other.fragments
        self.members |= other.members

    def without(self, kept: Scaffold) -> Scaffold:
        """What only this scaffolds."""
        return Scaffold(
            files={path: contents for path, contents in self.files.items() if path not in kept.files},
            shared=self.shared - set(kept.files),
            fragments={each: None for each in self.fragments if each not in kept.fragments},
            members=dict.fromkeys(_without(self.members, kept.members)),
        )


class Recorder(PlanBuilder):
    """Records in place of planning. It reads the files of the project, and what it has recorded itself.

    Args:
        root: The project.
        places: Where files are now that are to be read from another path.
    """

    def __init__(self, root: Path, places: Mapping[str, str] | None = None) -> None:
        super().__init__(root)
        self._places = places or {}
        self._files: dict[str, bytes] = {}
        self._rest = Scaffold()

    @property
    def scaffold(self) -> Scaffold:
        """What was recorded."""
        files = {path: [content] for path, content in self._files.items()}
        return Scaffold(files, self._rest.shared, self._rest.fragments, self._rest.members)

    def current(self, path: str) -> bytes | None:
        """The recorded content of a file, or its content in the project."""
        return self._files[path] if path in self._files else super().current(self._places.get(path, path))

    def create(self, path: str, content: bytes, *, on_exists: OnExists = OnExists.REFUSE, mode: int = 0o644) -> None:
        """Record a file."""
        del mode
        if path not in self._files or on_exists is OnExists.OVERWRITE:
            self._files[path] = content

    def once(self, path: str, content: Callable[[], bytes]) -> None:
        """Record a file that several commands share."""
        self._rest.shared.add(path)
        self._files.setdefault(path, content())

    def insert(self, path: str, *fragments: Fragment, width: int = WIDTH) -> None:
        """Record fragments."""
        del width
        self._rest.fragments |= {(path, fragment): None for fragment in fragments}

    def extend(self, path: str, *members: Member) -> None:
        """Record members."""
        self._rest.members |= {(path, member): None for member in members}

    def update(self, path: str, content: bytes | None) -> None:
        """Record the change of a recorded file. Other files stay as they are."""
        if path in self._files and content is not None:
            self._files[path] = content


def _without(members: Iterable[tuple[str, Member]], kept: Iterable[tuple[str, Member]]) -> Iterable[tuple[str, Member]]:
    """The members that are not kept. Of a replacement, the targets that are not kept."""
    remaining: dict[str, list[Member]] = {}
    for path, member in kept:
        remaining.setdefault(path, []).append(member)
    for path, member in members:
        rest = member.without(remaining.get(path, ()))
        if rest is not None:
            yield path, rest
