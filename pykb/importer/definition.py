"""Reads CRDs from files, folders, standard input or a cluster, and checks the parts of them that an import needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pykb._regular_file import read_bytes
from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.commands import CRD_FORM, CRD_INCOMPLETE, CRD_OLD, NO_CRD, SOURCE_BROKEN, SOURCE_MISSING
from pykb.gen.checks.form import FLAG, INTEGER, SCHEMA, TEXT, TEXT_MAP, Anything, Many, Object, Text
from pykb.gen.manifest import ManifestLoader
from pykb.meta.names import is_rfc_1035_label, is_subdomain
from pykb.reading import mapping, read_json, yaml_text
from pykb.tools.kubectl import Kubectl
from pykb.tools.process import Finished

_SUFFIXES = frozenset({".yaml", ".yml", ".json"})
CLUSTER = "cluster://"


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document, and where it begins."""

    content: object
    origin: str
    node: yaml.Node | None = None

    @property
    def span(self) -> Span:
        """Its first line."""
        return self.place()

    def place(self, *path: object) -> Span:
        """The place of a value, or of the nearest value around it."""
        if self.node is None:
            return Span(self.origin, 1, 1)
        found = [self.node, *(value for _, value in yaml_text.follow(self.node, path))]
        mark = found[-1].start_mark
        return Span(self.origin, mark.line + 1, mark.column + 1 if len(found) > 1 else 1)


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
    documents: list[Document] = []
    for source in sources:
        if source == "-":
            documents += _documents(stdin, "<stdin>", diagnostics)
        elif source.startswith(CLUSTER):
            if kubectl is not None:
                documents += _from_cluster(source.removeprefix(CLUSTER).strip("/"), kubectl, diagnostics)
        else:
            documents += _from_path(Path(source), diagnostics)
    return documents


def parse(text: str, origin: str, diagnostics: Diagnostics) -> list[Document]:
    """Parse the documents of a YAML stream, without empty ones."""
    documents: list[Document] = []
    try:
        documents.extend(
            Document(each.content, origin, each.node)
            for each in yaml_text.documents(text, ManifestLoader)
            if each.content is not None
        )
    except yaml.MarkedYAMLError as error:
        message = f"`{origin}` {yaml_text.verdict(error)}: {error.problem}"
        diagnostics.report(SOURCE_BROKEN, yaml_text.place(error, origin), message)
    return documents


def _from_path(path: Path, diagnostics: Diagnostics) -> list[Document]:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES and p.is_file())
        if not files:
            diagnostics.report(SOURCE_MISSING, None, f"the folder `{path}` has no YAML and no JSON files")
        documents = [document for file in files for document in _read(file, diagnostics)]
        # A folder of manifests also has other objects, which are ignored.
        return list(filter(_may_have_crds, documents)) or documents
    return _read(path, diagnostics, is_named=True)


def _may_have_crds(document: Document) -> bool:
    kind = str(document.content.get("kind") or "") if isinstance(document.content, dict) else ""
    return kind == KIND or kind.endswith("List")


def _read(path: Path, diagnostics: Diagnostics, *, is_named: bool = False) -> list[Document]:
    try:
        text = read_bytes(path, most=yaml_text.LONGEST, anything=is_named).decode("utf-8-sig")
    except OSError as error:
        diagnostics.report(
            SOURCE_MISSING,
            None,
            f"`{path}` cannot be read: {(error.strerror or 'unknown reason').lower()}",
            "pykb import crd FILE|FOLDER|-|cluster://NAME --output DIR",
        )
        return []
    except UnicodeDecodeError as error:
        diagnostics.report(SOURCE_BROKEN, Span(path.as_posix(), 1, 1), f"`{path}` is not UTF-8 text: {error.reason}")
        return []
    return _documents(text, path.as_posix(), diagnostics)


