"""One bug is one finding, however many codes it shows as. Two bugs stay two, however alike they look."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pykb.explore import Explorer, Report, Subject
from pykb.runtime import Manager, Reconciler
from tests.explorer import newcomers
from tests.explorer.zoo.kinds import CRDS

EVERY = [each for each in vars(newcomers).values() if isinstance(each, type) and "bugs" in vars(each)]


def explored(operator: type[Reconciler]) -> Report:
    """What the explorer says."""

    def register(manager: Manager) -> None:
        operator(manager.client).setup(manager)

    return Explorer(
        Subject(register, CRDS, [operator.sample], operator.rules, Path(__file__).parent), only=operator.only
    ).run()


@pytest.mark.parametrize("operator", EVERY, ids=lambda each: each.__name__)
def test_each_bug_is_one_finding(operator):
    """The code is that of the most direct finding."""
    report = explored(operator)
    found = Counter(finding.code.slug for finding in report.findings)
    assert found == operator.bugs, [str(each.message) for each in report.findings]


def test_the_others_are_named_in_a_line():
    """With the option that shows their history."""
    [leak] = [found for found in explored(newcomers.UpdatesAny).findings if found.code.slug == "explore-leak"]
    [note] = [note for note in leak.to_diagnostic().notes if "also" in note]
    message = "ConfigMap kiki-menu of somebody else is changed and 1 more"
    assert note == f"also seen as explore-theft: {message}; `--only explore-theft` shows the history"


def test_all_verbs_of_a_resource_are_one_marker():
    """The verbs of a cache come first."""
    [found] = [each for each in explored(newcomers.LacksRule).findings if each.code.slug == "explore-rbac"]
    marker = '# +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch'
    assert found.message.endswith(f"configmaps: add `{marker}`")
