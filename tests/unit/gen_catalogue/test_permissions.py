"""From markers to manifest, no permission is lost and none is won."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pykb.diagnostics import Diagnostics
from pykb.gen._rbac import generate_rbac
from pykb.markers.collect import collect
from pykb.markers.registry import builtin_registry

Permission = tuple[str, str, str, str, str, str, str]
"""Namespace, role, group, resource, name, URL, verb; what does not apply is empty, `*` is any name."""


def some(*values: str) -> st.SearchStrategy[list[str]]:
    """One to three of the values."""
    return st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)


RESOURCES = st.fixed_dictionaries(
    {
        "groups": some('""', "apps", "batch", "example.com"),
        "resources": some("pods", "jobs", "jobs/status", "things"),
        "verbs": some("get", "list", "watch", "update", "*"),
    },
    optional={
        "resourceNames": some("a", "b"),
        "namespace": st.sampled_from([["one"], ["two"]]),
        "roleName": st.sampled_from([["other"]]),
    },
)
URLS = st.fixed_dictionaries({"urls": some("/metrics", "/healthz"), "verbs": some("get", "post")})


def marker(arguments: dict[str, list[str]]) -> str:
    """The line of a marker."""
    return "# +kubebuilder:rbac:" + ",".join(f"{name}={';'.join(values)}" for name, values in arguments.items())


def asked(arguments: dict[str, list[str]]) -> Iterable[Permission]:
    """What a marker allows."""
    groups = [group.strip('"') for group in arguments.get("groups", [""])]
    place = (arguments.get("namespace", [""])[0], arguments.get("roleName", ["manager"])[0])
    parts = (
        groups,
        arguments.get("resources", [""]),
        arguments.get("resourceNames", ["*"]),
        arguments.get("urls", [""]),
    )
    return ((*place, *rest) for rest in product(*parts, arguments["verbs"]))


def allowed(role: dict[str, Any]) -> Iterable[Permission]:
    """What a role of the manifest allows."""
    place = (role["metadata"].get("namespace", ""), role["metadata"]["name"])
    assert (role["kind"] == "Role") == bool(place[0])
    for rule in role["rules"]:
        parts = (
            rule.get("apiGroups", [""]),
            rule.get("resources", [""]),
            rule.get("resourceNames", ["*"]),
            rule.get("nonResourceURLs", [""]),
        )
        yield from ((*place, *rest) for rest in product(*parts, rule["verbs"]))


def without_what_stars_cover(permissions: Iterable[Permission]) -> set[Permission]:
    """`*` allows every verb, so that others beside it say nothing."""
    found = set(permissions)
    return {p for p in found if p[-1] == "*" or (*p[:-1], "*") not in found}


@given(st.lists(st.one_of(RESOURCES, RESOURCES, URLS), max_size=7))
@settings(max_examples=300)
def test_a_manifest_allows_what_its_markers_ask_for(given_markers: list[dict[str, list[str]]]) -> None:
    """As sets of (namespace, role, group, resource, name, URL, verb)."""
    found = Diagnostics()
    text = "\n".join(marker(arguments) for arguments in given_markers) + "\n"
    source = collect(text, "controller.py", registry=builtin_registry(), diagnostics=found)
    artifacts = generate_rbac([source], role_name="manager", file_name="role.yaml", header="", diagnostics=found)
    assert not found.has_errors()
    made = [permission for artifact in artifacts for role in artifact.documents for permission in allowed(dict(role))]
    wanted = [permission for arguments in given_markers for permission in asked(arguments)]
    assert without_what_stars_cover(made) == without_what_stars_cover(wanted)
