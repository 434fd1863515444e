"""Finds incompatible changes between two versions of a CRD, and reports them where the user wrote what changed.

The old version is the one of the last commit, of a revision, or on disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostic, EnvironmentProblem, Severity, Span
from pykb.diagnostics.codes.generate import BREAKING_CHANGE, OPTION, REVISION
from pykb.files.plan import Change, Plan
from pykb.gen._since import RATCHETING
from pykb.gen.compat._schema import (
    GONE,
    IMMUTABLE,
    ITEM,
    MIGRATED,
    NARROWED,
    RENAMED_KIND,
    REQUIRED,
    RETYPED,
    SCALE_GONE,
    STATUS_GONE,
    STORAGE,
    UNCONVERTED,
    UNKNOWN_NAME,
    UNSELECTABLE,
    UNSERVED,
    UNSHOWN,
    VERSION_GONE,
    Incompatibility,
    compare_schemas,
)
from pykb.gen.emit.crd import crd_object
from pykb.gen.ir import Crd, CrdVersion, SchemaNode
from pykb.gen.output import moved
from pykb.gen.request import Request
from pykb.gen.run import GenerateResult
from pykb.meta.gvk import GroupKind
from pykb.project.kubernetes import Minor, shown
from pykb.tools.git import Commit, blob_hash, has_repository

EXAMPLE = "An example field, to be replaced by what "
"""The start of the description of the field that `pykb create api` writes. A kind that still has it
is not in use yet.
"""

_KIND = "\nkind: CustomResourceDefinition"

Documents = Mapping[str, Mapping[str, Any]]


def with_last_commit(plan: Plan, root: Path, request: Request, result: GenerateResult) -> Iterable[Diagnostic]:
    """Compare the new CRDs with those of the last commit. Breaking changes are warnings, as is an unread commit.

    A kind that was never committed may change freely, and so may a committed kind between two commits. Outside of a
    repository, the new CRDs are compared with the files that they replace.

    Args:
        plan: What the run would write.
        root: The project.
        request: The options of the run.
        result: Its result.
    """
    rules = request.rules
    if request.allow_breaking or "crd" not in result.artifacts or "crd" in rules.printed | rules.discarded:
        return []
    folder = moved(rules.folders["crd"], root, plan.root)
    try:
        old = _of_last_commit(plan, folder, root, request, result)
    except EnvironmentProblem as error:
        return [replace(error.diagnostic, severity=Severity.WARNING)]
    new = {crd.name: crd for crd in result.crds}
    return _find_breaking_changes(old, new, request.options.oldest, severity=Severity.WARNING)


def _of_last_commit(plan: Plan, folder: str, root: Path, request: Request, result: GenerateResult) -> Documents:
    """The definitions of the last commit that a run would change or has removed, or those in the files it replaces."""
    commit = Commit(plan.root, "HEAD")
    try:
        hashes = commit.hashes(folder)
    except EnvironmentProblem:
        if Commit.find(plan.root, "HEAD") is not None:
            raise
        hashes = {}
    if not hashes:  # no git, no repository, no commit, or none of the files
        return {} if has_repository(plan.root) else _in_use(_replaced(plan.changes))
    new = {artifact.path: artifact.render().encode() for artifact in result.artifacts["crd"]}
    changed = [name for name in sorted(hashes.keys() & new) if blob_hash(new[name], hashes[name]) != hashes[name]]
    found = _in_use(commit.read(f"{folder}/{name}") for name in changed)
    if not request.options.is_whole:
        return found
    # A file that this run removes is reported with what else names the kind.
    removed = {change.path for change in plan.changes if change.after is None}
    paths = (f"{folder}/{name}" for name in sorted(hashes.keys() - new.keys()) if name.endswith(".yaml"))
    gone = [path for path in paths if path not in removed and not os.path.lexists(plan.root / path)]
    return {**found, **_still_listed(root, _in_use(map(commit.read, gone)))} if gone else found


def _still_listed(root: Path, gone: Documents) -> Documents:
    """The definitions whose kinds PROJECT still has. The others were deleted on purpose."""
    from pykb.project.file import read

    listed = read(root)[0].kinds
    kinds = {name: GroupKind(each["spec"]["group"], each["spec"]["names"]["kind"]) for name, each in gone.items()}
    return {name: each for name, each in gone.items() if kinds[name] in listed}


def with_revision(root: Path, revision: str, request: Request, result: GenerateResult) -> Iterable[Diagnostic]:
    """Compare the new CRDs with those of a commit. Breaking changes are errors."""
    if "crd" not in result.artifacts:
        return [OPTION.at(None, "`--check-compat` compares CRDs, and none are generated", help=("pykb generate crd",))]
    commit = Commit.find(root, revision)
    if commit is None:
        return [
            REVISION.at(
                None,
                f"git does not know the commit `{revision}` here",
                help=("git log --oneline  # shows some", "git fetch origin main  # in CI, for `origin/main`"),
            )
        ]
    if request.allow_breaking:
        return []
    from pykb.project.file import read

    old = _of_commit(commit, request.rules.folders["crd"], result.groups | read(root)[0].groups)
    new = {crd.name: crd for crd in result.crds}
    if not request.options.is_whole:
        old = {name: document for name, document in old.items() if name in new}
    return _find_breaking_changes(old, new, request.options.oldest, severity=Severity.ERROR)


def _replaced(changes: Iterable[Change]) -> Iterator[str]:
    """The definitions in the files that a run replaces. Removed definitions are reported elsewhere."""
    for change in changes:
        if change.after and _KIND in (text := _text(change)):
            yield text


def _text(change: Change) -> str:
    return (change.snapshot.content or b"").decode("utf-8", "replace")


def _of_commit(commit: Commit, folder: str, groups: frozenset[str]) -> Documents:
    """The definitions of some groups in a commit."""
    names = [name for name in commit.files(folder) if name.endswith(".yaml")]
    found = _definitions(commit.read(f"{folder}/{name}") for name in names)
    return {name: each for name, each in found.items() if each["spec"]["group"] in groups}


def _in_use(texts: Iterable[str | None]) -> Documents:
    """The definitions of kinds that are not new."""
    return _definitions(text for text in texts if text and EXAMPLE not in text)


def _definitions(texts: Iterable[str | None]) -> Documents:
    import yaml

    from pykb.gen.manifest import load_manifest

    found: dict[str, Mapping[str, Any]] = {}
    for text in texts:
        try:
            document: Any = load_manifest(text or "")
        except yaml.YAMLError:
            continue  # not written by a generator
        if _is_definition(document):
            found[document["metadata"]["name"]] = document
    return found


def _is_definition(document: Any) -> bool:
    """Whether a document has the fields that are compared."""
    try:
        spec = document["spec"]
        named = [document["metadata"]["name"], spec["group"], spec["names"]["kind"]]
        return document["kind"] == "CustomResourceDefinition" and all(
            isinstance(text, str) for text in (*named, *(version["name"] for version in spec["versions"]))
        )
    except (TypeError, KeyError):
        return False


"""CustomResourceDefinitions as plain data, by name."""


Document = Mapping[str, Any]


def _find_breaking_changes(
    old: Documents, new: Mapping[str, Crd], oldest: Minor | None, *, severity: Severity
) -> Iterator[Diagnostic]:
    """Find what the new definitions break, in the order found.

    Args:
        old: The definitions to compare with.
        new: The definitions of the project. A name that is missing here is not generated any more.
        oldest: The oldest Kubernetes that the project supports, if it names one.
        severity: The severity of changes that matter to objects or requests. Changes of the display are notes.
    """
    for name, document in sorted(old.items()):
        crd = new.get(name)
        yield from (_finding(change, name, crd, oldest, severity) for change in _changes(document, crd))


def _changes(document: Mapping[str, object], crd: Crd | None) -> list[Incompatibility]:
    try:
        return list(compare_definitions(document, None if crd is None else crd_object(crd)))
    except (TypeError, AttributeError, LookupError, ValueError, ArithmeticError):
        return []  # edited by hand; no API server can have accepted it


_UNRATCHETED = f"before Kubernetes {shown(RATCHETING)}, the API server refuses every change of such an object"


def _finding(
    change: Incompatibility, name: str, crd: Crd | None, oldest: Minor | None, severity: Severity
) -> Diagnostic:
    kind = f"`{name}`" if crd is None else f"`{crd.names.kind}`"
    owner = f"{kind} {change.version}".rstrip()
    subject = f"`{change.place}` of {owner}" if change.path else owner
    is_worse = oldest is not None and oldest < RATCHETING and change.effect in {REQUIRED, RETYPED, NARROWED}
    return BREAKING_CHANGE.at(
        None if crd is None else _place(change, crd),
        f"{subject} {change.what}",
        notes=(change.effect.consequence, *([_UNRATCHETED] if is_worse else ())),
        help=change.effect.ways,
        severity=severity if change.effect.matters else Severity.NOTE,
    )


def _place(change: Incompatibility, crd: Crd) -> Span | None:
    version = next((each for each in crd.versions if each.name == change.version), None)
    if version is None:
        return crd.span
    if change.keyword == "storage":
        return version.storage_span or version.span
    return _span(change, version) or version.span


def _span(change: Incompatibility, version: CrdVersion) -> Span | None:
    """The nearest place in the user's source: the keyword, the field, or the class."""
    node: SchemaNode = version.schema
    span = version.span
    for part in change.path:
        if part == ITEM:
            found = node.items or node.values
            if found is None:
                return span
            node = found
            continue
        field = (node.properties or {}).get(part)
        if field is None:
            return _class_of(node) or span
        node, span = field.schema, field.span or span
    keyword = node.keywords.get(change.keyword)
    return (keyword.span if keyword else None) or span


