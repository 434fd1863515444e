"""Makes strategies for the objects of a kind, from its generated schema and the validation of its class."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.errors import Flaky, UnsatisfiedAssumption
from hypothesis.provisional import domains, urls
from pydantic import BaseModel, ValidationError

from pykb.api.formats import checker
from pykb.api.object import Object
from pykb.api.struct import Struct
from pykb.api.time import format_duration
from pykb.api.wire import encode
from pykb.diagnostics import Diagnostics
from pykb.gen.cel.evaluate import verdict
from pykb.gen.checks.value import is_match, misfits, with_defaults
from pykb.gen.declare import Declarations
from pykb.gen.draft import patched
from pykb.gen.ir import Keyword, SchemaNode
from pykb.gen.lower.scalars import QUANTITY_PATTERN
from pykb.gen.options import SchemaOptions
from pykb.gen.passes.resolve import Resolver
from pykb.markers.registry import builtin_registry
from pykb.meta.names import is_subdomain
from pykb.testing._paths import parse_path, why_no_field

# Values that a schema allows, in wire form, with edge cases. They obey the CEL rules that can be evaluated here.


Strategy = st.SearchStrategy[Any]

LONGEST = 500
"""The maximum length of texts without a maximum."""
_DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
# Texts that programs often misread or cut: YAML's special words, white space at the ends, non-ASCII
# characters.
_EDGES = (" ", "null", "true", "~", "-1", "1e3", " a ", "a\nb", '"', "\\", "ä", "日本", "🙂", "a,b=c")
_POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\s",
    "word": r"\w",
}


def dns_labels() -> Strategy:
    """The format of most names (RFC 1123)."""
    return st.one_of(st.text("abcxyz012", min_size=1, max_size=63), st.sampled_from(("a-b", "a" * 63)))


def scalars(node: SchemaNode) -> Strategy | None:
    """Return texts, numbers and booleans, or ``None`` if the schema has another type or none.

    Raises:
        ValueError: The schema allows no value, or texts cannot be generated from its pattern.
    """
    if node.is_int_or_string:
        return st.one_of(_integers(node), _texts(node))
    match node.type:
        case "string":
            return _texts(node)
        case "integer":
            return _integers(node)
        case "number":
            return _numbers(node)
        case "boolean":
            return st.booleans()
    return None


def _texts(node: SchemaNode) -> Strategy:
    pattern = node.get("pattern")
    if isinstance(pattern, str):
        return _quantities() if pattern == QUANTITY_PATTERN else _matching(pattern)
    if "type" in node.keywords and node.keywords["type"].spelling == "timedelta":
        return _durations()
    form = str(node.get("format") or "").replace("-", "")
    if checker(form) is not None:
        return _FORMATS[form]()
    least, most = node.number("minLength", 0), node.number("maxLength", LONGEST)
    plain = st.text(min_size=least, max_size=max(least, min(most, LONGEST)))
    edges = [edge for edge in (*_EDGES, "a" * least, "a" * min(most, LONGEST)) if least <= len(edge) <= most]
    return st.one_of(plain, st.sampled_from(edges)) if edges else plain


def _integers(node: SchemaNode) -> Strategy:
    bits = 31 if node.get("format") == "int32" or node.is_int_or_string else 63
    step = node.get("multipleOf")
    by = int(step) if isinstance(step, int | float) and step >= 1 and float(step).is_integer() else 1
    low = -(-max(-(2**bits), math.ceil(node.number("minimum", -(2**bits)))) // by)
    high = min(2**bits - 1, math.floor(node.number("maximum", 2**bits - 1))) // by
    if low > high:
        raise ValueError("no whole number is within its limits")
    edges = [n for n in (low, low + 1, high - 1, high, -1, 1, 2**31 - 1, 2**31) if low <= n <= high]
    return st.one_of(st.integers(low, high), st.sampled_from((low, high)), st.sampled_from(edges)).map(lambda n: n * by)


def _numbers(node: SchemaNode) -> Strategy:
    step = node.get("multipleOf")
    if isinstance(step, int | float) and step:
        limits = {k: node.number(k, 10**9 * sign) / step for k, sign in (("minimum", -1), ("maximum", 1))}
        return st.integers(math.ceil(limits["minimum"]), math.floor(limits["maximum"])).map(lambda n: n * step)
    if node.number("minimum", -math.inf) > node.number("maximum", math.inf):
        raise ValueError("no number is within its limits")
    return st.floats(
        node.number("minimum", None),
        node.number("maximum", None),
        allow_nan=False,
        allow_infinity=False,
        exclude_min=bool(node.get("exclusiveMinimum")),
        exclude_max=bool(node.get("exclusiveMaximum")),
    )


def _matching(pattern: str) -> Strategy:
    for name, characters in _POSIX.items():
        pattern = pattern.replace(f"[:{name}:]", characters)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about nested sets, which RE2 does not have
            return st.from_regex(re.compile(pattern.replace(r"\z", r"\Z"), re.ASCII), fullmatch=True)
    except (re.error, OverflowError, ValueError) as error:
        raise ValueError(f"no string can be made from the pattern `{pattern}`: {error}") from error


def _quantities() -> Strategy:
    return st.from_regex(r"(0|[1-9][0-9]{0,4})(\.[0-9]{1,3})?(m|k|M|G|Ki|Mi|Gi|e3)?", fullmatch=True)


def _durations() -> Strategy:
    longest = timedelta(days=106_751)  # the range of Go's 64 bits of nanoseconds
    usual = st.timedeltas(timedelta(0), timedelta(hours=1))
    return st.one_of(usual, st.timedeltas(-longest, longest)).map(format_duration)


def _regex(pattern: str) -> Callable[[], Strategy]:
    return lambda: st.from_regex(pattern, fullmatch=True)


def _networks() -> Strategy:
    four = st.tuples(st.ip_addresses(v=4), st.integers(0, 32))
    return st.one_of(four, st.tuples(st.ip_addresses(v=6), st.integers(0, 128))).map(
        lambda pair: f"{pair[0]}/{pair[1]}"
    )


def _uuids(version: Any = None) -> Callable[[], Strategy]:
    return lambda: st.uuids(version=version).map(str)


# One for each format that an API server checks.
_FORMATS: dict[str, Callable[[], Strategy]] = {
    "bsonobjectid": _regex("[0-9a-f]{24}"),
    "byte": lambda: st.binary(min_size=1).map(lambda value: base64.b64encode(value).decode()),
    "cidr": _networks,
    "creditcard": lambda: st.sampled_from(("4111111111111111", "378282246310005")),
    "date": lambda: st.dates().map(str),
    "datetime": lambda: st.datetimes().map(lambda value: f"{value.isoformat(timespec='seconds')}Z"),
    "duration": _durations,
    "email": st.emails,
    "hexcolor": _regex("#?([0-9a-f]{3}|[0-9a-fA-F]{6})"),
    "hostname": domains,
    "ipv4": lambda: st.ip_addresses(v=4).map(str),
    "ipv6": lambda: st.ip_addresses(v=6).map(str),
    "isbn": lambda: st.sampled_from(("0306406152", "9780306406157")),
    "isbn10": lambda: st.sampled_from(("0306406152", "080442957X")),
    "isbn13": lambda: st.just("9780306406157"),
    "k8slongname": _regex(rf"{_DNS_LABEL}(\.[a-z0-9]{{1,20}}){{0,3}}"),
    "k8sshortname": dns_labels,
    "mac": _regex("[0-9a-f]{2}(:[0-9a-f]{2}){5}"),
    "rgbcolor": lambda: st.tuples(*[st.integers(0, 255)] * 3).map("rgb(%d,%d,%d)".__mod__),
    "ssn": _regex("[0-9]{3}-[0-9]{2}-[0-9]{4}"),
    "uri": urls,
    "uuid": _uuids(),
    "uuid3": _uuids(3),
    "uuid4": _uuids(4),
    "uuid5": _uuids(5),
}


LARGEST = 80
"""The maximum of fields and items in a value: enough for a pod template, and within hypothesis' limit of an example."""
TRIES = 20
UNKNOWN = "unknownToThisVersion"

