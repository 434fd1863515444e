"""The tutorial's code, put where it says, passes the checks that `make` runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from pykb.commands.create_api import NewApi
from pykb.commands.init import NewProject
from tests.unit.plugins.conftest import Grow

TUTORIAL = Path(__file__).parents[3] / "docs/tutorials/getting-started.md"


def put(path: Path, code: str, *, start: str, end: str) -> None:
    """Replace the lines from one text up to another by those of the tutorial."""
    text = path.read_text(encoding="utf-8")
    first, last = text.index(start), text.index(end)
    path.write_text(f"{text[:first]}{code}\n{text[last:]}", encoding="utf-8")


def test_the_tutorials_code_is_clean(grow: Grow) -> None:
    """Types and controller: generated, formatted as `make fmt` does it, then nothing is found."""
    root = grow(NewProject("sealyun.com", "sealvm", owner="fanux"), NewApi("infra", "v1", "VirtulMachine"))
    types, controller = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    kind = "# +kubebuilder:subresource"
    put(root / "sealvm/api/v1/virtulmachine_types.py", f"{types}\n", start="class VirtulMachineSpec", end=kind)
    reconcile = "    async def reconcile"
    put(root / "sealvm/controllers/virtulmachine_controller.py", controller, start=reconcile, end="    def setup")

    makefile = (root / "Makefile").read_text(encoding="utf-8")
    (fmt,) = re.findall(r"\$\(RUN\) ruff (check --quiet .*)", makefile)
    for command in (["ruff", *fmt.split()], ["ruff", "format", "--check", "."], ["ruff", "check", "."]):
        done = subprocess.run([sys.executable, "-m", *command], cwd=root, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    subprocess.run([sys.executable, "-m", "pykb", "generate"], cwd=root, check=True, capture_output=True)
    crd = (root / "config/crd/bases/infra.sealyun.com_virtulmachines.yaml").read_text(encoding="utf-8")
    assert "description: Number of virtual CPUs." in crd
