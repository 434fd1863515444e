"""The normal form of RBAC rules: no permission is lost or won, and controller-gen's shape where it loses none."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pykb.gen._rbac import Rule, normalize

Permission = tuple[str | None, str | None, str | None, str | None, str]


def permissions(rules: Iterable[Rule]) -> set[Permission]:
    """All (group, resource, name, url, verb) that rules allow; `*` covers the other verbs of the same place."""
    found = {
        (group, resource, name, url, verb)
        for rule in rules
        for group in rule.groups or (None,)
        for resource in rule.resources or (None,)
        for name in rule.names or (None,)
        for url in rule.urls or (None,)
        for verb in rule.verbs
    }
    wild = {permission[:4] for permission in found if permission[4] == "*"}
    return {permission for permission in found if permission[4] == "*" or permission[:4] not in wild}


def rule(groups: str = "", resources: str = "", verbs: str = "", *, names: str = "", urls: str = "") -> Rule:
    """A rule from words; `-` is the core group."""
    return Rule.of(
        groups=["" if g == "-" else g for g in groups.split()],
        resources=resources.split(),
        names=names.split(),
        urls=urls.split(),
        verbs=verbs.split(),
    )


def some(values: str) -> st.SearchStrategy[list[str]]:
    """Lists out of a few words, so that collisions are frequent."""
    return st.lists(st.sampled_from(values.split()), max_size=3)


rules = st.builds(
    lambda groups, resources, names, urls, verbs: Rule.of(
        groups=groups, resources=resources, names=names, urls=urls, verbs=verbs or ["get"]
    ),
    some("core g1 g2"),
    some("a b c"),
    st.one_of(st.just([]), some("n m")),
    st.one_of(st.just([]), some("/x /y")),
    some("get list watch *"),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(rules, max_size=8))
def test_no_permission_is_lost_or_won(given_rules: list[Rule]) -> None:
    """The tuples that the output allows are those that the markers allow."""
    assert permissions(normalize(given_rules)) == permissions(given_rules)


@settings(max_examples=100, deadline=None)
@given(st.lists(rules, max_size=8), st.randoms())
def test_the_order_of_markers_does_not_matter(given_rules: list[Rule], chance: object) -> None:
    """The same markers in other files, or in another order, make the same bytes."""
    shuffled = list(given_rules)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    assert normalize(shuffled) == normalize(given_rules)


@settings(max_examples=200, deadline=None)
@given(st.lists(rules, max_size=8))
def test_no_two_rules_are_about_the_same_things(given_rules: list[Rule]) -> None:
    """Verbs of one place are in one rule."""
    keys = [r.key for r in normalize(given_rules)]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("markers", "expected"),
    [
        ([rule("core apps core", "pods", "list get get")], [rule("- apps", "pods", "get list")]),
        ([rule("apps", "b a", "get")], [rule("apps", "a b", "get")]),
        ([rule("apps", "a", "get"), rule("apps", "a", "list")], [rule("apps", "a", "get list")]),
        ([rule("apps", "a", "get"), rule("apps", "b", "get")], [rule("apps", "a b", "get")]),
        ([rule("g1", "a", "get"), rule("g2", "a", "get")], [rule("g1 g2", "a", "get")]),
        ([rule(urls="/x", verbs="get"), rule(urls="/y", verbs="get")], [rule(urls="/x /y", verbs="get")]),
        (
            [rule("apps", "a", "get", names="n"), rule("apps", "a", "get")],
            [rule("apps", "a", "get"), rule("apps", "a", "get", names="n")],
        ),
        (  # controller-gen writes `get` or `list`, at random
            [rule("g1", "a", "get"), rule("g2", "a", "get"), rule("g1 g2", "a", "list")],
            [rule("g1 g2", "a", "get list")],
        ),
        (  # and here `get` or `post`
            [rule(urls="/x", verbs="get"), rule(urls="/y", verbs="get"), rule(urls="/x /y", verbs="post")],
            [rule(urls="/x /y", verbs="get post")],
        ),
        (  # one round only: controller-gen does not merge these any further, so neither do we
            [rule("g1", "a", "get"), rule("g2", "a", "get"), rule("g1 g2", "b", "get")],
            [rule("g1 g2", "a", "get"), rule("g1 g2", "b", "get")],
        ),
        ([], []),
    ],
)
def test_rules_merge_as_those_of_controller_gen(markers: list[Rule], expected: list[Rule]) -> None:
    """Verbs, then resources, then groups, then URLs; sorted."""
    assert normalize(markers) == expected


def test_a_star_among_verbs_stands_alone() -> None:
    """It covers the others; only the object shows it."""
    assert rule("apps", "a", "get *").to_object() == {"apiGroups": ["apps"], "resources": ["a"], "verbs": ["*"]}
