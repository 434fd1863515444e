"""Options that PROJECT records beyond kubebuilder's keys: read, written, checked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pykb.project.file import check, load
from pykb.project.options import ApiOptions
from pykb.project.resource import Resource, merge
from pykb.project.writer import new_project, with_resource, without_resource

EMPTY = new_project(
    domain="example.com",
    project_name="fleet",
    package="fleet",
    layout=["python.pykb.dev/v1"],
    multigroup=False,
    namespaced=False,
    cli_version="0.1.0",
)
DISK = Resource("infra", "example.com", "v1", "Disk", "disks", path="fleet.api.v1", api=True, controller=True)


def test_what_is_written_is_read() -> None:
    """Without options PROJECT does not mention them, and comments of the user stay."""
    assert "plugins" not in with_resource(EMPTY, DISK).text
    made = replace(DISK, handlers=("disk",), options=ApiOptions("v1beta1", "dk"))
    written = with_resource(EMPTY, made)
    assert written.resources == (made,)
    commented, _ = load(written.text.replace("shortName: dk", "shortName: dk  # ours"))
    again = with_resource(commented, replace(made, controller=False, controllers=("disk", "disk-cleaner")))
    assert "shortName: dk  # ours\n" in again.text
    assert again.resources[0].handlers == ("disk",)
    assert without_resource(again, made).text == EMPTY.text


def test_what_is_gone_is_not_recorded() -> None:
    """Neither the style of a controller that was deleted, nor options of types."""
    made = replace(DISK, handlers=("disk",), options=ApiOptions(short_name="dk"))
    written = with_resource(EMPTY, made)
    assert "handlers" not in with_resource(written, replace(made, controller=False)).text
    assert "shortName" not in with_resource(written, replace(made, api=False)).text


def test_a_controller_that_is_made_again_has_its_new_style() -> None:
    """`--force` does so. Others keep theirs."""
    old = replace(DISK, controller=False, controllers=("disk", "cleaner"), handlers=("disk", "cleaner"))
    new = replace(DISK, controller=False, controllers=("cleaner",))
    assert merge(old, new).handlers == ("disk",)


@pytest.mark.parametrize("value", ["a\\nimport os", "A", "-", '{{ 1 }}"'])
def test_a_value_that_no_command_writes_is_refused(value: str) -> None:
    """It would be part of code."""
    written = with_resource(EMPTY, replace(DISK, options=ApiOptions(short_name="dk")))
    value = value.replace('"', '\\"')
    hostile, found = load(written.text.replace("shortName: dk", f'shortName: "{value}"'))
    assert not list(found)
    assert [each.message.partition(" must")[0] for each in check(hostile)] == ["`shortName`"]
