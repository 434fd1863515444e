"""Texts and numbers that a schema allows, including edge cases."""

from __future__ import annotations

import base64
import math
import re
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.provisional import domains, urls

from pykb.api.formats import checker
from pykb.api.time import format_duration
from pykb.gen.ir import SchemaNode
from pykb.gen.lower.scalars import QUANTITY_PATTERN

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
    least, most = _bound(node, "minLength", 0), _bound(node, "maxLength", LONGEST)
    plain = st.text(min_size=least, max_size=max(least, min(most, LONGEST)))
    edges = [edge for edge in (*_EDGES, "a" * least, "a" * min(most, LONGEST)) if least <= len(edge) <= most]
    return st.one_of(plain, st.sampled_from(edges)) if edges else plain


def _integers(node: SchemaNode) -> Strategy:
    bits = 31 if node.get("format") == "int32" or node.is_int_or_string else 63
    step = node.get("multipleOf")
    by = int(step) if isinstance(step, int | float) and step >= 1 and float(step).is_integer() else 1
    low = -(-max(-(2**bits), math.ceil(_bound(node, "minimum", -(2**bits)))) // by)
    high = min(2**bits - 1, math.floor(_bound(node, "maximum", 2**bits - 1))) // by
    if low > high:
        raise ValueError("no whole number is within its limits")
    edges = [n for n in (low, low + 1, high - 1, high, -1, 1, 2**31 - 1, 2**31) if low <= n <= high]
    return st.one_of(st.integers(low, high), st.sampled_from((low, high)), st.sampled_from(edges)).map(lambda n: n * by)


def _numbers(node: SchemaNode) -> Strategy:
    step = node.get("multipleOf")
    if isinstance(step, int | float) and step:
        limits = {k: _bound(node, k, 10**9 * sign) / step for k, sign in (("minimum", -1), ("maximum", 1))}
        return st.integers(math.ceil(limits["minimum"]), math.floor(limits["maximum"])).map(lambda n: n * step)
    if _bound(node, "minimum", -math.inf) > _bound(node, "maximum", math.inf):
        raise ValueError("no number is within its limits")
    return st.floats(
        _bound(node, "minimum", None),
        _bound(node, "maximum", None),
        allow_nan=False,
        allow_infinity=False,
        exclude_min=bool(node.get("exclusiveMinimum")),
        exclude_max=bool(node.get("exclusiveMaximum")),
    )


def _bound(node: SchemaNode, keyword: str, default: Any) -> Any:
    found = node.get(keyword)
    return found if isinstance(found, int | float) else default


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
