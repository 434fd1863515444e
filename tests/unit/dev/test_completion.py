"""What the page offers at a cursor, and where it finds a field."""

from __future__ import annotations

from typing import Any

import pytest

from pykb.dev.page._completion import fitting, line_of

PORTS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["number"],
        "properties": {
            "number": {"type": "integer", "format": "int32"},
            "protocol": {"type": "string", "enum": ["TCP", "UDP", "yes"]},
        },
    },
}
SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "image": {"type": "string", "description": "What\n  runs."},
        "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
        "paused": {"type": "boolean"},
        "ports": PORTS,
        "size": {"type": "integer"},
        "modes": {"type": "array", "items": {"type": "string", "enum": ["fast", "slow"]}},
        "sides": {"type": "object", "additionalProperties": PORTS["items"]},
    },
}
ROOT = {"type": "object", "required": ["spec"], "properties": {"spec": SPEC, "status": {"type": "object"}}}
SCHEMAS: dict[tuple[str, str], Any] = {
    ("shop.example.com/v1", "Basket"): ROOT,
    ("shop.example.com/v2", "Basket"): {},
    ("shop.example.com/v1", "Shelf"): {},
}
HEAD = "apiVersion: shop.example.com/v1\nkind: Basket\n"


def offered(text: str) -> dict[str, Any]:
    """What is offered at the sign ``^``."""
    before, _, after = text.partition("^")
    return fitting(before, after, SCHEMAS)


def labels(text: str) -> list[str]:
    """The names of that."""
    return [each["label"] for each in offered(text)["items"]]


FIELDS = ["size", "image", "limits", "modes", "paused", "ports", "sides"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("^", ["apiVersion", "kind", "metadata"]),
        (f"{HEAD}^", ["metadata", "spec"]),
        (f"{HEAD}spec:\n  ^", FIELDS),
        (f"{HEAD}spec:\n  ^\nmetadata: {{}}\n", FIELDS),
        (f"{HEAD}spec:\n  size: 1\n  ^\n  ports: []\n", ["image", "limits", "modes", "paused", "sides"]),
        (f"{HEAD}spec:\n  i^", ["image"]),
        (f"{HEAD}spec:\n  I^ma # the word ends here\n", ["image"]),
        (f"{HEAD}spec: {{size: 1, p^}}", ["paused", "ports"]),
        (f"{HEAD}spec:\n  # a comment: with a colon\n  p^\n", ["paused", "ports"]),
        (f"{HEAD}spec:\n  ports:\n  - ^", ["number", "protocol"]),
        (f"{HEAD}spec:\n  ports:\n    - number: 1\n      ^", ["protocol"]),
        (f"{HEAD}spec:\n  ports:\n  - number: 1\n    protocol: ^", ["TCP", "UDP", "yes"]),
        (f"{HEAD}spec:\n  sides:\n    left:\n      protocol: u^", ["UDP"]),
        (f"{HEAD}spec:\n  paused: ^\n  size: 1\n", ["true", "false"]),
        (f"{HEAD}spec:\n  modes:\n  - fast\n  - ^", ["fast", "slow"]),
        (f"{HEAD}spec:\n  modes: [f^]", ["fast"]),
        (f"{HEAD}metadata:\n  ^", ["name", "annotations", "labels", "namespace"]),
        ("apiVersion: ^", ["shop.example.com/v1", "shop.example.com/v2"]),
        ("apiVersion: ^\nkind: Shelf", ["shop.example.com/v1"]),
        ("apiVersion: shop.example.com/v2\nkind: ^", ["Basket"]),
        ("kind: sh^", ["Shelf"]),
        (f"{HEAD}spec:\n  image: ^", []),
        (f"{HEAD}spec:\n  image: |\n    text ^", []),
        (f"{HEAD}spec:\n  image: '^'", []),
        (f"{HEAD}spec:\n  unknown:\n    ^", []),
        (f"{HEAD}status:\n  ^", []),
        ("apiVersion: v1\nkind: Pod\nspec:\n  ^", []),
        ("- ^", []),
        ("? [a]\n: ^", []),
        ("a: [\n^", []),
        ("&a [*a, ^]", []),
        ("[" * 200 + "^", []),
        ("a: b: c\n^", []),
    ],
)
def test_what_fits_is_offered(text: str, expected: list[str]) -> None:
    """By the schema, required fields first, without what is there."""
    assert labels(text) == expected


def test_what_is_offered_says_what_it_is() -> None:
    """With the text to insert, which begins what comes next."""
    found = {each["label"]: each for each in offered(f"{HEAD}spec:\n  ^")["items"]}
    assert found["image"] == {
        "label": "image",
        "text": "image: ",
        "type": "string",
        "required": False,
        "description": "What runs.",
    }
    assert (found["size"]["required"], found["size"]["type"]) == (True, "integer")
    assert (found["limits"]["text"], found["limits"]["type"]) == ("limits:\n    ", "map of integer or string")
    assert (found["ports"]["text"], found["ports"]["type"]) == ("ports:\n    - ", "list of object")
    [number, _] = offered(f"{HEAD}spec:\n  ports:\n  - ^")["items"]
    assert number["type"] == "integer (int32)"


def test_a_word_is_replaced_as_a_whole() -> None:
    """A name that has its colon keeps it, and a value that YAML would take for another one is quoted."""
    found = offered(f"{HEAD}spec:\n  im^agine: nginx\n")
    assert (found["before"], found["after"], [each["text"] for each in found["items"]]) == (2, 5, ["image"])
    [yes] = offered(f"{HEAD}spec:\n  ports: [{{protocol: y^}}]")["items"]
    assert (yes["label"], yes["text"]) == ("yes", "'yes'")


SERVICE = """\
apiVersion: v1
kind: Service
metadata:
  annotations: {a.b/c: x}
spec:
  ports:
  - name: http
    port: 99999
"""


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("spec.ports[0].port", 8),
        ("spec.ports[0]", 7),
        ("spec.ports[1].port", 6),
        ("spec.selector", 5),
        ("metadata.annotations[a.b/c]", 4),
        ("metadata.annotations.a", 4),
        ("status", 0),
        ("]..[", 0),
        ("", 0),
    ],
)
def test_the_line_of_a_field_is_found(field: str, line: int) -> None:
    """A field that is not there has the line of what would contain it."""
    assert line_of(SERVICE, field) == line
    assert line_of("a: [", field) == 0
