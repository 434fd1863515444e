"""Reads CRDs from files, folders, standard input or a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.commands import SOURCE_BROKEN, SOURCE_MISSING
from pykb.gen.manifest import ManifestLoader
from pykb.reading import yaml_text
from pykb.tools.kubectl import Kubectl
from pykb.tools.process import Finished

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
CLUSTER = "cluster://"


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document, and where it begins."""

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
    """Read all documents of all sources.

    Args:
        sources: Paths, ``-``, ``cluster://NAME``.
        stdin: The content of ``-``.
        kubectl: Runs kubectl, for sources in a cluster.
        diagnostics: Gets what cannot be read.

    Raises:
        EnvironmentProblem: kubectl cannot be run.
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
    """Parse the documents of a YAML stream, without empty ones."""
    documents: list[Document] = []
    try:
        documents.extend(
            Document(found.content, origin, found.node.start_mark.line + 1)
            for found in yaml_text.documents(text, ManifestLoader)
            if found.content is not None
        )
    except yaml.MarkedYAMLError as error:
        message = f"`{origin}` {yaml_text.verdict(error)}: {error.problem}"
        diagnostics.add(SOURCE_BROKEN.at(yaml_text.place(error, origin), message))
    return documents


def _from_path(path: Path, diagnostics: Diagnostics) -> list[Document]:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES and p.is_file())
        if not files:
            diagnostics.add(SOURCE_MISSING.at(None, f"the folder `{path}` has no YAML and no JSON files"))
        documents = [document for file in files for document in _read(file, diagnostics)]
        # A folder of manifests also has other objects, which are ignored.
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
        diagnostics.add(SOURCE_BROKEN.at(Span(path.as_posix(), 1, 1), f"`{path}` is not UTF-8 text: {error.reason}"))
        return []
    return _documents(text, path.as_posix(), diagnostics)


def _documents(text: str, origin: str, diagnostics: Diagnostics) -> list[Document]:
    """Parse the documents of a source that must not be empty."""
    own = Diagnostics()
    documents = parse(text, origin, own)
    if not documents and not own.has_errors():
        own.add(SOURCE_BROKEN.at(Span(origin, 1, 1), f"`{origin}` is empty"))
    diagnostics.extend(own)
    return documents


def _from_cluster(name: str, kubectl: Kubectl, diagnostics: Diagnostics) -> list[Document]:
    """Read CRDs from the cluster: one by name, all of a group, or all."""
    answer = kubectl.attempt("get", "customresourcedefinitions", "--output=json", "--request-timeout=1m")
    if not answer.ok:
        diagnostics.add(_unanswered(name, answer, kubectl))
        return []
    documents = parse(answer.stdout, f"{CLUSTER}{name}", diagnostics)
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


def _unanswered(name: str, answer: Finished, kubectl: Kubectl) -> Diagnostic:
    """The finding for a failed kubectl: its last line, without its log of attempts."""
    said = [line.strip() for line in answer.stderr.splitlines() if line.strip()]
    reason = (
        said[-1].removeprefix("error: ").removeprefix("Error in configuration: ") if said else "kubectl gives no reason"
    )
    place = f"`{kubectl.kubeconfig}`" if kubectl.kubeconfig else "kubectl's own configuration"
    return SOURCE_MISSING.at(
        None,
        f"`{CLUSTER}{name}` cannot be read: {reason}",
        notes=(f"using the cluster of {place}" + (f", context `{kubectl.context}`" if kubectl.context else ""),),
        help=("name another with `--kubeconfig FILE` and `--context NAME`", "kubectl get customresourcedefinitions"),
    )
