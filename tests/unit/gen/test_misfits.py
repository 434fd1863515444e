"""Whether a value fits a schema, for defaults, samples and made objects; as an API server answers."""

from __future__ import annotations

from typing import Any

import pytest

from pykb.gen.checks.value import misfits
from pykb.gen.draft import patched
from pykb.gen.ir import SchemaNode

EITHER = {"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}
EITHER |= {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
OUTER = {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": -5}]}
CHOICE = {"type": "string", "nullable": True, "enum": ["a", "null"]}


@pytest.mark.parametrize(
    ("schema", "value", "wanted"),
    [
        (OUTER, 7, []),
        (OUTER, 0, ["`0` fits 0 of the schemas in `anyOf`"]),
        (EITHER, {"a": "x"}, []),
        (EITHER, {}, ["`{}` fits 0 of the schemas in `oneOf`"]),
        (EITHER, {"a": "", "b": ""}, ['`{"a": "", "b": ""}` fits 2 of the schemas in `oneOf`']),
        ({"type": "integer", "not": {"enum": [6]}}, 5, []),
        ({"type": "integer", "not": {"enum": [6]}}, 6, ["`6` fits 1 of the schemas in `not`"]),
        ({"type": "object", "required": ["a"]}, {}, ["the required field `a` is missing"]),
        (CHOICE, "a", []),
        (CHOICE, None, ['`null` is not one of the allowed values: `"a"`, `"null"`']),
        ({"type": "string", "nullable": True}, None, []),
    ],
)
def test_a_value_is_judged(schema: dict[str, Any], value: Any, wanted: list[str]) -> None:
    """Nothing is said of what fits."""
    assert list(misfits(value, patched(SchemaNode(), schema))) == wanted