def _class_of(node: SchemaNode) -> Span | None:
    return node.origin.type.span if node.origin else None


def compare_definitions(old: Document, new: Document | None) -> Iterator[Incompatibility]:
    """Find incompatible changes between two CustomResourceDefinitions.

    Args:
        old: The current definition, as plain data.
        new: The definition that replaces it; ``None`` when it is removed.
    """
    if new is None:
        yield Incompatibility("is no longer generated", GONE)
        return
    before, after = old["spec"], new["spec"]
    yield from _names(before, after)
    versions = {version["name"]: version for version in after["versions"]}
    for version in before["versions"]:
        name = version["name"]
        if name not in versions:
            yield Incompatibility(f"no longer has the version `{name}`", VERSION_GONE)
            continue
        yield from _usage(version, versions[name], after)
        yield from (found.of(name) for found in _version(version, versions[name]))
    if _strategy(before) == "Webhook" != _strategy(after) and len(versions) > 1:
        yield Incompatibility("no longer has a conversion webhook", UNCONVERTED)


def _usage(old: Document, new: Document, after: Document) -> Iterator[Incompatibility]:
    """Find a version that is no longer served or stored."""
    name = old["name"]
    stored = next(version["name"] for version in after["versions"] if version["storage"])
    if old.get("served") and not new.get("served"):
        yield Incompatibility("is no longer served", UNSERVED, version=name)
    if old.get("storage") and name != stored:
        effect = MIGRATED if _strategy(after) == "Webhook" else STORAGE
        yield Incompatibility(f"is the storage version instead of `{name}`", effect, version=stored, keyword="storage")