_PRESERVE = "x-kubernetes-preserve-unknown-fields"
_METADATA = frozenset({"annotations", "finalizers", "labels", "name", "namespace"})
_ABSENT = object()
# With one of these, a drawn value may be invalid: for any type, and for scalars.
_MORE = frozenset({"anyOf", "oneOf", "not", "minProperties", "maxProperties"})
_MORE_OF_SCALARS = frozenset({"pattern", "format", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"})
_EITHER = [{"type": "integer"}, {"type": "string"}]
"""The ``anyOf`` of an int-or-string, which adds nothing."""

# The stricter of the two.
_JOIN: Mapping[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("minimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "maxLength", "maxItems", "maxProperties"), min),
    "pattern": lambda one, other: max(one, other, key=len),
    "enum": lambda one, other: [value for value in one if value in other],
    "required": lambda one, other: [*one, *other],
}


class UnsatisfiableFieldError(ValueError):
    """No value of a field was found that its type accepts.

    Attributes:
        path: The field, in wire names: ``spec.ports[].name``.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        super().__init__(
            f"no value of `{path}` was found: {reason}\n"
            f'to make one: overrides={{"{path}": lambda random: ...}}, or a strategy of hypothesis'
        )


class NothingFitsError(UnsatisfiedAssumption):
    """No value of a field was found this time. Hypothesis tries another object."""

    def __init__(self, path: str, reason: str, tries: int) -> None:
        super().__init__(reason)
        self.path = path
        self.tries = tries


_KEYS = st.one_of(st.sampled_from(("a", "b", "example.com/c")), st.text(min_size=1, max_size=10))
_RARELY = st.integers(0, 9).map(lambda number: number == 9)
_JSON: Strategy = st.recursive(
    st.one_of(st.booleans(), st.integers(-(2**53), 2**53), st.just(0.5), st.text(max_size=10)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(_KEYS, inner, max_size=2)),
    max_leaves=4,
)


def values_of(node: SchemaNode, overrides: Mapping[str, Strategy] | None = None) -> Strategy:
    """Return a strategy for the values of a schema.

    Args:
        node: A schema without references.
        overrides: What to draw instead, by path: ``spec.ports[].name``, ``spec.limits.*``. ``None``
            omits a field.
    """
    values = _Values(overrides or {})

    def draw_value(draw: st.DrawFn) -> Any:
        values.left = LARGEST
        values.full = draw(_RARELY)
        return draw(values.of(node, ""))

    return _made(draw_value)


class _Values:
    """Strategies for the parts of a schema. Each is made once, on first use.

    Attributes:
        full: Whether to draw every possible field.
        left: How many more fields and items may be drawn.
    """

    def __init__(self, overrides: Mapping[str, Strategy]) -> None:
        self.full = False
        self.left = LARGEST
        self._overrides = overrides
        self._made: dict[tuple[int, str], tuple[SchemaNode, Strategy]] = {}

    def of(self, node: SchemaNode, path: str) -> Strategy:
        """Return a strategy for the values of a part."""
        key = id(node), path
        if key not in self._made:
            made = self._overrides[path] if path in self._overrides else self._fitting(node, path)
            self._made[key] = node, made  # with the node, so that its `id` is not reused
        return self._made[key][1]

    def _fitting(self, node: SchemaNode, path: str) -> Strategy:
        found, reason = [], ""
        for way in ways(node):
            try:
                found.append(self._shaped(way, path))
            except ValueError as error:
                reason = str(error)
        if not found:
            raise UnsatisfiableFieldError(path, reason)
        made = st.one_of(found)
        if node.get("nullable") and "enum" not in node.keywords:  # a server refuses null in an enum
            made = st.one_of(made, st.none())
        more = _MORE if node.type in ("object", "array") else _MORE | _MORE_OF_SCALARS
        is_sure = not any(name in more and said.value != _EITHER for name, said in node.keywords.items())
        return made if is_sure and not node.all_of and not node.rules else _checked(made, node, path)

    def _shaped(self, node: SchemaNode, path: str) -> Strategy:
        """Values of the type that a schema has.

        Raises:
            ValueError: The schema allows no value, or values cannot be generated.
        """
        enum = node.get("enum")
        if isinstance(enum, list):
            values = [value for value in enum if value is not None]
            return st.sampled_from(values) if values else st.nothing()
        match node.type:
            case "object":
                is_metadata = node.properties is not None and node.properties.keys() == _METADATA
                return metadata() if is_metadata else self._object(node, path)
            case "array":
                return self._list(node, path)
        made = scalars(node)
        return _JSON if made is None else made

    def _object(self, node: SchemaNode, path: str) -> Strategy:
        properties = dict(node.properties or {})
        named = node.get("required")
        must = {name for name, prop in properties.items() if prop.required or _join(path, name) in self._overrides}
        must |= properties.keys() & set(named if isinstance(named, list) else ())
        optional = [name for name in properties if name not in must]
        parts = {name: lambda name=name: self.of(properties[name].schema, _join(path, name)) for name in properties}
        some = st.lists(_pair(parts, optional), max_size=len(optional), unique_by=lambda pair: pair[0])

        def is_left_out(name: str, value: Any) -> bool:
            return value is _ABSENT or (value is None and _join(path, name) in self._overrides)

        def draw_object(draw: st.DrawFn) -> dict[str, Any]:
            self.left -= 1
            made = {name: draw(parts[name]()) for name in properties if name in must}
            if self.full:
                made |= {name: _optional(draw, parts[name]()) for name in optional if self.left > 0}
            elif optional and self.left > 0:
                made |= draw(some)
            made = {name: made[name] for name in properties if name in made and not is_left_out(name, made[name])}
            if node.get("x-kubernetes-embedded-resource"):
                made |= {"apiVersion": "v1", "kind": "ConfigMap"}
                made |= {"metadata": draw(metadata(dns_labels()))} if draw(st.booleans()) else {}
            others = self._others(node, path)
            return made if others is None else {**draw(others), **made}

        return _made(draw_object)

    def _others(self, node: SchemaNode, path: str) -> Strategy | None:
        """Draw other fields of an object: the entries of a map, unknown fields."""
        if node.values is not None:
            least, most = self._size(node, "Properties")
            return st.dictionaries(_KEYS, self.of(node.values, _join(path, "*")), min_size=least, max_size=most)
        if node.get(_PRESERVE):
            return st.dictionaries(st.just(UNKNOWN) if node.properties else _KEYS, _JSON, max_size=2)
        return None

    def _list(self, node: SchemaNode, path: str) -> Strategy:
        unique_by = _identity(node)

        def draw_list(draw: st.DrawFn) -> list[Any]:
            least, most = self._size(node, "Items")
            items = self.of(node.items or SchemaNode(), f"{path}[]")
            return draw(st.lists(items, unique_by=unique_by, min_size=least, max_size=most))

        return _made(draw_list)

    def _size(self, node: SchemaNode, of: str) -> tuple[int, int]:
        low, high = node.get(f"min{of}"), node.get(f"max{of}")
        least = low if isinstance(low, int) else 0
        usual = least + (4 if self.left > LARGEST // 2 else 1 if self.left > 0 else 0)
        self.left -= 1
        return least, max(least, min(usual, high)) if isinstance(high, int) else usual


@st.composite
def _made(draw: st.DrawFn, make: Callable[[st.DrawFn], Any]) -> Any:
    """Apply ``st.composite`` once: it reads the source of its function, which takes too long for each part."""
    return make(draw)


@st.composite
def _pair(draw: st.DrawFn, parts: Mapping[str, Callable[[], Strategy]], names: list[str]) -> tuple[str, Any]:
    name = draw(st.sampled_from(names))
    return name, _optional(draw, parts[name]())


def _optional(draw: st.DrawFn, values: Strategy) -> Any:
    """Draw a value, or omit it if none was found: an object without it is valid, too."""
    try:
        return draw(values)
    except NothingFitsError:
        return _ABSENT


@st.composite
def _checked(draw: st.DrawFn, values: Strategy, node: SchemaNode, path: str) -> Any:
    """Draw a valid value. An invalid one is drawn again."""
    for _ in range(TRIES):
        value = draw(values)
        shaped = value if path else _with_own_metadata(value, node)
        if not any(misfits(shaped, node)) and not _breaks(value, node):
            return value
    raise NothingFitsError(path, "none of the values that were tried fits its schema", TRIES)


def _with_own_metadata(value: Any, node: SchemaNode) -> Any:
    """An object with the metadata that its schema knows. A server has its own rules for the rest."""
    prop = (node.properties or {}).get("metadata")
    if prop is None or not isinstance(value, dict) or not isinstance(value.get("metadata"), dict):
        return value
    known = prop.schema.properties or {}
    return {**value, "metadata": {name: item for name, item in value["metadata"].items() if name in known}}


def _breaks(value: Any, node: SchemaNode) -> bool:
    """Whether a value certainly violates a rule of its schema. Transition rules do not apply to new objects."""
    rules = [rule.rule for rule in node.rules if "oldSelf" not in rule.rule]
    judged = with_defaults(value, node) if rules else value
    return any(verdict(rule, judged, node, matches=is_match) is not None for rule in rules)


@st.composite
def metadata(draw: st.DrawFn, names: Strategy | None = None) -> dict[str, Any]:
    """Metadata that every API server accepts, also in objects made from a template."""
    found: dict[str, Any] = {} if names is None else {"name": draw(names)}
    values = {"labels": st.just("") | st.just("A.b_c-1") | dns_labels(), "annotations": st.text(max_size=10)}
    for field, texts in values.items():
        if draw(st.integers(0, 3)) == 3:
            found[field] = draw(st.dictionaries(_label_keys(), texts, max_size=3))
    return found


def _label_keys() -> Strategy:
    return st.tuples(st.sampled_from(("", "example.com/")), dns_labels()).map("".join)


def _identity(node: SchemaNode) -> Callable[[Any], str] | None:
    """The keys that must be unique among the items of a list."""
    keys = node.get("x-kubernetes-list-map-keys")
    match node.get("x-kubernetes-list-type"):
        case "set":
            return _text_of
        case "map" if isinstance(keys, list) and node.items is not None and node.items.properties:
            defaults = {key: node.items.properties[key].schema.get("default") for key in keys}
            return lambda item: _text_of([item.get(key, default) for key, default in defaults.items()])
    return None


def _text_of(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def ways(node: SchemaNode) -> Iterator[SchemaNode]:
    """Yield the schema narrowed by each choice. Check the values: some choices cannot be merged into one schema."""
    choices = []
    for name in ("anyOf", "oneOf"):
        parts = node.get(name)
        if isinstance(parts, list) and parts and parts != _EITHER:
            choices.append([patched(SchemaNode(), part) for part in parts])
    for way in itertools.product(*choices):
        made = node
        for part in (*node.all_of, *way):
            made = _narrowed(made, part)
        yield made


def _narrowed(node: SchemaNode, part: SchemaNode) -> SchemaNode:
    keywords = dict(node.keywords)
    for name, said in part.keywords.items():
        old = keywords.setdefault(name, said)
        if old is not said and name in _JOIN:
            keywords[name] = Keyword(_JOIN[name](old.value, said.value))
    properties = dict(node.properties or {})
    for name, prop in (part.properties or {}).items():
        if name in properties:
            own = properties[name]
            schema = next(ways(replace(_narrowed(own.schema, prop.schema), all_of=prop.schema.all_of)))
            properties[name] = replace(own, schema=schema, required=own.required or prop.required)
    items = node.items if node.items is None or part.items is None else _narrowed(node.items, part.items)
    return replace(node, keywords=keywords, properties=properties if node.properties else None, items=items)


__all__ = [
    "NothingFitsError",
    "Override",
    "UnsatisfiableFieldError",
    "drawn_objects",
    "manifests_of",
    "objects_of",
    "smallest",
]

Override = Strategy | Callable[[Random], Any]
"""Makes the value of a field, in wire form or as a Python value. ``None`` omits the field."""

T = TypeVar("T")
StructT = TypeVar("StructT", bound=Struct)

HOPELESS = 180
"""How many invalid values are drawn, without a valid object, before the search stops.

Hypothesis tries more, and its error would not name the field. It tries the plain objects before this limit.
"""
REFUSED_BY_CLASS = 4
"""The class is called once for each object, the schema many times."""


def objects_of(kind: type[StructT], *, overrides: Mapping[str, Override] | None = None) -> st.SearchStrategy[StructT]:
    """Return a hypothesis strategy for objects of a kind, or of any struct, that an API server accepts.

    ::

        @given(objects_of(VirtulMachine, overrides={"spec.cpu": st.integers(1, 8)}))
        def test_any_machine_gets_a_deployment(machine: VirtulMachine) -> None:
            assert deployment_of(machine).spec is not None

    The objects obey the kind's schema (types, annotations and markers) and the CEL rules that can
    be evaluated without a server. If the class refuses more, optional fields that it refuses are
    omitted.

    Args:
        kind: The type.
        overrides: How to make fields with rules beyond their schema, by path in wire names:
            ``{"spec.cpu": st.integers(1, 8).map(str)}``, or ``lambda random: str(random.randint(1, 8))``. ``[]`` stands
            for the items of a list, ``*`` for the values of a map: ``spec.ports[].name``, ``spec.limits.*``.

    Raises:
        ValueError: The path of an override does not lead to a field. While drawing,
            ``UnsatisfiableFieldError``: a field accepted no value that was tried.
    """
    check_paths(overrides or (), [kind])
    return drawn_objects(kind, overrides or {})


def drawn_objects(kind: type[StructT], overrides: Mapping[str, Override]) -> st.SearchStrategy[StructT]:
    """Like :func:`objects_of`, with overrides that may be for other types too."""
    node = _schema_of(kind)
    made = {path: _strategy(override) for path, override in overrides.items()}
    if issubclass(kind, Object):
        gvk = getattr(kind, "gvk", None)  # a class may only be the base of others
        made = _identified(gvk.api_version if gvk else "v1", gvk.kind if gvk else kind.__name__, node) | made
    wires = values_of(node, made)
    wasted = 0

    @st.composite
    def an_object(draw: st.DrawFn) -> StructT:
        nonlocal wasted
        try:
            found = _accepted(kind, draw(wires), node)
        except NothingFitsError as error:
            wasted += error.tries
            if wasted >= HOPELESS:
                raise UnsatisfiableFieldError(error.path, error.reason or "") from error
            raise
        wasted = -sys.maxsize
        return found

    return an_object()


def smallest(objects: st.SearchStrategy[Any], shown: Callable[[Any], T | None], *, samples: int, seed: int) -> T | None:
    """Return the finding of the smallest object, or ``None`` if none of the samples has one.

    The same seed tries the same objects. Nothing is remembered between runs.
    """
    found: list[T] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=samples,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=tuple(HealthCheck),
        report_multiple_bugs=False,
    )
    @hypothesis.given(objects)
    def look(obj: Any) -> None:
        result = shown(obj)
        if result is not None:
            found.append(result)
            raise _FoundError

    # The last one belongs to the smallest object, even if the same object does not always have the
    # same finding.
    with contextlib.suppress(_FoundError, Flaky):
        look()
    return found[-1] if found else None


class _FoundError(Exception):
    """Signals to hypothesis that an object has a finding."""


def check_paths(texts: Iterable[str], kinds: Iterable[type[BaseModel]]) -> None:
    """Refuse paths that do not lead to a field. They would otherwise have no effect.

    Args:
        texts: The paths.
        kinds: A path must lead to a field of one of them.

    Raises:
        ValueError: A path does not lead to a field.
    """
    for text in texts:
        reasons = [why_no_field(_schema_of(kind), parse_path(text), kind.__name__) for kind in kinds]
        if "" not in reasons:
            raise ValueError(f"`{text}` does not lead to a field: {' and '.join(dict.fromkeys(reasons))}")


@lru_cache(maxsize=64)
def _schema_of(kind: type[BaseModel]) -> SchemaNode:
    """The schema of a class. `pykb generate` reports its mistakes. Metadata is like that of a template."""
    diagnostics = Diagnostics()
    declarations = Declarations(Path.cwd(), builtin_registry(), diagnostics)
    node = Resolver(declarations, diagnostics, SchemaOptions(allow_dangerous_types=True)).schema_of(kind)
    for marker in declarations.named(kind).markers:
        if marker.name == "kubebuilder:subresource:scale":
            node = _scaled(node, str(marker.arguments["specpath"]), str(marker.arguments["statuspath"]))
    return node


def _schema_in(version: Mapping[str, Any]) -> SchemaNode:
    """The schema of a version of a CustomResourceDefinition."""
    every_kind = {"type": "object", "properties": {name: {} for name in ("apiVersion", "kind", "metadata")}}
    node = patched(patched(SchemaNode(), every_kind), version["schema"]["openAPIV3Schema"])
    scale = (version.get("subresources") or {}).get("scale")
    return _scaled(node, scale["specReplicasPath"], scale["statusReplicasPath"]) if scale else node


def _scaled(node: SchemaNode, *paths: str) -> SchemaNode:
    """Restrict numbers of replicas to what the API server accepts, whatever their schema says."""
    for path in paths:
        patch: dict[str, Any] = {"minimum": 0, "format": "int32"}
        for name in reversed(path.strip(".").split(".")):
            patch = {"properties": {name: patch}}
        node = patched(node, patch)
    return node


def manifests_of(definition: Mapping[str, Any], version: str) -> Strategy:
    """Return a strategy for objects in wire form, from the CustomResourceDefinition alone."""
    spec = definition["spec"]
    node = _schema_in(next(found for found in spec["versions"] if found["name"] == version))
    return values_of(node, _identified(f"{spec['group']}/{version}", spec["names"]["kind"], node))


def _identified(api_version: str, kind: str, node: SchemaNode) -> dict[str, Strategy]:
    """The identity of an object. A schema may constrain its name."""
    own = (node.properties or {})["metadata"].schema.properties or {}
    names = dns_labels()
    if "name" in own and own["name"].schema.keywords.keys() > {"type"}:
        names = (names | values_of(own["name"].schema)).filter(
            lambda name: is_subdomain(name) and not any(misfits(name, own["name"].schema))
        )
    return {"apiVersion": st.just(api_version), "kind": st.just(kind), "metadata": metadata(names)}


def _strategy(override: Override) -> Strategy:
    made = st.randoms(use_true_random=False).map(override) if callable(override) else override
    return made.map(encode)


def _accepted(kind: type[StructT], wire: Any, node: SchemaNode) -> StructT:
    """Return the object without the parts that its class refuses.

    Raises:
        NothingFitsError: The class refuses a required part.
    """
    while True:
        try:
            found = kind.from_wire(wire)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = _deepest(wire, first["loc"])
            shown = place[:-1] if "[key]" in first["loc"] else place or first["loc"]
            if place:
                _remove(wire, place)
            if not place or any(misfits(wire, node)):
                raise NothingFitsError(_path(shown), first["msg"], REFUSED_BY_CLASS) from error
        else:
            return found


def _deepest(wire: Any, place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """The longest existing prefix of an error's location. The rest names members of unions or missing fields."""
    for index, part in enumerate(place):
        is_there = part in (wire if isinstance(wire, dict) else range(len(wire)) if isinstance(wire, list) else ())
        if not is_there:
            return place[:index]
        wire = wire[part]
    return place


def _remove(wire: Any, place: tuple[int | str, ...]) -> None:
    for part in place[:-1]:
        wire = wire[part]
    del wire[place[-1]]


def _path(place: tuple[int | str, ...]) -> str:
    path = ""
    for part in place:
        path += "[]" if isinstance(part, int) else f".{part}" if path else part
    return path or "metadata"
