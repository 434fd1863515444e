"""Where CRDs come from: files, folders, standard input, a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.importer import SOURCE_BROKEN, SOURCE_MISSING
from pykb.gen.manifest import ManifestLoader
from pykb.tools.kubectl import Kubectl

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
CLUSTER = "cluster://"
_MOST_VALUES = 5_000_000  # the largest CRDs have some 100,000


@dataclass(frozen=True, slots=True)
class Document:
    """One document, and where it begins."""

    content: object
    origin: str
    line: int = 1

    @property
    def span(self) -> Span:
        """Its first line."""
        return Span(self.origin, self.line, 1)


def read_sources(
    sources: Iterable[str], *, stdin: str, kubectl: Kubectl | None, diagnostics: Diagnostics
) -> list[Document]:
    """All documents of all sources.

    Args:
        sources: Paths, ``-``, ``cluster://NAME``.
        stdin: What ``-`` stands for.
        kubectl: The way to the cluster, when a source names it.
        diagnostics: Gets what cannot be read.

    Raises:
        EnvironmentProblem: The cluster cannot be reached.
    """
    found: list[Document] = []
    for source in sources:
        if source == "-":
            found += _documents(stdin, "<stdin>", diagnostics)
        elif source.startswith(CLUSTER):
            if kubectl is not None:
                found += _from_cluster(source.removeprefix(CLUSTER).strip("/"), kubectl, diagnostics)
        else:
            found += _from_path(Path(source), diagnostics)
    return found


def parse(text: str, origin: str, diagnostics: Diagnostics) -> list[Document]:
    """The documents of a YAML stream; empty ones are left out."""
    documents: list[Document] = []
    loader = ManifestLoader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            content = loader.construct_document(node) if node is not None else None
            if _size(content, {}) > _MOST_VALUES:
                diagnostics.add(SOURCE_BROKEN.at(Span(origin, 1, 1), f"`{origin}` repeats itself to no end by aliases"))
            elif node is not None and content is not None:
                documents.append(Document(content, origin, node.start_mark.line + 1))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        span = Span(origin, mark.line + 1, mark.column + 1) if mark else Span(origin, 1, 1)
        problem = getattr(error, "problem", None) or str(error).partition("\n")[0]
        diagnostics.add(SOURCE_BROKEN.at(span, f"`{origin}` is no YAML: {problem}"))
    except (ValueError, TypeError) as error:  # a key that is no scalar, a date that is none
        diagnostics.add(SOURCE_BROKEN.at(Span(origin, 1, 1), f"`{origin}` is no YAML: {error}"))
    except RecursionError:
        diagnostics.add(SOURCE_BROKEN.at(Span(origin, 1, 1), f"`{origin}` is nested too deeply to be a manifest"))
    finally:
        loader.dispose()
    return documents


def _size(value: object, known: dict[int, int]) -> int:
    """How many values there are with all aliases written out."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = 1 + sum(
            _size(item, known) for item in (value.values() if isinstance(value, dict) else value)
        )
    return known[id(value)]


def _from_path(path: Path, diagnostics: Diagnostics) -> list[Document]:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES and p.is_file())
        if not files:
            diagnostics.add(SOURCE_MISSING.at(None, f"the folder `{path}` has no YAML and no JSON files"))
        documents = [document for file in files for document in _read(file, diagnostics)]
        # A folder of manifests has other objects, too; they are none of ours.
        crds = list(_with_crds(documents))
        return crds or documents
    return _read(path, diagnostics)


def _with_crds(documents: Iterable[Document]) -> Iterator[Document]:
    for document in documents:
        kind = document.content.get("kind") if isinstance(document.content, dict) else None
        if kind == "CustomResourceDefinition" or str(kind or "").endswith("List"):
            yield document


def _read(path: Path, diagnostics: Diagnostics) -> list[Document]:
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        diagnostics.add(
            SOURCE_MISSING.at(
                None,
                f"`{path}` cannot be read: {(error.strerror or 'unknown reason').lower()}",
                help=("pykb import crd FILE|FOLDER|-|cluster://NAME --output DIR",),
            ),
        )
        return []
    except UnicodeDecodeError as error:
        diagnostics.add(SOURCE_BROKEN.at(Span(path.as_posix(), 1, 1), f"`{path}` is no UTF-8 text: {error.reason}"))
        return []
    return _documents(text, path.as_posix(), diagnostics)


def _documents(text: str, origin: str, diagnostics: Diagnostics) -> list[Document]:
    """The documents of a source that must have some."""
    own = Diagnostics()
    documents = parse(text, origin, own)
    if not documents and not own.has_errors:
        own.add(SOURCE_BROKEN.at(Span(origin, 1, 1), f"`{origin}` is empty"))
    diagnostics.extend(own)
    return documents


def _from_cluster(name: str, kubectl: Kubectl, diagnostics: Diagnostics) -> list[Document]:
    """CRDs that the cluster has: one by its name, all of a group, or all."""
    documents = parse(kubectl("get", "customresourcedefinitions", "--output=json"), f"{CLUSTER}{name}", diagnostics)
    items = [item for d in documents if isinstance(d.content, dict) for item in d.content.get("items") or []]
    wanted = [
        Document(item, f"{CLUSTER}{item['metadata']['name']}")
        for item in items
        if not name or name in (item["metadata"]["name"], item["spec"]["group"])
    ]
    if not wanted:
        groups = sorted({item["spec"]["group"] for item in items})
        diagnostics.add(
            SOURCE_MISSING.at(
                None,
                f"the cluster has no CRD and no group of CRDs called `{name}`" if name else "the cluster has no CRDs",
                help=tuple(f"pykb import crd {CLUSTER}{group} --output DIR" for group in groups[:5]),
            ),
        )
    return wanted
