"""mypy in a new project: it begins with what it learned of packages in another one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE, OTHER = "def double(value: int) -> int: ...\n", "def double(value: str) -> str: ...\n"
PROGRAM = "import package\n\npackage.double({})\n"
FINDING = 'program.py:3: error: Argument 1 to "double" has incompatible type "{}"; expected "{}"  [arg-type]'


class User:
    """Somebody with programs, each beside a package that lies in the project."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"

    def checks(
        self, project: str, argument: str, package: str = PACKAGE, **variables: str
    ) -> tuple[int, str, list[str]]:
        """The exit code of mypy, what it says first, and which modules it did not know."""
        root = self.folder / project
        packages = root / "packages"
        packages.mkdir(parents=True)
        (packages / "package.pyi").write_text(package)
        (root / "program.py").write_text(PROGRAM.format(argument))
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MYPY")}
        settings = {"XDG_CACHE_HOME": str(self.cache), "MYPYPATH": str(packages)}
        done = subprocess.run(
            [sys.executable, "-P", "-m", "pykb.testing.mypy", "--verbose", "program.py"],
            cwd=root,
            env={**environment, **settings, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        learned = [line.split()[2] for line in done.stderr.splitlines() if line.startswith("LOG:  Writing ")]
        return done.returncode, done.stdout.splitlines()[0], learned


def test_a_new_project_begins_with_what_another_has_learned(tmp_path: Path) -> None:
    """It reads its own modules, and packages that differ, although they lie in another place."""
    user = User(tmp_path)
    code, said, learned = user.checks("first", "1")
    assert (code, said) == (0, "Success: no issues found in 1 source file")
    assert {"builtins", "package", "program"} <= set(learned)
    kept = user.cache / "pykubebuilder/mypy"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700, "it knows the program, too"
    assert user.checks("another", "'a'") == (1, FINDING.format("str", "int"), ["program"])
    (kept / "packages.txt").write_text("package-0.9\n")
    assert user.checks("newer", "1", OTHER) == (1, FINDING.format("int", "str"), ["package", "program"])
    assert user.checks("as new", "'b'", OTHER)[2] == ["program"], "kept again, since other packages were installed"


@pytest.mark.parametrize("variables", [{"XDG_CACHE_HOME": "/dev/null/cache"}, {"MYPY_CACHE_DIR": "elsewhere"}], ids=str)
def test_where_nothing_can_be_kept_mypy_runs_as_ever(tmp_path: Path, variables: dict[str, str]) -> None:
    """In a home that is read-only, or with a cache that the user has put somewhere."""
    user = User(tmp_path)
    assert user.checks("first", "'a'", **variables)[:2] == (1, FINDING.format("str", "int"))
    assert not user.cache.exists()


BUSY = """
import sys

if "--num-workers=2" in sys.argv:
    print("mypy: error: INTERNAL ERROR: a worker did not start")
    sys.exit(2)
print("one process", *sys.argv[1:])
sys.exit(1)
"""


def test_where_no_second_process_starts_in_time_one_judges(tmp_path: Path) -> None:
    """A process of mypy gives up after three seconds, and an older mypy knows no workers. Nobody hears of it."""
    (tmp_path / "mypy.py").write_text(BUSY)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pykb.testing.mypy", "."],
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (1, "one process .\n", "")
