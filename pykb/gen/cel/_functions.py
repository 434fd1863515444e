"""The functions that a CRD's rules can call.

Source: https://kubernetes.io/docs/reference/using-api/cel/, with the libraries up to Kubernetes 1.36.
"""

from __future__ import annotations

from pykb.gen.cel._overloads import function_names, namespaces

TYPES = frozenset(
    [
        "bool",
        "bytes",
        "double",
        "duration",
        "dyn",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "timestamp",
        "type",
        "uint",
    ]
)
NAMESPACES = namespaces() | {"google"}
ONE_VARIABLE = frozenset(
    [
        *("all", "exists", "exists_one", "existsOne", "filter", "map", "optFlatMap", "optMap", "sortBy"),
        *("transformList", "transformMap", "transformMapEntry"),
    ],
)
FUNCTIONS = function_names() | ONE_VARIABLE | {"has", "in"}
