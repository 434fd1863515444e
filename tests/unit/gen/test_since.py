"""What older API servers lack: each row of the table, and what the API servers of each version said."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics, Severity
from pykb.gen._since import (
    CEL,
    FORMATS,
    OLD_SELF,
    POLICIES,
    SELECTABLE,
    WORDS_AS_FIELDS,
    Feature,
    check_policies,
    missing,
)
from pykb.gen.cel.resolve import in_scope
from pykb.gen.cel.syntax import parse
from pykb.project.settings import NEWEST, OLDEST, Minor, minor_of, shown

RECORD = [line.split("\t") for line in Path(__file__).with_name("cel_versions.tsv").read_text().splitlines()]
BEFORE = {feature.since: (feature.since[0], feature.since[1] - 1) for feature in (*CEL, *FORMATS.values())}


def lacking(expression: str, oldest: Minor) -> list[Feature]:
    """The features of an expression that a server lacks."""
    return [feature for feature, _, _ in missing(in_scope(parse(expression), {}).uses, oldest)]


@pytest.mark.parametrize(("since", "expression"), RECORD)
def test_an_expression_needs_the_version_whose_server_was_the_first_to_compile_it(since: str, expression: str) -> None:
    """The record is of `environment.MustBaseEnvSet(DefaultCompatibilityVersion())` of the modules v0.28 to v0.35."""
    found = [feature.since for feature in lacking(expression, (1, 0))]
    assert max(found, default=OLDEST) == minor_of(since)


def test_each_row_is_in_the_record() -> None:
    """So that none was made up."""
    seen = {feature.name for _, expression in RECORD for feature in lacking(expression, (1, 0))}
    assert seen == {feature.name for feature in CEL if ".labelSelector" not in feature.keys}  # no CRD has an authorizer


@pytest.mark.parametrize("feature", CEL, ids=lambda feature: feature.name)
def test_a_row_has_a_source_and_ends_with_its_version(feature: Feature) -> None:
    """The first version that has it lacks nothing."""
    assert feature.source
    assert OLDEST < feature.since <= NEWEST
    uses = [(key, 0, 1) for key in feature.keys]
    assert [found.name for found, _, _ in missing(uses, BEFORE[feature.since])] == [feature.name]
    assert list(missing(uses, feature.since)) == []
    assert list(missing(uses, None)) == []


def test_each_row_is_in_the_reference() -> None:
    """With its version."""
    page = (Path(__file__).parents[3] / "docs/reference/generate.md").read_text(encoding="utf-8")
    rows = [line.casefold() for line in page.splitlines() if line.startswith("| ")]
    for feature in (*CEL, *FORMATS.values(), OLD_SELF, SELECTABLE, POLICIES):
        name, since = f"| {feature.name.casefold()}", f" | {shown(feature.since)} | "
        assert len([row for row in rows if row.startswith(name) and since in row]) == 1, feature.name


SPEC = """\
class Spec(Struct):
    {}

{}class Thing(CustomResource, group_version=GV):
    spec: Spec
"""
RULE = "# +kubebuilder:validation:XValidation:rule={}\n    value: {}"


def found_in(generate_types, source: str, oldest: Minor) -> list[str]:
    """The findings about older servers, each with its line."""
    result = generate_types(source, oldest=oldest)
    shown_ = [each for each in result.diagnostics if each.code.slug == "needs-kubernetes"]
    assert all(each.severity is Severity.WARNING and each.span is not None for each in shown_)
    assert [each for each in result.diagnostics if each.severity is Severity.ERROR] == []
    return [f"{each.span.line}: {each.message}" for each in shown_ if each.span is not None]


@pytest.mark.parametrize(
    ("source", "since", "says"),
    [
        (SPEC.format(RULE.format('"isIP(self)"', "str"), ""), (1, 31), "CEL's IP addresses"),
        (SPEC.format("# +k8s:format=k8s-ip\n    value: str", ""), (1, 31), "CEL's IP addresses"),
        (
            SPEC.format("# +kubebuilder:validation:Format=k8s-short-name\n    value: str", ""),
            FORMATS["k8s-short-name"].since,
            "the format `k8s-short-name`",
        ),
        (
            SPEC.format(RULE.format('"oldSelf.orValue(1) == self",optionalOldSelf=true', "int"), ""),
            OLD_SELF.since,
            "`optionalOldSelf`",
        ),
        (
            SPEC.format("value: str", "# +kubebuilder:selectablefield:JSONPath=.spec.value\n"),
            SELECTABLE.since,
            "selectable fields",
        ),
        (
            SPEC.format(RULE.format("\"self != ''\",messageExpression=\"'%s'.format([self])\"", "str"), ""),
            (1, 30),
            "version 2 of CEL's string library",
        ),
    ],
)
def test_the_place_of_a_use_is_reported(source: str, since: Minor, says: str, generate_types, first_line: int) -> None:
    """The marker. A project that names no version, or the first that has it, hears nothing."""
    before = (since[0], since[1] - 1)
    assert found_in(generate_types, source, since) == []
    assert not any(each.code.slug == "needs-kubernetes" for each in generate_types(source).diagnostics)
    (found,) = found_in(generate_types, source, before)
    marker = next(n for n, line in enumerate(source.splitlines(), first_line) if "# +" in line)
    assert found.startswith(f"{marker}: ")
    assert f"needs {says}, which Kubernetes has since {shown(since)}, but the project supports {shown(before)}" in found


def test_a_word_of_cel_can_be_a_field_where_all_servers_take_it(generate_types) -> None:
    """The warning is about older ones."""
    rule = "\"self.spec.namespace != ''\""
    source = (
        "class Spec(Struct):\n    namespace: str = ''\n\n"
        f"# +kubebuilder:validation:XValidation:rule={rule}\n"
        "class Thing(CustomResource, group_version=GV):\n    spec: Spec\n"
    )

    def slugs(oldest: Minor | None) -> list[str]:
        return [each.code.slug for each in generate_types(source, oldest=oldest).diagnostics]

    assert slugs(None) == slugs((1, 31)) == ["cel-name"]
    assert slugs(WORDS_AS_FIELDS) == []


def test_policies_that_are_not_deployed_need_nothing(tmp_path: Path) -> None:
    """`pykb deploy` advises to take them out of the kustomization, where the cluster does not have them."""
    folder = tmp_path / "config/certificates"
    folder.mkdir(parents=True)

    def lines(oldest: Minor) -> list[tuple[str, int]]:
        found = Diagnostics()
        found.extend(check_policies(tmp_path, oldest))
        return [(each.span.path, each.span.line) for each in found if each.span is not None]

    assert lines((1, 29)) == []
    (folder / "policy.yaml").write_text("apiVersion: x\nkind: ValidatingAdmissionPolicy\n")
    (folder / "kustomization.yaml").write_text("resources:\n- secret.yaml\n- policy.yaml\n")
    assert lines((1, 29)) == [("config/certificates/policy.yaml", 2)]
    assert lines((1, 30)) == []
    (folder / "kustomization.yaml").write_text("resources:\n- secret.yaml\n# - policy.yaml\n")
    assert lines((1, 29)) == []
