"""Turns a finished schema into a plain object, and shortens descriptions."""

from __future__ import annotations

from collections.abc import Callable

from pykb.gen.ir import RULES, SchemaNode

Describe = Callable[[str], str]

# Kubernetes writes these only when they are true. Absence means `false`.
_FLAGS = frozenset({"exclusiveMinimum", "exclusiveMaximum", "uniqueItems", "nullable"})


def schema_object(node: SchemaNode, *, describe: Describe | None = None) -> dict[str, object]:
    """The schema as in a manifest. The YAML writer sorts the keys.

    Args:
        node: A schema without references.
        describe: Applied to each description. An empty result is left out.
    """
    out: dict[str, object] = {
        name: keyword.value for name, keyword in node.keywords.items() if name not in _FLAGS or keyword.value
    }
    if node.rules:
        out[RULES] = [rule.parts for rule in node.rules]
    if describe is not None and "description" in out:
        text = describe(str(out["description"]))
        if text:
            out["description"] = text
        else:
            del out["description"]
    if node.properties:
        out["properties"] = {
            name: schema_object(prop.schema, describe=describe) for name, prop in node.properties.items()
        }
        required = _required(node)
        out.pop("required", None)
        if required:
            out["required"] = required
    if node.items is not None:
        out["items"] = schema_object(node.items, describe=describe)
    if node.values is not None:
        out["additionalProperties"] = schema_object(node.values, describe=describe)
    if node.all_of:
        out["allOf"] = [schema_object(part, describe=describe) for part in node.all_of]
    return out


def _required(node: SchemaNode) -> list[str]:
    extra = node.get("required")
    fields = {name for name, prop in (node.properties or {}).items() if prop.required}
    return sorted(fields | {str(name) for name in (extra if isinstance(extra, list) else ())})


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
