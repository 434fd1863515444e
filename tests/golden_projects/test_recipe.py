"""What PROJECT says is enough to scaffold each sample again."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.samples.build import PROJECTS, unpin
from hack.samples.build import files as paths
from hack.samples.steps import TESTDATA, Step
from pykb.commands.transition import GENERATED
from pykb.commands.update import combine, recipe
from pykb.diagnostics import Diagnostics
from pykb.project.file import read
from pykb.scaffold.release import render, running
from pykb.tools.git import File

OTHER_ORDER = {"multigroup": ["fleet/__main__.py", "fleet/webhooks/ship/v1/frigate_webhook.py"]}
"""The files whose lines are in the order of the commands, which PROJECT does not have."""


def by_the_author(step: Step) -> bool:
    """Whether a step of a sample is an edit, not a command of pykb."""
    return not step.__qualname__.startswith("pykb.")


@pytest.mark.parametrize("name", PROJECTS)
def test_a_sample_is_scaffolded_again(name: str, tmp_path: Path) -> None:
    """With the edits of its author it is the committed one, to the byte. So an update to this version changes nothing."""
    sample = TESTDATA / name
    project, _ = read(sample)
    header = (sample / "hack/boilerplate.py.txt").read_text().strip()
    found = Diagnostics()
    fresh = render(running(), recipe(project, sample, header), found)
    assert not list(found)

    root = tmp_path / name
    for path, file in fresh.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(file.content)
    for step in filter(by_the_author, PROJECTS[name]):
        step(root)
    unpin(root)
    again = {path: (root / path).read_bytes() for path in fresh if (root / path).exists() and path != GENERATED}
    different = [path for path, content in again.items() if content != (sample / path).read_bytes()]
    assert different == OTHER_ORDER.get(name, [])
    for path in different:
        assert sorted(again[path].splitlines()) == sorted((sample / path).read_bytes().splitlines())

    mine = {path.as_posix(): File((sample / path).read_bytes()) for path in paths(sample)}
    assert combine(fresh, mine, fresh).files == mine
