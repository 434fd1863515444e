"""Converts between Python attribute names and wire names."""

from __future__ import annotations

import re

_WORD = re.compile(
    r"""
    [A-Z]+s(?=[A-Z]|$)      # a plural acronym: IPs, CIDRs, URLs
    | [A-Z]+(?=[A-Z][a-z])  # an acronym before a word: the HTTP of HTTPGet
    | [A-Z]?[a-z0-9]+       # a word
    | [A-Z]+[0-9]*          # an acronym at the end: hostIP
    | [0-9]+
    """,
    re.VERBOSE,
)


def to_camel(attribute: str) -> str:
    """Return the wire name of an attribute that has no ``Wire`` annotation.

    A trailing underscore is dropped. It distinguishes an attribute from a keyword or a method.

    >>> to_camel("service_account_name"), to_camel("from_"), to_camel("ipv4_cidr")
    ('serviceAccountName', 'from', 'ipv4Cidr')
    """
    first, *rest = attribute.rstrip("_").split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def to_snake(wire_name: str) -> str:
    """Return the usual attribute name for a wire name. ``to_camel`` does not always reverse it.

    >>> to_snake("serviceAccountName"), to_snake("podIPs"), to_snake("httpGet"), to_snake("x-kubernetes-list-type")
    ('service_account_name', 'pod_ips', 'http_get', 'x_kubernetes_list_type')
    """
    return "_".join(words(wire_name)).lower()


def words(wire_name: str) -> list[str]:
    """Split a name into its words. Their case is kept.

    >>> words("hostIPs"), words("x-kubernetes")
    (['host', 'IPs'], ['x', 'kubernetes'])
    """
    return _WORD.findall(wire_name)