def _documents(text: str, origin: str, diagnostics: Diagnostics) -> list[Document]:
    """Parse the documents of a source that must not be empty."""
    own = Diagnostics()
    documents = parse(text, origin, own)
    if not documents and not own.has_errors():
        own.report(SOURCE_BROKEN, Span(origin, 1, 1), f"`{origin}` is empty")
    diagnostics.extend(own)
    return documents


def _from_cluster(name: str, kubectl: Kubectl, diagnostics: Diagnostics) -> list[Document]:
    """Read CRDs from the cluster: one by name, all of a group, or all."""
    answer = kubectl.attempt("get", "customresourcedefinitions", "--output=json", "--request-timeout=1m")
    if not answer.ok:
        diagnostics.add(_unanswered(name, answer, kubectl))
        return []
    try:  # it has characters that YAML lacks, if a description has some
        items = mapping(read_json(answer.stdout)).get("items") or []
    except ValueError as error:
        diagnostics.report(SOURCE_BROKEN, None, f"`{CLUSTER}{name}`: kubectl wrote no JSON: {error}")
        return []
    wanted = [
        Document(item, f"{CLUSTER}{item['metadata']['name']}")
        for item in items
        if not name or name in (item["metadata"]["name"], item["spec"]["group"])
    ]
    if not wanted:
        groups = sorted({item["spec"]["group"] for item in items})
        diagnostics.report(
            SOURCE_MISSING,
            None,
            f"the cluster has no CRD and no group of CRDs called `{name}`" if name else "the cluster has no CRDs",
            *(f"pykb import crd {CLUSTER}{group} --output DIR" for group in groups[:5]),
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
        "name another with `--kubeconfig FILE` and `--context NAME`",
        "kubectl get customresourcedefinitions",
        notes=f"using the cluster of {place}" + (f", context `{kubectl.context}`" if kubectl.context else ""),
    )


