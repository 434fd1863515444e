"""Checks the CRD as a whole: its names, group, status and JSONPaths, and that its versions have the same fields."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

from pykb.diagnostics import Diagnostic, Severity, Span
from pykb.diagnostics.codes.crd import (
    COLUMN_TYPE,
    CRD_NAME,
    DEPRECATION_WARNING,
    EMPTY_STATUS,
    JSON_PATH,
    METADATA_FORM,
    PROTECTED_GROUP,
    VERSIONS_DIFFER,
)
from pykb.diagnostics.suggest import did_you_mean
from pykb.gen.ir import Crd, CrdVersion, PrinterColumn, Scale, SchemaNode
from pykb.meta.names import is_label_value, is_protected_group, is_qualified_name, is_rfc_1035_label, is_subdomain

_APPROVAL = "api-approved.kubernetes.io"


def check_definition(crd: Crd) -> Iterator[Diagnostic]:
    """Check that names are DNS labels, protected groups are approved, and a status subresource has a status."""
    yield from _check_names(crd)
    if is_protected_group(crd.group) and not crd.annotations.get(_APPROVAL):
        yield PROTECTED_GROUP.at(
            crd.span,
            f"the group `{crd.group}` is protected: the API server refuses its CRDs without the annotation "
            f"`{_APPROVAL}`",
            f'# +kubebuilder:metadata:annotations="{_APPROVAL}=unapproved, for tests only"',
        )
    yield from _check_metadata(crd)
    for version in crd.versions:
        yield from _check_warning(version)
        if version.status and "status" not in (version.schema.properties or {}):
            yield EMPTY_STATUS.at(
                version.span,
                f"`{crd.names.kind}` has a status subresource, but no field `status`",
                f"status: {crd.names.kind}Status | None = None",
            )


_LONGEST_WARNING = 256


def _check_metadata(crd: Crd) -> Iterator[Diagnostic]:
    for what, pairs in (("an annotation", crd.annotations), ("a label", crd.labels)):
        for key, value in pairs.items():
            # The API server compares keys of annotations in lower case.
            if not is_qualified_name(key if what == "a label" else key.lower()):
                reason = "expected letters, digits, `-`, `_` and `.`, with an optional `domain/` before it"
                yield METADATA_FORM.at(crd.span, f"`{key}` is not a valid name of {what}: {reason}")
            elif what == "a label" and not is_label_value(value):
                yield METADATA_FORM.at(
                    crd.span,
                    f"`{value}` is not a valid value of the label `{key}`: expected at most 63 letters, digits, "
                    "`-`, `_` and `.`",
                    "use an annotation for other text",
                )


def _check_warning(version: CrdVersion) -> Iterator[Diagnostic]:
    warning = version.deprecation_warning
    if warning is None:
        return
    reason = ""
    if not warning:
        reason = "is empty"
    elif len(warning.encode()) > _LONGEST_WARNING:
        reason = f"has {len(warning.encode())} bytes, expected at most {_LONGEST_WARNING}"
    elif not warning.isprintable():
        reason = "has characters that cannot be printed"
    if reason:
        yield DEPRECATION_WARNING.at(version.span, f"the deprecation warning of version `{version.name}` {reason}")


def _check_names(crd: Crd) -> Iterator[Diagnostic]:
    labels = [("plural", crd.names.plural), ("singular", crd.names.singular)]
    labels += [("short name", name) for name in crd.names.short_names]
    labels += [("category", name) for name in crd.names.categories]
    labels += [("version", version.name) for version in crd.versions]
    for what, name in labels:
        if not is_rfc_1035_label(name):
            yield CRD_NAME.at(
                crd.span,
                f"the {what} `{name}` of `{crd.names.kind}` is not a DNS label: expected lower-case letters, "
                "digits and `-`, at most 63",
            )
    if not is_subdomain(crd.group) or "." not in crd.group:
        yield CRD_NAME.at(
            crd.span,
            f"the group `{crd.group}` of `{crd.names.kind}` is not a domain name: expected a name with a dot, "
            "such as `infra.example.com`",
        )


# The parts of a path that can be followed in a schema: `.name`, `['name']`, `[0]`, `[*]`, a filter.
_STEP = re.compile(
    r"\.(?P<name>[A-Za-z_$](?:\\\.|[\w$-])*)|\[['\"](?P<quoted>[^'\"]+)['\"]\]"
    r"|(?P<index>\[[^\[\]]*(?:\[[^\]]*\][^\[\]]*)*\])"
)
_SIMPLE = re.compile(r"(\.[A-Za-z_$][\w$-]*)+\Z")
_METADATA = frozenset(
    [
        *("annotations", "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers"),
        *("generateName", "generation", "labels", "managedFields", "name", "namespace", "ownerReferences"),
        *("resourceVersion", "selfLink", "uid"),
    ],
)


def check_paths(version: CrdVersion) -> Iterator[Diagnostic]:
    """Check all paths of a version."""
    for column in version.columns:
        node = yield from _follow(version.schema, column.json_path, column.span)
        yield from _check_column(column, node)
    yield from _check_selectable(version)
    if version.scale is not None:
        yield from _check_scale(version.schema, version.scale)


def _check_selectable(version: CrdVersion) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for path, span in version.selectable:
        if path in seen:
            yield JSON_PATH.at(span, f"`{path}` is listed twice as a selectable field")
        seen.add(path)
        if len(seen) == _MOST_SELECTABLE + 1:
            yield JSON_PATH.at(span, f"a version can have at most {_MOST_SELECTABLE} selectable fields, found more")
        if path.startswith(".metadata."):
            yield JSON_PATH.at(span, f"a selectable field cannot be in the metadata, as `{path}` is")
            continue
        node = yield from _follow(version.schema, path, span, simple=True, known=True)
        if node is not None and node.type not in {"string", "boolean", "integer"}:
            yield JSON_PATH.at(
                span, f"a selectable field must be a string, boolean or integer, but `{path}` is `{node.type_name}`"
            )


def _check_scale(schema: SchemaNode, scale: Scale) -> Iterator[Diagnostic]:
    wanted: list[tuple[str, tuple[str, ...], str]] = [
        (scale.spec_path, (".spec.",), "integer"),
        (scale.status_path, (".status.",), "integer"),
    ]
    if scale.selector_path:
        wanted.append((scale.selector_path, (".status.", ".spec."), "string"))
    for path, tops, kind in wanted:
        top = " or ".join(tops)
        if not path.startswith(tops):
            message = f"the path `{path}` of the scale subresource must start with `{top}`"
            if not path:
                message = f"the scale subresource needs a path that starts with `{top}`, found none"
            yield JSON_PATH.at(scale.span, message)
            continue
        # The API server accepts these two, but scaling then has no effect.
        missing = Severity.WARNING
        node = yield from _follow(schema, path, scale.span, simple=True, missing=missing)
        if node is not None and node.type != kind:
            message = f"the scale subresource needs an {kind} at `{path}`, found `{node.type_name}`"
            yield JSON_PATH.at(scale.span, message, severity=missing)


_MOST_SELECTABLE = 8
# The JSON types that the server shows in a column of each type. The cell is empty for all others.
_SHOWN = {
    "integer": ("integer", "number"),
    "number": ("integer", "number"),
    "boolean": ("boolean",),
    "date": ("string",),
}


def _check_column(column: PrinterColumn, node: SchemaNode | None) -> Iterator[Diagnostic]:
    if not column.name:
        yield COLUMN_TYPE.at(column.span, "a printer column has no name", severity=Severity.ERROR)
    shown = _SHOWN.get(column.type)
    if shown is None or node is None or node.type is None or node.type in shown:
        return
    fitting = node.type if node.type in _SHOWN else "string"
    yield COLUMN_TYPE.at(
        column.span,
        f"the column `{column.name}` is of type `{column.type}`, but `{column.json_path}` is `{node.type_name}`: "
        "its cells would be empty",
        f"type={fitting}",
    )


def _follow(
    root: SchemaNode,
    path: str,
    span: Span | None,
    *,
    simple: bool = False,
    known: bool = False,
    missing: Severity = Severity.ERROR,
) -> Generator[Diagnostic, None, SchemaNode | None]:
    """The schema that a path leads to, if known. Reports a path that does not lead to a field.

    Args:
        root: The schema of the kind.
        path: The JSONPath from there.
        span: Where the path is written.
        simple: Whether only field names are allowed in the path.
        known: Whether the field must be in the schema, even where an object allows unknown fields.
        missing: The severity of a path that does not lead to a field.
    """
    if simple and not _SIMPLE.match(path):
        yield JSON_PATH.at(span, f"expected a path of field names, found `{path}`", "for example `.spec.replicas`")
        return None
    if not path.startswith((".", "[")):
        yield JSON_PATH.at(span, f"a JSONPath starts with a dot, found `{path}`", f".{path}")
        return None
    node = root
    at, walked = 0, ""
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None:
            # The apiserver checks `..name`, `.*` and the like.
            if not path[at:].startswith(("..", ".*", "[")):
                yield JSON_PATH.at(span, f"`{path}` is not a JSONPath: `{path[at:]}` has no meaning")
            return None
        name = match["name"] or match["quoted"]
        inner = _step(node, name.replace("\\.", ".") if name else None, walked)
        if inner is None:
            if name is not None and (known or _is_closed(node, walked)):
                message, help_ = _no_field(node, name, walked, path)
                yield JSON_PATH.at(span, message, *help_, severity=missing)
            return None
        node, walked, at = inner, walked + match[0], match.end()
    return node


def _no_field(node: SchemaNode, name: str, walked: str, path: str) -> tuple[str, tuple[str, ...]]:
    """What is wrong with a path that leads to no field, and what to type."""
    fields = set(node.properties or {}) | (_METADATA if walked == ".metadata" else set())
    where = f"`{walked}`" if walked else "the object"
    message = f"`{path}` does not lead to a field: {where} has no `{name}`"
    return message, did_you_mean(name, fields, f"{walked}.")


def _step(node: SchemaNode, name: str | None, walked: str) -> SchemaNode | None:
    if name is None:
        return node.items
    if walked == ".metadata":
        return SchemaNode() if name in _METADATA else None
    if node.properties and name in node.properties:
        return node.properties[name].schema
    return node.values


def _is_closed(node: SchemaNode, walked: str) -> bool:
    """Whether the object cannot have fields beyond those listed."""
    if walked == ".metadata":
        return True
    open_ = node.get("x-kubernetes-preserve-unknown-fields") or node.values is not None
    return not open_ and (node.type is not None or node.properties is not None)


_SERVERS = frozenset({"apiVersion", "kind", "metadata"})
"""Fields at the root that the API server keeps in every version."""
_MOST_LISTED = 5
_ITEM = "[*]"


def check_versions(crd: Crd) -> Iterator[Diagnostic]:
    """Report each served version with other fields than the stored one, unless a webhook converts."""
    stored = next((version for version in crd.versions if version.storage), None)
    if stored is None or (crd.conversion or {}).get("strategy") == "Webhook":
        return
    for version in crd.versions:
        if version.served and version is not stored:
            yield from _check_pair(crd, version, stored)


def _check_pair(crd: Crd, version: CrdVersion, stored: CrdVersion) -> Iterator[Diagnostic]:
    notes: list[str] = []
    lost = list(_missing(version.schema, stored.schema))
    if lost:
        notes.append(f"the API server drops what is only in {version.name}: {_listed(lost)}")
    hidden = list(_missing(stored.schema, version.schema))
    if hidden:
        who = f"a client that reads {version.name} and writes it back"
        notes.append(f"{who} erases what is only in {stored.name}: {_listed(hidden)}")
    retyped = list(_retyped(version.schema, stored.schema))
    if retyped:
        notes.append(f"values of one version are not valid in the other: {_listed(retyped)}")
    if not notes:
        return
    kind, group = crd.names.kind, crd.group.partition(".")[0]
    convert = f"pykb create webhook --group {group} --version {stored.name} --kind {kind} --conversion"
    yield VERSIONS_DIFFER.at(
        version.span,
        f"`{kind}` has other fields in {version.name} than in {stored.name}, and nothing converts between them",
        f"convert: `{convert}`",
        f"or give both versions these fields, or stop serving {version.name}: `+kubebuilder:unservedversion`",
        notes=tuple(notes),
    )


def _listed(paths: list[str]) -> str:
    more = f" and {len(paths) - _MOST_LISTED} more" if len(paths) > _MOST_LISTED else ""
    return ", ".join(f"`{path}`" for path in paths[:_MOST_LISTED]) + more


def _missing(node: SchemaNode, other: SchemaNode, path: str = "") -> Iterator[str]:
    """The fields of a schema that the other one does not keep."""
    if other.get("x-kubernetes-preserve-unknown-fields"):
        return
    theirs = dict(_parts(other))
    for name, part in _parts(node):
        if not path and name in _SERVERS:
            continue
        place = _joined(path, name)
        if name in theirs:
            yield from _missing(part, theirs[name], place)
        elif _ITEM in theirs and other.values is not None:  # a map keeps any key
            yield from _missing(part, theirs[_ITEM], place)
        elif name != _ITEM or other.type == "object":
            yield place


def _retyped(node: SchemaNode, other: SchemaNode, path: str = "") -> Iterator[str]:
    """The fields whose types in both schemas have no value in common."""
    mine, theirs = _types(node), _types(other)
    if mine is not None and theirs is not None and not mine & theirs:
        yield path
        return
    others = dict(_parts(other))
    for name, part in _parts(node):
        if name in others and (path or name not in _SERVERS):
            yield from _retyped(part, others[name], _joined(path, name))


def _parts(node: SchemaNode) -> Iterator[tuple[str, SchemaNode]]:
    for name, field in (node.properties or {}).items():
        yield name, field.schema
    part = node.items or node.values
    if part is not None:
        yield _ITEM, part


def _joined(path: str, name: str) -> str:
    return f"{path}{name}" if name == _ITEM or not path else f"{path}.{name}"


def _types(node: SchemaNode) -> frozenset[str] | None:
    """The JSON types of its values; ``None`` for any."""
    if node.is_int_or_string:
        return frozenset({"integer", "string"})
    found = node.type
    if found is None:
        return None
    return frozenset({"integer", "number"}) if found == "number" else frozenset({found})
