"""Finds incompatible changes between two versions of a CRD, and reports them where the user wrote what changed.

The old version is the one of the last commit, of a revision, or on disk. The consequences of a change are those of a
real API server, shown by tests/apiserver/gen/test_compat.py. Since Kubernetes 1.30 it accepts invalid parts of an
object that an update leaves unchanged (https://kep.k8s.io/4008). Before, the whole object had to be valid.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from fractions import Fraction
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostic, EnvironmentProblem, Severity, Span
from pykb.diagnostics.codes.generate import BREAKING_CHANGE, OPTION, REVISION
from pykb.files.plan import Change, Plan
from pykb.gen._since import RATCHETING
from pykb.gen.emit.crd import crd_object
from pykb.gen.ir import RULES, Crd, CrdVersion, SchemaNode
from pykb.gen.output import moved
from pykb.gen.request import Request
from pykb.gen.run import GenerateResult
from pykb.meta.gvk import GroupKind
from pykb.project.settings import Minor, shown
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
        return [OPTION.at(None, "`--check-compat` compares CRDs, and none are generated", "pykb generate crd")]
    commit = Commit.find(root, revision)
    if commit is None:
        if not has_repository(root):
            message = f"`{revision}` cannot be read: there is no git repository here, or no `git` on PATH"
            return [REVISION.at(None, message)]
        return [
            REVISION.at(
                None,
                f"git does not know the commit `{revision}` here",
                "git log --oneline  # shows some",
                "git fetch origin main  # in CI, for `origin/main`",
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
        *change.effect.ways,
        notes=(change.effect.consequence, *([_UNRATCHETED] if is_worse else ())),
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


ITEM = "[*]"
"""In a path: every item of a list, or every value of a map."""


@dataclass(frozen=True, slots=True)
class Effect:
    """The consequences of a kind of change.

    Attributes:
        consequence: What happens to stored objects and to clients.
        ways: How to avoid it.
        matters: Whether objects or requests are refused or changed. If only the display changes, the finding is a note.
    """

    consequence: str
    ways: tuple[str, ...]
    matters: bool = True


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """One incompatible change.

    Attributes:
        what: What changed, as the rest of a sentence that begins with the place: `is gone`.
        effect: What it leads to.
        path: The field, from the root of the object.
        version: The version of the kind; empty for what all versions share.
        keyword: The keyword of the schema that changed, or `storage` of a version; empty for the field itself.
    """

    what: str
    effect: Effect
    path: tuple[str, ...] = ()
    version: str = ""
    keyword: str = ""

    def of(self, version: str) -> Incompatibility:
        """The same change in a version."""
        return replace(self, version=version)

    @property
    def place(self) -> str:
        """The field as messages show it: ``spec.disks[*].size``; empty at the root."""
        return ".".join(self.path).replace(f".{ITEM}", ITEM)


_VERSION = "or add a version, with a converter"
PRUNED = Effect(
    "the API server drops the values that are stored there",
    ("keep the field, and say in its description that it is deprecated", _VERSION),
)
REQUIRED = Effect(
    "until somebody adds it, the operator cannot read stored objects without it, and changes next to it are refused",
    ("make it optional (`| None = None`), or give it a default", _VERSION),
)
REQUIRED_AT_ROOT = Effect(
    "the API server refuses every change of stored objects without it: those with a finalizer cannot be deleted",
    ("give it a default: `Field(default_factory=...)`",),
)
RETYPED = Effect(
    "until it is corrected, the operator cannot read stored objects with another value, and changes there are refused",
    ("keep the type, or accept both types (`int | str`)", _VERSION),
)
NARROWED = Effect(
    "values that were allowed are refused: in new objects, and in stored objects when this part changes",
    ("keep allowing them, and refuse them only in new objects with a validating webhook", _VERSION),
)
NARROWED_AT_ROOT = Effect(
    "the API server refuses every change of stored objects that break it: those with a finalizer cannot be deleted",
    ("put the rule on `spec`: there it is not checked for values that did not change",),
)
NULL = Effect("the API server drops the nulls that are stored there", ("keep it nullable", _VERSION))
DEFAULTED = Effect("stored objects keep the old default, and new ones do not get it", ("keep the default", _VERSION))
LIST = Effect(
    "items are identified in another way: duplicates are refused, and applying some may lose or repeat others",
    ("keep the list type and its keys", _VERSION),
)
MERGED = Effect(
    "a client that applies a part of it owns more or less than before, and may overwrite others",
    ("keep the map type", _VERSION),
)
EMBEDDED = Effect(
    "stored objects without `apiVersion` and `kind` there cannot be changed at all: not even their finalizers",
    ("add a version, with a converter",),
)
VERSION_GONE = Effect(
    "clients of that version get 404, and the API server refuses the CRD while `status.storedVersions` has it",
    ("keep it with `+kubebuilder:unservedversion` until every object is stored in another version",),
)
UNSERVED = Effect("clients of that version get 404", ("announce it first: `+kubebuilder:deprecatedversion`",))
STORAGE = Effect(
    "stored objects lose the fields that only the old version has, as nothing converts them",
    ("give the kind a converter: `pykb create webhook --conversion`",),
)
MIGRATED = Effect(
    "stored objects stay in the old version until they are written again",
    ("keep the old version until all are written again and `status.storedVersions` of the CRD no longer has it",),
    matters=False,
)
UNCONVERTED = Effect(
    "only `apiVersion` changes between the versions: fields that only one of them has are dropped",
    ("keep the conversion webhook",),
)
IMMUTABLE = Effect(
    "the API server refuses the CRD until the old one is deleted, with all its objects",
    ("keep it, or create another kind",),
)
RENAMED_KIND = Effect(
    "manifests and clients that name the old kind are refused", ("keep the kind, or add another one",)
)
GONE = Effect(
    "a cluster keeps the CRD and its objects, but no operator cleans up after them",
    ("delete the CRD first, while the operator still runs and handles the finalizers",),
)
STATUS_GONE = Effect(
    "writes to `/status` get 404, and each change of the status increments `metadata.generation`",
    ("keep `+kubebuilder:subresource:status`",),
)
SCALE_GONE = Effect("`kubectl scale` and autoscalers get 404", ("keep `+kubebuilder:subresource:scale`",))
UNSELECTABLE = Effect("`--field-selector` with it is refused", ("keep `+kubebuilder:selectablefield`",), matters=False)
UNSHOWN = Effect("`kubectl get` no longer shows it", ("keep `+kubebuilder:printcolumn`",), matters=False)
UNKNOWN_NAME = Effect("command lines and rules that use it fail", ("keep it",), matters=False)


_LOWER = ("minimum", "minLength", "minItems", "minProperties")
_UPPER = ("maximum", "maxLength", "maxItems", "maxProperties")
_COUNTS = frozenset({"minLength", "minItems", "minProperties"})
_WIDER_FORMATS = frozenset({("int32", "int64"), (None, "int64")})
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]

Schema = Mapping[str, Any]
FieldPath = tuple[str, ...]

_SERVERS = frozenset({"apiVersion", "kind", "metadata"})
"""Fields at the root that the API server validates without the schema."""
_PROSE = frozenset({"description", "title", "example", "externalDocs"})


def compare_schemas(old: Schema, new: Schema, path: FieldPath = ()) -> Iterator[Incompatibility]:
    """Find values that the old schema accepted and the new one refuses, drops or reads differently.

    Args:
        old: The current schema.
        new: The schema that replaces it.
        path: The path of the field in the object.
    """
    before, after = _types(old), _types(new)
    if after is not None and (before is None or not before <= after):
        what = f"accepts {_shown(new)} instead of {_shown(old)}"
        yield Incompatibility(what, RETYPED, path, keyword="type")
        return
    yield from _compare_keywords(old, new, path)
    yield from _default(old, new, path)
    yield from _fields(old, new, path)
    for keyword in ("items", "additionalProperties"):
        left, right = old.get(keyword), new.get(keyword)
        if isinstance(left, Mapping) and isinstance(right, Mapping):
            yield from compare_schemas(left, right, (*path, ITEM))


def _types(schema: Schema) -> frozenset[str] | None:
    """The JSON types that it accepts; ``None`` for any."""
    if schema.get("x-kubernetes-int-or-string"):
        return frozenset({"integer", "string"})
    value = schema.get("type")
    if value is None:
        return None
    return frozenset({"number", "integer"}) if value == "number" else frozenset({str(value)})


def _shown(schema: Schema) -> str:
    types = _types(schema)
    if types is None:
        return "anything"
    if len(types) > 1:
        return "numbers" if "number" in types else "integers and strings"
    (name,) = types
    return {"array": "lists", "object": "objects", "boolean": "booleans"}.get(name, f"{name}s")


def _default(old: Schema, new: Schema, path: FieldPath) -> Iterator[Incompatibility]:
    if "default" not in old or old["default"] == new.get("default", _NOTHING):
        return
    what = "has another default than before" if "default" in new else "no longer has a default"
    yield Incompatibility(what, DEFAULTED, path, keyword="default")


_NOTHING = object()


def _fields(old: Schema, new: Schema, path: FieldPath) -> Iterator[Incompatibility]:
    before, after = _properties(old, path), _properties(new, path)
    for name in sorted(before.keys() & after.keys()):
        yield from compare_schemas(before[name], after[name], (*path, name))
    added = {name: schema for name, schema in after.items() if name not in before}
    values = new.get("additionalProperties")
    for name in sorted(before.keys() - after.keys()):
        if isinstance(values, Mapping):
            yield from compare_schemas(before[name], values, (*path, name))
        elif not _is_open(new):
            yield _removed(name, before[name], added, path)
    if _is_open(old) and not _is_open(new):
        yield Incompatibility("no longer keeps fields that the schema does not list", PRUNED, path)
    yield from _required(old, new, path)


def _properties(schema: Schema, path: FieldPath) -> Mapping[str, Schema]:
    found: Mapping[str, Schema] = schema.get("properties") or {}
    return found if path else {name: each for name, each in found.items() if name not in _SERVERS}


def _is_open(schema: Schema) -> bool:
    """Whether it keeps unknown fields."""
    return bool(schema.get("x-kubernetes-preserve-unknown-fields") or schema.get("additionalProperties"))


def _removed(name: str, schema: Schema, added: Mapping[str, Schema], path: FieldPath) -> Incompatibility:
    alike = [other for other, each in added.items() if _bare(each) == _bare(schema)]
    if not alike:
        return Incompatibility("was removed", PRUNED, (*path, name))
    likely = max(alike, key=lambda other: (SequenceMatcher(None, name.lower(), other.lower()).ratio(), other))
    way = f'if it is the same field, keep its JSON name: `Annotated[..., Wire("{name}")]`'
    effect = Effect(PRUNED.consequence, (way, *PRUNED.ways))
    return Incompatibility(f"was removed, and `{likely}` of the same type was added", effect, (*path, name))


def _bare(schema: object) -> object:
    """A schema without descriptions and defaults."""
    if isinstance(schema, Mapping):
        return {key: _bare(value) for key, value in schema.items() if key not in _PROSE and key != "default"}
    return schema


def _required(old: Schema, new: Schema, path: FieldPath) -> Iterator[Incompatibility]:
    before, after = _properties(old, path), _properties(new, path)
    for name in sorted(set(new.get("required") or ()) - set(old.get("required") or ()) - _SERVERS):
        if "default" in after.get(name, {}):
            continue
        what = "is required instead of optional" if name in before else "is new and required"
        yield Incompatibility(what, REQUIRED if path else REQUIRED_AT_ROOT, (*path, name))


def _compare_keywords(old: Schema, new: Schema, path: FieldPath) -> Iterator[Incompatibility]:
    """Find keywords that refuse values which the old schema allowed. Does not look at sub-schemas."""
    effect = NARROWED if path else NARROWED_AT_ROOT
    yield from _enum(old, new, path)
    for what, keyword in (*_bounds(old, new), *_texts(old, new), *_combined(old, new)):
        yield Incompatibility(what, effect, path, keyword=keyword)
    yield from _identity(old, new, path)


def _bounds(old: Schema, new: Schema) -> Iterator[tuple[str, str]]:
    for keyword in (*_LOWER, *_UPPER):
        if _is_tighter(keyword, old.get(keyword), new.get(keyword)):
            yield f"has `{keyword}: {new[keyword]}` {_before(keyword, old)}", keyword
    for bound, keyword in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if new.get(keyword) and not old.get(keyword) and new.get(bound) == old.get(bound):
            yield f"no longer accepts the value of its `{bound}`", keyword
    if not _divides(new.get("multipleOf"), old.get("multipleOf")):
        yield f"has `multipleOf: {new['multipleOf']}` {_before('multipleOf', old)}", "multipleOf"


def _texts(old: Schema, new: Schema) -> Iterator[tuple[str, str]]:
    if new.get("pattern") is not None and new["pattern"] != old.get("pattern"):
        yield f"has the pattern `{new['pattern']}` {_before('pattern', old)}", "pattern"
    formats = old.get("format"), new.get("format")
    if formats[1] is not None and formats[0] != formats[1] and formats not in _WIDER_FORMATS:
        yield f"has the format `{formats[1]}` {_before('format', old)}", "format"


def _before(keyword: str, old: Schema) -> str:
    return f"instead of `{old[keyword]}`" if old.get(keyword) is not None else "instead of none"


def _enum(old: Schema, new: Schema, path: FieldPath) -> Iterator[Incompatibility]:
    before, after = old.get("enum"), new.get("enum")
    if after is not None and before is None:
        yield Incompatibility("accepts only the values of an enum instead of any", NARROWED, path, keyword="enum")
    elif after is not None and before is not None:
        gone = [value for value in before if value not in after]
        if gone:
            what = f"no longer accepts {', '.join(f'`{value}`' for value in gone)}"
            yield Incompatibility(what, NARROWED, path, keyword="enum")
    if old.get("nullable") and not new.get("nullable"):
        yield Incompatibility("no longer accepts null", NULL, path, keyword="nullable")


def _is_tighter(keyword: str, old: Any, new: Any) -> bool:
    if new is None:
        return False
    if old is None:
        return keyword not in _COUNTS or new > 0
    return bool(new > old if keyword in _LOWER else new < old)


def _divides(new: Any, old: Any) -> bool:
    if new is None:
        return True
    return old is not None and bool(new) and (Fraction(str(old)) / Fraction(str(new))).denominator == 1


def _combined(old: Schema, new: Schema) -> Iterator[tuple[str, str]]:
    """Rules and sub-schemas that values must fulfil now and did not have to before."""
    known = {rule.get("rule") for rule in old.get(RULES) or ()}
    for rule in new.get(RULES) or ():
        if rule.get("rule") not in known:
            yield f"has a new rule, `{' '.join(str(rule.get('rule')).split())}`", RULES
    if any(part not in (old.get("allOf") or ()) for part in new.get("allOf") or ()):
        yield "has new constraints (`allOf`)", "allOf"
    for keyword in ("anyOf", "oneOf", "not"):
        found = new.get(keyword)
        if found and found not in (old.get(keyword), _INT_OR_STRING):
            yield f"has other constraints than before (`{keyword}`)", keyword


def _identity(old: Schema, new: Schema, path: FieldPath) -> Iterator[Incompatibility]:
    """Changes to how items of lists and parts of objects are merged."""
    keyword = "x-kubernetes-list-type"
    before, after = old.get(keyword) or "atomic", new.get(keyword) or "atomic"
    if before != after:
        yield Incompatibility(f"has the list type `{after}` instead of `{before}`", LIST, path, keyword=keyword)
    keyword = "x-kubernetes-list-map-keys"
    keys = [", ".join(schema.get(keyword) or ()) for schema in (old, new)]
    if before == after == "map" and sorted(keys[0].split(", ")) != sorted(keys[1].split(", ")):
        what = f"has the keys `{keys[1]}` instead of `{keys[0]}`"
        yield Incompatibility(what, LIST, path, keyword=keyword)
    keyword = "x-kubernetes-map-type"
    before, after = old.get(keyword) or "granular", new.get(keyword) or "granular"
    if before != after:
        yield Incompatibility(f"has the map type `{after}` instead of `{before}`", MERGED, path, keyword=keyword)
    keyword = "x-kubernetes-embedded-resource"
    if new.get(keyword) and not old.get(keyword):
        yield Incompatibility("is now an embedded resource", EMBEDDED, path, keyword=keyword)
