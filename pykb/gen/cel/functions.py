"""The functions that rules of a CRD can call.

Source: https://kubernetes.io/docs/reference/using-api/cel/, its libraries up to Kubernetes 1.36.
"""

from __future__ import annotations

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
NAMESPACES = frozenset(["base64", "format", "google", "ip", "lists", "math", "optional", "sets", "strings"])
ONE_VARIABLE = frozenset(
    [
        *("all", "exists", "exists_one", "existsOne", "filter", "map", "optFlatMap", "optMap", "sortBy"),
        *("transformList", "transformMap", "transformMapEntry"),
    ],
)
FUNCTIONS = frozenset(
    [
        *ONE_VARIABLE,
        *("has", "size", "type", "dyn", "in"),
        *("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"),
        *("contains", "endsWith", "matches", "startsWith"),
        *("charAt", "format", "indexOf", "join", "lastIndexOf", "lowerAscii", "quote", "replace", "reverse", "split"),
        *("substring", "trim", "upperAscii", "find", "findAll"),
        *("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds"),
        *("getMinutes", "getMonth", "getSeconds"),
        *("isSorted", "max", "min", "sum", "distinct", "first", "flatten", "last", "range", "slice", "sort"),
        *("equivalent", "intersects"),
        *("getEscapedPath", "getHost", "getHostname", "getPort", "getQuery", "getScheme", "isURL", "url"),
        *("add", "asApproximateFloat", "asInteger", "compareTo", "isGreaterThan", "isInteger", "isLessThan"),
        *("isQuantity", "quantity", "sign", "sub"),
        *("cidr", "containsCIDR", "containsIP", "family", "ip", "isCIDR", "isCanonical", "isGlobalUnicast", "isIP"),
        *("isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback", "isUnspecified", "masked", "prefixLength"),
        *("isSemver", "major", "minor", "patch", "semver"),
        *("dns1035Label", "dns1035LabelPrefix", "dns1123Label", "dns1123LabelPrefix", "dns1123Subdomain"),
        *("dns1123SubdomainPrefix", "byte", "date", "datetime", "labelValue", "named", "qualifiedName", "uri", "uuid"),
        *("validate",),
        *("hasValue", "none", "of", "ofNonZeroValue", "or", "orValue", "unwrap", "unwrapOpt", "value"),
    ],
)
