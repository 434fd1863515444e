"""Turns a Crd and its schemas into the object of a manifest, in the layout of controller-gen v0.23.0."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from pykb.gen.ir import RULES, Crd, CrdVersion, PrinterColumn, PropertyNode, SchemaNode

Describe = Callable[[str], str]

# Kubernetes writes these only when they are true. Absence means `false`.
_FLAGS = frozenset({"exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "nullable"})


def schema_object(node: SchemaNode, *, describe: Describe | None = None) -> dict[str, object]:
    """The schema as in a manifest. The YAML writer sorts the keys.

    Args:
        node: A schema without references.
        describe: Applied to each description. An empty result is left out.
    """
    out = _keywords(node, describe)
    if node.rules:
        out[RULES] = [rule.parts for rule in node.rules]
    if node.properties:
        out |= _of_properties(node, node.properties, describe)
        if not out["required"]:
            del out["required"]
    if node.items is not None:
        out["items"] = schema_object(node.items, describe=describe)
    if node.values is not None:
        out["additionalProperties"] = schema_object(node.values, describe=describe)
    if node.all_of:
        out["allOf"] = [schema_object(part, describe=describe) for part in node.all_of]
    return out


def _keywords(node: SchemaNode, describe: Describe | None) -> dict[str, object]:
    out = {name: keyword.value for name, keyword in node.keywords.items() if name not in _FLAGS or keyword.value}
    if describe is not None and "description" in out:
        out["description"] = describe(str(out["description"]))
        if not out["description"]:
            del out["description"]
    return out


def _of_properties(
    node: SchemaNode, properties: Mapping[str, PropertyNode], describe: Describe | None
) -> dict[str, object]:
    said = node.get("required")
    required = {name for name, prop in properties.items() if prop.required}
    required.update(map(str, said if isinstance(said, list) else ()))
    return {
        "properties": {name: schema_object(prop.schema, describe=describe) for name, prop in properties.items()},
        "required": sorted(required),
    }


def shorten(text: str, limit: int) -> str:
    """Cut a description to at most ``limit`` bytes of UTF-8: at a sentence's end, else at a blank.

    >>> shorten("One sentence. Another one.", 20), shorten("no sentence here", 10), shorten("text", 0)
    ('One sentence.', 'no...', '')
    """
    raw = text.encode()
    if limit == 0:
        return ""
    if len(raw) <= limit:
        return text
    cut = raw[:limit].decode(errors="ignore")
    end = max(cut.rfind(mark) for mark in _SENTENCE_ENDS)
    if end > 0:
        return cut[: end + 1]
    blank = max((i for i, char in enumerate(cut) if char.isspace()), default=0)
    return f"{cut[:blank] if blank > 0 else cut}..."


# The characters of Unicode's STerm property that occur in prose of living languages.
_SENTENCE_ENDS = ".!?։؞؟۔܀܁܂।॥၊။።፧፨᙮᠃᠉‼‽⁇⁈⁉⸮。꓿꘎꘏꛳꛷﹒﹖﹗！．？｡"  # noqa: RUF001 - other scripts' marks are the point


VERSION_ANNOTATION = "controller-gen.kubebuilder.io/version"


def crd_object(
    crd: Crd,
    *,
    compatible_with: str | None = None,
    max_description: int | None = None,
    preserve_unknown_fields: bool | None = None,
) -> dict[str, object]:
    """The CustomResourceDefinition.

    Args:
        crd: The CRD to write.
        compatible_with: The version of controller-gen for the annotation. Without it, the annotation is left out.
        max_description: The maximum length of a description, in bytes. 0 leaves out all descriptions.
        preserve_unknown_fields: The deprecated ``spec.preserveUnknownFields``, written when given.
    """
    describe = None if max_description is None else partial(shorten, limit=max_description)
    version = {VERSION_ANNOTATION: compatible_with} if compatible_with else {}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": crd.name,
            **_filled(annotations={**crd.annotations, **version}, labels=dict(crd.labels)),
        },
        "spec": {
            "group": crd.group,
            "names": {
                "kind": crd.names.kind,
                "listKind": f"{crd.names.kind}List",
                "plural": crd.names.plural,
                "singular": crd.names.singular,
                **_filled(shortNames=list(crd.names.short_names), categories=list(crd.names.categories)),
            },
            "scope": crd.scope,
            "versions": [_version(each, describe) for each in crd.versions],
            **({} if crd.conversion is None else {"conversion": crd.conversion}),
            **({} if preserve_unknown_fields is None else {"preserveUnknownFields": preserve_unknown_fields}),
        },
    }


def _filled(**values: object) -> dict[str, object]:
    """The values that are not empty."""
    return {name: value for name, value in values.items() if value}


def _version(version: CrdVersion, describe: Describe | None) -> dict[str, object]:
    out: dict[str, object] = {
        "name": version.name,
        "served": version.served,
        "storage": version.storage,
        "schema": {"openAPIV3Schema": schema_object(version.schema, describe=describe)},
        **_filled(
            deprecated=version.deprecated,
            additionalPrinterColumns=[_column(column) for column in version.columns],
            selectableFields=[{"jsonPath": path} for path, _ in version.selectable],
        ),
    }
    if version.deprecation_warning is not None:
        out["deprecationWarning"] = version.deprecation_warning
    subresources: dict[str, object] = {"status": {}} if version.status else {}
    if version.scale is not None:
        scale = {"specReplicasPath": version.scale.spec_path, "statusReplicasPath": version.scale.status_path}
        if version.scale.selector_path is not None:
            scale["labelSelectorPath"] = version.scale.selector_path
        subresources["scale"] = scale
    if subresources or version.columns:  # with columns an empty object is written, as by controller-gen
        out["subresources"] = subresources
    return out


def _column(column: PrinterColumn) -> dict[str, object]:
    return {
        "jsonPath": column.json_path,
        "name": column.name,
        "type": column.type,
        **_filled(description=column.description, format=column.format, priority=column.priority),
    }