KIND = "CustomResourceDefinition"
OF_EVERY_KIND = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": {"type": "object"}}
"""The properties that the schema of each kind has, by name."""
# Tools write these, and write them again after the import.
_TOOLS = ("controller-gen.kubebuilder.io/version", "kubectl.kubernetes.io/last-applied-configuration")
_EMPTY_IS_NOTHING = frozenset({"properties", "required", "description"})
_FLAGS = frozenset(
    [
        *("exclusiveMaximum", "exclusiveMinimum", "nullable", "uniqueItems"),
        *("x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"),
    ],
)


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a kind, as in the manifest."""

    name: str
    schema: Mapping[str, Any]
    spec: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Definition:
    """A CRD."""

    name: str
    group: str
    kind: str
    names: Mapping[str, Any]
    scope: str
    versions: tuple[Version, ...]
    origin: str
    manifest: Mapping[str, Any]
    conversion: Mapping[str, Any] | None = None
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


def find_definitions(documents: Iterable[Document], diagnostics: Diagnostics) -> list[Definition]:
    """Find the CRDs among documents, sorted by name. Reports documents without any CRD."""
    definitions: dict[str, Definition] = {}
    others: dict[str, list[str]] = {}
    seen: set[str] = set()
    for document in documents:
        for path, item in _objects(document.content):
            kind = str(item.get("kind") or "")
            if kind != KIND:
                others.setdefault(document.origin, []).append(kind or "an object without `kind`")
                continue
            seen.add(document.origin)
            made = _definition(item, document, path, diagnostics)
            if made is None:
                continue
            other = definitions.setdefault(made.name, made)
            if other is not made and other.manifest.get("spec") != made.manifest.get("spec"):
                diagnostics.report(
                    NO_CRD,
                    document.span,
                    f"`{made.name}` has two different definitions, in "
                    + " and in ".join(dict.fromkeys((f"`{other.origin}`", f"`{made.origin}`"))),
                    "give only one of the two",
                )
    for origin, kinds in others.items():
        if origin not in seen:
            shown = ", ".join(f"`{kind}`" for kind in dict.fromkeys(kinds))
            diagnostics.report(
                NO_CRD,
                Span(origin, 1, 1),
                f"expected a `{KIND}`, found {shown}",
                "kubectl get crd NAME -o yaml > FILE",
                "pykb import crd cluster://NAME",
            )
    return [definitions[name] for name in sorted(definitions)]


_Path = tuple[object, ...]


def _objects(content: object) -> list[tuple[_Path, Mapping[str, Any]]]:
    """The object of a document, or the items of a list, with their paths."""
    if not isinstance(content, Mapping):
        return [((), {})]
    items = content.get("items")
    if str(content.get("kind") or "").endswith("List") and isinstance(items, list):
        # Items in the API server's lists have no kind.
        kind = str(content["kind"]).removesuffix("List")
        own = {} if kind == "" else {"kind": kind, "apiVersion": content.get("apiVersion")}
        return [
            (("items", index), {**own, **item} if isinstance(item, Mapping) else {}) for index, item in enumerate(items)
        ]
    return [((), content)]


def _definition(
    item: Mapping[str, Any], document: Document, path: _Path, diagnostics: Diagnostics
) -> Definition | None:
    metadata, spec = mapping(item.get("metadata")), mapping(item.get("spec"))
    if problem := _problem(item, document, path):
        diagnostics.add(problem)
        return None
    names, conversion = spec["names"], mapping(spec.get("conversion"))
    group = str(spec["group"])
    return Definition(
        name=str(metadata.get("name") or "") or f"{names['plural']}.{group}",
        group=group,
        kind=str(names["kind"]),
        names=names,
        scope=str(spec.get("scope") or "Namespaced"),
        versions=tuple(Version(str(v.get("name")), cleaned(_schema(v) or {}), v) for v in spec["versions"]),
        origin=document.origin,
        manifest=item,
        conversion=conversion if conversion.get("strategy", "None") != "None" else None,
        annotations=_texts(metadata.get("annotations")),
        labels=_texts(metadata.get("labels")),
    )


def _problem(item: Mapping[str, Any], document: Document, path: _Path) -> Diagnostic | None:
    """Why a CRD cannot be imported."""
    spec = mapping(item.get("spec"))
    name = str(mapping(item.get("metadata")).get("name") or "")
    version = str(item.get("apiVersion") or "")
    if version != "apiextensions.k8s.io/v1":
        return CRD_OLD.at(
            document.place(*path, "apiVersion"),
            f"`{name or KIND}` is of `{version}`, expected `apiextensions.k8s.io/v1`",
            "import it from a cluster, which converts it to v1: `pykb import crd cluster://NAME`",
            notes="no API server since Kubernetes 1.22 reads the older form",
        )
    fault = next(DEFINITION.faults(item, ""), None)
    if fault is not None:
        place = document.place(*path, *re.findall(r"[^.\[\]]+", fault.path))
        return CRD_FORM.at(place, f"`{fault.path}` of `{name or KIND}` is invalid: {fault.message}")
    names = mapping(spec.get("names"))
    gap = next(_gaps(spec), None)
    if gap is not None:
        shown = name or names.get("kind") or KIND
        return CRD_INCOMPLETE.at(document.place(*path, "spec"), f"`{shown}` is incomplete: {gap}")
    wanted = f"{names['plural']}.{spec['group']}"
    if name and name != wanted:
        message = f"`metadata.name` of `{name}` is invalid: expected `{wanted}`, the plural and the group"
        return CRD_FORM.at(document.place(*path, "metadata", "name"), message)
    return None


def _gaps(spec: Mapping[str, Any]) -> Iterator[str]:
    """What an import needs and a CRD of the right form does not have."""
    names, versions = mapping(spec.get("names")), spec.get("versions")
    needed = {"group": spec.get("group"), "names.kind": names.get("kind"), "names.plural": names.get("plural")}
    yield from (f"`spec.{path}` is missing" for path, value in needed.items() if not value)
    if not versions:
        yield "`spec.versions` is empty"
    for version in versions or ():
        if _schema(version) is None:
            yield f"the version `{version.get('name')}` has no `schema.openAPIV3Schema`"


def _schema(version: Mapping[str, Any]) -> Mapping[str, Any] | None:
    value = mapping(version.get("schema")).get("openAPIV3Schema")
    return value if isinstance(value, Mapping) else None


def cleaned(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without null, empty and false keywords. They have no effect, and the API server drops them."""
    out: dict[str, Any] = {}
    for name, value in schema.items():
        if name == "default":
            out[name] = value
        elif value is None or (name in _EMPTY_IS_NOTHING and not value) or (name in _FLAGS and value is False):
            continue
        elif name == "properties" and isinstance(value, Mapping):
            out[name] = {str(key): cleaned(item) if isinstance(item, Mapping) else item for key, item in value.items()}
        elif name in {"items", "additionalProperties"} and isinstance(value, Mapping):
            out[name] = cleaned(value)
        else:
            out[name] = value
    return out


