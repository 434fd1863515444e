"""CEL rules for hostile projects: on values of any type, right for some of them."""

from __future__ import annotations

from random import Random

METHODS = [
    *("size()", "contains('a')", "startsWith('a')", "endsWith('a')", "matches('^a+$')", "matches(self)", "lowerAscii()", "trim()"),
    *("split(',')", "replace('a', 'b')", "substring(1)", "substring(0, 2)", "indexOf('a')", "lastIndexOf('a')", "charAt(0)"),
    *("find('[0-9]+')", "findAll('[0-9]+')", "isSorted()", "sum()", "min()", "max()", "join(',')", "join()", "indexOf(1)"),
    *("all(x, x > 1)", "exists(x, x == 'a')", "exists_one(x, x == self[0])", "map(x, x)", "filter(x, x != '')", "all(x, has(x.name))"),
    *("all(x, self.exists_one(y, x == y))", "map(x, x.name)", "all(k, self[k] != '')", "getHost()", "isGreaterThan(quantity('1'))"),
    *("getFullYear()", "getSeconds()", "getHours()", "hasValue()", "orValue(1)", "all(i, x, i < 3)", "transformList(i, x, x)"),
    *("name", "a", "b", "?a", "metadata.name", "metadata.labels", "spec", "kind", "zz", "n", "value.size()", "lives", "tags"),
    *("asInteger()", "sign()", "family()", "containsIP('1.2.3.4')", "format([1])", "upperAscii()", "reverse()", "first()", "last()"),
    *("distinct()", "sort()", "slice(0, 1)", "flatten()", "isSubset([1])", "matches('(')", "includes(1)", "compareTo(self)"),
]  # fmt: skip
FUNCTIONS = [
    *("size({})", "int({})", "string({})", "double({})", "type({})", "dyn({})", "bool({})", "bytes({})", "duration({})", "timestamp({})"),
    *("has({}.a)", "has({}.name)", "has({})", "!{}", "-{}", "[{}]", "{{'a': {}}}", "quantity({})", "isQuantity({})", "url({})", "isURL({})"),
    *("ip({})", "isIP({})", "cidr({})", "format.dns1123Label().validate({})", "semver({})", "isSemver({})", "sets.contains({}, [1])"),
    *("optional.of({})", "math.greatest({}, 1)", "{}[0]", "{}['a']", "{}[?0]", "({})", "uint({})", "cel.bind(v, {}, v)", "{}.{}"),
    *("sets.equivalent({}, ['a'])", "{}.orValue('')", "jsonpatch({})"),
]  # fmt: skip
COMPARISONS = [
    *("{} == 1", "{} == 'a'", "{} > 1", "{} != ''", "{} in ['a', 'b']", "{} in [1, 2]", "1 in {}", "'a' in {}", "{} == oldSelf"),
    *("{} == self", "{} >= oldSelf", "{} == null", "{} && true", "{} || {}", "{} ? true : false", "{} + 1 == 2", "{} + 'a' == 'b'"),
    *("{} == []", "{} == [1]", "{} == {{}}", "{} == true", "{} > 1.5", "{} < duration('1h')", "{} > timestamp('2020-01-01T00:00:00Z')"),
    *("{} % 2 == 0", "{} / 2 > 1", "{} * 2 > {}", "{} - {} == 0", "size({}) < 3", "{} == 1u", "{} == b'a'", "{} == type(1)", "{}"),
    *("oldSelf == null || {} == oldSelf", "oldSelf.orValue({}) == {}", "!oldSelf.hasValue() || true", "{} is int", "{} <= 'z'"),
]  # fmt: skip
WHOLE = [
    *("self == oldSelf", "true", "has(self.spec)", "self.metadata.name.size() < 10", "has(oldSelf.spec) || true", "self.spec == 3"),
    *("self.metadata.namespace == 'a'", "self.kind == 'Thing'", "self.status.phase == 'x'", "1 == 1 ? true : self", "false", ""),
    *("self.spec.a == oldSelf.spec.a", "!has(oldSelf.value) || has(self.value)", "self", "sel", "self.", "(self == 1", "self == 1)"),
    *("self == 'it''s'", 'self == "a"', "self.all(x, x", "// nothing", "self.namespace == 'a'", "self.__namespace__ == 'a'", " "),
]  # fmt: skip
MESSAGES = ["x", "", " ", "a\\nb", "it's", "100%", "a" * 300]
EXPRESSIONS = [
    "'x'",
    "'x' + self",
    "string(self)",
    "self",
    "1",
    "'",
    "'found %s'.format([self])",
    "''",
    "self.name",
    "oldSelf",
]
PATHS = [".a", ".spec", ".name", ".zz", "a", "", " ", ".a.b", "['a']", ".a[0]", ".spec.f0", ".metadata.name", ".tags"]
REASONS = ["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate", "Bad", ""]


def rule(rng: Random) -> str:
    """The text of a rule: a comparison of what methods and functions make of the value."""
    if rng.random() < 0.15:
        return rng.choice(WHOLE)
    value = "self"
    while rng.random() < 0.55:
        value = rng.choice(FUNCTIONS).replace("{}", value) if rng.random() < 0.3 else f"{value}.{rng.choice(METHODS)}"
    text = rng.choice(COMPARISONS).replace("{}", value).replace("{{", "{").replace("}}", "}")
    return f"{text} {rng.choice(['&&', '||'])} {rule(rng)}" if rng.random() < 0.1 else text


def extras(rng: Random) -> dict[str, str | bool]:
    """What may stand beside a rule, by its name on the wire."""
    found: dict[str, str | bool] = {}
    if rng.random() < 0.25:
        found["message"] = rng.choice(MESSAGES)
    if rng.random() < 0.12:
        found["messageExpression"] = rng.choice(EXPRESSIONS)
    if rng.random() < 0.08:
        found["reason"] = rng.choice(REASONS)
    if rng.random() < 0.08:
        found["fieldPath"] = rng.choice(PATHS)
    if rng.random() < 0.06:
        found["optionalOldSelf"] = rng.random() < 0.8
    return found
