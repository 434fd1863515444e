"""The syntax of names, labels and annotations, in the words of the API server.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and the pages on labels and annotations
next to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from pykb.fake._http import cause

Causes = list[dict[str, str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_LABEL_RULE = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SUBDOMAIN = f"{_LABEL}(\\.{_LABEL})*"
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_WORD = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_WORD_RULE = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_WORD}')"
)
_VALUE_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_WORD})?')"
)


def bad(field: str, value: Any, why: str) -> dict[str, str]:
    """A value that breaks a rule."""
    shown = f'"{value}"' if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return cause(field, "FieldValueInvalid", f"Invalid value: {shown}: {why}")


def subdomain_mistakes(name: str, field: str, *, shown: str = "") -> Causes:
    """How a name is no DNS subdomain. Another text may be judged in place of it."""
    found = [] if len(name) <= 253 else [bad(field, name, "must be no more than 253 characters")]
    return found if re.fullmatch(_SUBDOMAIN, shown or name) else [*found, bad(field, name, _SUBDOMAIN_RULE)]


def dns_label_mistakes(name: str, field: str) -> Causes:
    """How a name is no DNS label."""
    found = [] if len(name) <= 63 else [bad(field, name, "must be no more than 63 characters")]
    return found if re.fullmatch(_LABEL, name) else [*found, bad(field, name, _LABEL_RULE)]


def label_mistakes(labels: Mapping[str, str], field: str) -> Causes:
    """How keys and values are no labels."""
    found: Causes = []
    for key, value in labels.items():
        found += key_mistakes(key, field, key)
        if len(value.encode()) > 63:
            found.append(bad(field, value, "must be no more than 63 bytes"))
        elif value and not re.fullmatch(_WORD, value):
            found.append(bad(field, value, _VALUE_RULE))
    return found


def key_mistakes(name: str, field: str, shown: str) -> Causes:
    """How a text is no key of a label or an annotation, which may have a prefix."""
    prefix, slash, word = name.rpartition("/")
    found = []
    if slash and not re.fullmatch(_SUBDOMAIN, prefix):
        found.append(bad(field, shown, f"prefix part {_SUBDOMAIN_RULE}"))
    if len(word) > 63:
        found.append(bad(field, shown, "name part must be no more than 63 bytes"))
    if not re.fullmatch(_WORD, word):
        found.append(bad(field, shown, _WORD_RULE))
    return found
