"""A generated file as data, before it is rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pykb.gen.emit.yaml import dump_document


@dataclass(frozen=True, slots=True)
class Artifact:
    """A generated file.

    Attributes:
        path: Where it goes, relative to the output directory of its generator, with forward slashes.
        documents: The YAML documents in order, as plain data.
        header: Text written before the first document (a licence); ends with a line break unless empty.
    """

    path: str
    documents: tuple[Mapping[str, object], ...]
    header: str = ""

    def render(self) -> str:
        """The file's text: the header, then each document after its ``---``."""
        return self.header + "".join("---\n" + dump_document(document) for document in self.documents)