def _names(before: Document, after: Document) -> Iterator[Incompatibility]:
    if before.get("scope") != after.get("scope"):
        yield Incompatibility(f"has the scope {after['scope']} instead of {before['scope']}", IMMUTABLE)
    old, new = before["names"], after["names"]
    if old["kind"] != new["kind"]:
        yield Incompatibility(f"was called `{old['kind']}`", RENAMED_KIND)
    for key, noun in (("shortNames", "short name"), ("categories", "category")):
        for name in old.get(key) or ():
            if name not in (new.get(key) or ()):
                yield Incompatibility(f"no longer has the {noun} `{name}`", UNKNOWN_NAME)


def _strategy(spec: Document) -> str:
    return str((spec.get("conversion") or {}).get("strategy") or "None")


def _version(before: Document, after: Document) -> Iterator[Incompatibility]:
    yield from compare_schemas(_schema(before), _schema(after))
    old, new = before.get("subresources") or {}, after.get("subresources") or {}
    for name, effect in (("status", STATUS_GONE), ("scale", SCALE_GONE)):
        if name in old and name not in new:
            yield Incompatibility(f"no longer has the subresource `{name}`", effect)
    for key, noun, effect, label in (
        ("selectableFields", "selectable field", UNSELECTABLE, "jsonPath"),
        ("additionalPrinterColumns", "column", UNSHOWN, "name"),
    ):
        kept = {item.get(label) for item in after.get(key) or ()}
        for item in before.get(key) or ():
            if item.get(label) not in kept:
                yield Incompatibility(f"no longer has the {noun} `{item.get(label)}`", effect)


def _schema(version: Document) -> Document:
    found: Document = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    return found