def _texts(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in mapping(value).items() if k not in _TOOLS}


def _one_of(*texts: str) -> Text:
    return Text(" or ".join(f"`{text}`" for text in texts if text), frozenset(texts).__contains__)


def _is_kind(text: str) -> bool:
    return text.isascii() and text.isidentifier() and is_rfc_1035_label(text.lower())


# The rules of the API server. A kind is also the name of a class here, so hyphens are not possible.
_LABEL = Text("a DNS label (lower-case letters, digits and `-`, a letter first, at most 63)", is_rfc_1035_label)
_LABEL_OR_NOTHING = Text(_LABEL.noun, lambda text: not text or is_rfc_1035_label(text))
_KIND = Text("a name in letters and digits, a letter first, at most 63", lambda text: not text or _is_kind(text))
_GROUP = Text("a domain name with a dot", lambda text: not text or (is_subdomain(text) and "." in text))
_COLUMN = Object(
    {
        **dict.fromkeys(("name", "jsonPath", "description"), TEXT),
        "type": _one_of("boolean", "date", "integer", "number", "string"),
        "format": _one_of("", "byte", "date", "date-time", "double", "float", "int32", "int64", "password"),
        "priority": INTEGER,
    },
    ("name", "type", "jsonPath"),
)
_SCALE = Object(
    dict.fromkeys(("specReplicasPath", "statusReplicasPath", "labelSelectorPath"), TEXT),
    ("specReplicasPath", "statusReplicasPath"),
)
_VERSION = Object(
    {
        "name": _LABEL,
        "deprecationWarning": TEXT,
        **dict.fromkeys(("served", "storage", "deprecated"), FLAG),
        "schema": Object({"openAPIV3Schema": SCHEMA}),
        "subresources": Object({"status": Object({}), "scale": _SCALE}),
        "additionalPrinterColumns": Many("a list of columns", list, _COLUMN),
        "selectableFields": Many("a list of fields", list, Object({"jsonPath": TEXT}, ("jsonPath",))),
    },
    ("name",),
)
DEFINITION = Object(
    {
        "metadata": Object({"name": TEXT, "labels": TEXT_MAP, "annotations": TEXT_MAP}),
        "spec": Object(
            {
                "group": _GROUP,
                "scope": _one_of("Cluster", "Namespaced"),
                "names": Object(
                    {
                        **dict.fromkeys(("kind", "listKind"), _KIND),
                        "plural": _LABEL,
                        "singular": _LABEL_OR_NOTHING,
                        **dict.fromkeys(("shortNames", "categories"), Many("a list of strings", list, _LABEL)),
                    },
                ),
                "conversion": Object(
                    {"strategy": _one_of("None", "Webhook"), "webhook": Many("a mapping", dict, Anything())}
                ),
                "preserveUnknownFields": FLAG,
                "versions": Many("a list of versions", list, _VERSION),
            },
        ),
    },
)
