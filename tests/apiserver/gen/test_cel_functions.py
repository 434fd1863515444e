"""The functions of CEL, and what they take, are those of a real API server: no more, and no fewer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from random import Random

import pytest

from pykb.envtest.rest import Rest
from pykb.gen._since import missing
from pykb.gen.cel.resolve import FUNCTIONS, NAMESPACES, ONE_VARIABLE, _table, resolve
from pykb.gen.cel.syntax import parse
from pykb.gen.cel.types import CelType
from pykb.gen.lower.scalars import node_of
from pykb.project.settings import NEWEST

pytestmark = pytest.mark.apiserver

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All"
SAMPLES = {
    "string": "'1'", "int": "1", "uint": "1u", "double": "1.5", "bool": "true", "bytes": "b'1'",
    "duration": "duration('1s')", "timestamp": "timestamp('2024-01-01T00:00:00Z')", "url": "url('https://a.b')",
    "quantity": "quantity('1')", "ip": "ip('1.1.1.1')", "cidr": "cidr('10.0.0.0/8')", "semver": "semver('1.0.0')",
    "format": "format.byte()",
}  # fmt: skip
CONSTANTS = {"semver", "timestamp", "duration", "quantity", "bool", "url", "ip", "cidr"}
"""What judges the text of a constant when it compiles: that is another matter than its type."""
CALLS_BY_CHANCE = 1500


def sample(kind: CelType) -> str:
    """An expression of a type."""
    match kind.kind:
        case "list":
            return f"[{sample(kind.of[0])}]"
        case "map":
            return f"{{{sample(kind.of[0])}: {sample(kind.of[1])}}}"
        case "optional":
            return f"optional.of({sample(kind.of[0])})"
    return SAMPLES.get(kind.kind, "1")


def written(key: str, arguments: list[str]) -> str:
    """A call of a function of the table."""
    if key.startswith("."):
        return f"{arguments[0]}{key}({', '.join(arguments[1:])})"
    return f"{key}({', '.join(arguments)})"


def calls_of_the_table() -> Iterator[str]:
    """Every function on values of every type that it takes."""
    for key, overloads in _table().items():
        if key.startswith("_") or key in CONSTANTS:
            continue
        for overload in overloads:
            for kinds in product(*overload.parameters):
                yield written(key, [sample(kind) for kind in kinds])


def calls_by_chance() -> Iterator[str]:
    """Every name behind, before and around values of any type."""
    values = [*SAMPLES.values(), "[1]", "['1']", "{'1': 1}", "optional.of(1)", "[optional.of(1)]", "[[1]]"]
    names = sorted(FUNCTIONS - ONE_VARIABLE - CONSTANTS - {"in", "has"})
    every = [f"{value}.{name}({more})" for name in names for value in values for more in ("", "1", "'1'", value)]
    every += [f"{name}({value})" for name in names for value in values]
    every += [f"{space}.{name}({value})" for space in sorted(NAMESPACES) for name in names for value in ("", *values)]
    yield from Random(0).sample(every, CALLS_BY_CHANCE)


def complaint(rule: str, minor: int = NEWEST[1]) -> str:
    """What pykb says about the names and types of a rule, if the project supports servers of this version."""
    found = resolve(parse(rule), node_of({"type": "integer"}), is_root=False)
    assert found is not None
    lacking = [feature.name for feature, _, _ in missing(found.uses, (NEWEST[0], minor))]
    unknown = [each.name for each in found.unknown]
    return "; ".join([*lacking, *unknown, *(mistype.message for mistype in found.mistyped)])


AT_ONCE = 400
"""Rules in one request: an error keeps a thousand causes."""


def complaints(rules: list[str], rest: Rest) -> dict[str, str]:
    """What the server says about the names and types of rules; their cost and their constants are passed over."""
    found: dict[str, str] = {}
    for start in range(0, len(rules), AT_ONCE):
        found |= _complaints(rules[start : start + AT_ONCE], rest)
    return found


def _complaints(rules: list[str], rest: Rest) -> dict[str, str]:
    properties = {
        f"f{index}": {"type": "integer", "x-kubernetes-validations": [{"rule": rule}]}
        for index, rule in enumerate(rules)
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    names = {"plural": "judges", "singular": "judge", "kind": "Judge", "listKind": "JudgeList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    answer = rest.call(
        "POST",
        CRDS,
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "judges.judged.example.com"},
            "spec": {"group": "judged.example.com", "scope": "Namespaced", "names": names, "versions": [version]},
        },
    )
    found: dict[str, str] = {}
    for cause in (answer.body.get("details") or {}).get("causes") or ():
        match = re.search(r"properties\[f([0-9]+)\]", cause["field"])
        if match and re.search(r"found no matching overload|undeclared reference|must evaluate to", cause["message"]):
            found[rules[int(match[1])]] = cause["message"]
    return found


@pytest.mark.parametrize("calls", [calls_of_the_table, calls_by_chance])
def test_calls_are_judged_as_the_server_judges_them(calls, rest: Rest, server_minor: int) -> None:
    """What pykb calls unknown or misfit the server refuses, and nothing else."""
    rules = [f"[{call}].size() > 0" for call in dict.fromkeys(calls())]
    theirs = complaints(rules, rest)
    ours = {rule: complaint(rule, server_minor) for rule in rules}
    assert [rule for rule in rules if ours[rule] and rule not in theirs] == []
    assert [(rule, theirs[rule]) for rule in rules if rule in theirs and not ours[rule]] == []


def test_functions_that_give_a_truth_value_are_rules(rest: Rest, server_minor: int) -> None:
    """A rule is nothing but such a call, on the value itself."""
    rules = [
        "ip.isCanonical(string(self))",
        "lists.range(self).map(i, i > 0)[0]",
        "[self > 1].first().value()",
        "[[self > 1]].flatten()[0]",
        "[self > 1].reverse().distinct().slice(0, 1).sort()[0]",
        "optional.unwrap([optional.of(self > 1)])[0]",
        "[optional.of(self > 1)].unwrapOpt()[0]",
        "[self].transformList(i, x, x > i)[0]",
        "{'a': self}.transformMap(k, v, v > 1)['a']",
        "[self > 1].sortBy(x, x)[0]",
        "!format.dns1123Label().validate(string(self)).hasValue()",
        "[self > 1].max()",
    ]
    assert set(complaints(rules, rest)) == {rule for rule in rules if complaint(rule, server_minor)}
    for rule in rules:
        found = resolve(parse(rule), node_of({"type": "integer"}), is_root=False)
        assert found is not None
        assert (rule, str(found.type), complaint(rule)) == (rule, "bool", "")


def test_macros_of_two_variables_do_not_take_one(rest: Rest) -> None:
    """`exists_one` takes one, its newer name does not."""
    rules = [
        "[self].existsOne(x, x > 1)",
        "[self].transformList(x, x > 1)[0]",
        "{'a': self}.transformMap(k, k == 'a')['a']",
        "{'a': self}.transformMapEntry(k, {k: true})['a']",
    ]
    assert complaints(rules, rest).keys() == set(rules)
    assert [complaint(rule).partition(";")[0] for rule in rules] == [
        "existsOne",
        "transformList",
        "transformMap",
        "transformMapEntry",
    ]
    right = [
        "[self].exists_one(x, x > 1) && [self].existsOne(i, x, x > i)",
        "[self].transformList(i, x, i < x, x > 1)[0] && {'a': self}.transformMap(k, x, k != '', x > 1)['a']",
        "[self].map(x, x > 1, x > 2)[0]",
    ]
    assert complaints(right, rest) == {}
    assert [complaint(rule) for rule in right] == [""] * 3


def test_a_function_of_the_newest_library_is_not_for_new_rules(rest: Rest) -> None:
    """The API server knows it in stored rules only, so that the release before can read each new one."""
    rule = "[self].includes(1)"
    assert "undeclared reference to 'includes'" in complaints([rule], rest)[rule]
    assert complaint(rule) == "includes"
