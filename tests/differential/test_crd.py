"""The real controller-gen on Go types and pykb on Python types give the same bytes, but for listed differences."""

from __future__ import annotations

import difflib
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.diagnostics.render import Format, render
from pykb.gen.request import Given, make_request
from pykb.gen.run import generate

ControllerGen = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.differential

ROOT = Path(__file__).parents[2] / "testdata" / "differential"
CASES = sorted({path.relative_to(ROOT).parts[0] for path in ROOT.rglob("*.go")})
DEFAULT_OPTIONS = "crd:generateEmbeddedObjectMeta=true"


def options_of(case: str) -> list[str]:
    """The words for the generators that both sides get."""
    file = ROOT / case / "options.txt"
    return file.read_text(encoding="utf-8").split() if file.exists() else [DEFAULT_OPTIONS]


def allowances() -> dict[tuple[str, str], tuple[Counter[str], str]]:
    """By case and file: the lines of a diff that are allowed, and why."""
    entries = tomllib.loads((ROOT / "differences.toml").read_text(encoding="utf-8")).get("difference", [])
    found: dict[tuple[str, str], tuple[Counter[str], str]] = {}
    for entry in entries:
        lines, reason = found.get((entry["case"], entry["file"]), (Counter(), ""))
        found[entry["case"], entry["file"]] = (
            lines + Counter(entry["diff"].strip("\n").splitlines()),
            reason + entry["reason"],
        )
    return found


def from_go(controller_gen: ControllerGen, case: str, out: Path) -> dict[str, str]:
    """What controller-gen writes."""
    done = controller_gen(ROOT, *options_of(case), f"paths=./{case}/...", f"output:dir={out}")
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_text(encoding="utf-8") for path in sorted(out.glob("*"))}


def from_python(case: str) -> dict[str, str]:
    """What pykb writes."""
    found = Diagnostics()
    request = make_request(
        ROOT, Given(words=tuple(options_of(case)), options={"paths": [case], "compat": "controller-gen=v0.23.0"}), found
    )
    result = generate(request.options)
    found.extend(result.diagnostics)
    assert not found.has_errors(), render(found, style=Format.CONCISE)
    return {artifact.path: artifact.render() for files in result.artifacts.values() for artifact in files}


@pytest.mark.parametrize("case", CASES)
def test_both_generators_write_the_same_bytes(case: str, controller_gen: ControllerGen, tmp_path: Path) -> None:
    """Each line that differs is allowed in differences.toml, and each allowance is used."""
    theirs, ours = from_go(controller_gen, case, tmp_path / "out"), from_python(case)
    allowed = {file: lines for (of_case, file), (lines, _) in allowances().items() if of_case == case}
    assert sorted(theirs) == sorted(ours)
    for file, text in theirs.items():
        diff = [
            line
            for line in difflib.unified_diff(text.splitlines(), ours[file].splitlines(), lineterm="", n=0)
            if line[:1] in "+-" and line[:3] not in {"+++", "---"}
        ]
        assert Counter(diff) == allowed.pop(file, Counter()), "\n".join(diff)
    assert not allowed, "allowances for files that do not exist"


def test_each_allowance_says_why() -> None:
    """An allowed difference has a reason and belongs to a case."""
    for (case, _), (_, reason) in allowances().items():
        assert case in CASES
        assert len(reason) > 20
