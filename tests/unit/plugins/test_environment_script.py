"""The script of a project that makes its environment with uv, which gets the settings of pip."""

from __future__ import annotations

import ensurepip
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from pykb.commands.options import NewProject
from tests.unit.plugins.conftest import Grow

UV = f"""#!{sys.executable}
import json, os, pathlib, sys
python = pathlib.Path(".venv/bin/python")
python.parent.mkdir(parents=True, exist_ok=True)
python.touch()
pathlib.Path("called.json").write_text(json.dumps([sys.argv[1:], dict(os.environ)]))
print("Resolved 2 packages", " + kopf==1.0", sep="\\n", file=sys.stderr)
"""
NEW_WHEEL = ["--reinstall-package", "pykubebuilder"]
"""The scaffold has a wheel of pykb."""
FAILS = "#!/bin/sh\necho '{}' >&2\nexit 2\n"


class Project:
    """A project, and a PATH with a uv that says how it was called."""

    def __init__(self, root: Path, programs: Path) -> None:
        self.root, self.programs = root, programs
        programs.mkdir()
        self.install("uv", UV)

    def install(self, name: str, text: str) -> None:
        """Put a program on PATH."""
        (self.programs / name).write_text(text, encoding="utf-8")
        (self.programs / name).chmod(0o755)

    def make(self, *arguments: str, python: str = sys.executable, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run the script with a PATH that has nothing else, and a pip without settings but those of the test."""
        environment = {"PATH": str(self.programs), "PIP_CONFIG_FILE": os.devnull, **variables}
        command = [python, "hack/environment.py", *arguments]
        return subprocess.run(
            command,
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def called(self) -> tuple[list[str], dict[str, str]]:
        """The arguments and variables that uv got."""
        words, variables = json.loads((self.root / "called.json").read_text())
        return words, variables


@pytest.fixture(scope="module")
def scaffold(grow: Grow) -> Path:
    """A project without an environment."""
    return grow(NewProject("example.com", "harbour"))


@pytest.fixture
def project(scaffold: Path, tmp_path: Path) -> Project:
    """A copy of it for one test."""
    shutil.copytree(scaffold, tmp_path / "project")
    return Project(tmp_path / "project", tmp_path / "bin")


def test_a_new_environment_has_the_python_that_made_it(project: Project) -> None:
    """Later, uv keeps that Python. Nothing is downloaded in its place."""
    done = project.make("--no-default-groups", VIRTUAL_ENV="/elsewhere")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "Creating the environment in .venv\nResolved 2 packages\n"
    words, variables = project.called()
    assert words == ["sync", "--python", sys.executable, *NEW_WHEEL, "--no-default-groups"]
    assert variables["UV_PYTHON_DOWNLOADS"] == "never"
    assert "VIRTUAL_ENV" not in variables
    assert project.make().returncode == 0
    assert project.called()[0] == ["sync"]


def test_a_wheel_that_was_replaced_is_installed_again(project: Project) -> None:
    """It has the version that it had, so uv would keep the old one, or take one that it has seen at this path before."""
    wheel = project.root / ".pykb/wheels/pykubebuilder-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir(parents=True, exist_ok=True)
    wheel.touch()
    project.make()
    assert project.called()[0] == ["sync", "--python", sys.executable, *NEW_WHEEL]
    project.make()
    assert project.called()[0] == ["sync"]
    os.utime(wheel, (2_000_000_000, 2_000_000_000))
    project.make()
    assert project.called()[0] == ["sync", *NEW_WHEEL]


def test_a_file_system_that_cannot_lock_a_folder_is_fine(project: Project) -> None:
    """NFS locks only files that are open for writing: flock(2), "NFS details"."""
    (project.root / "hack/fcntl.py").write_text(
        "import errno\nLOCK_EX = 2\ndef flock(file, how):\n    raise OSError(errno.EBADF, 'Bad file descriptor')\n",
        encoding="utf-8",
    )
    done = project.make()
    assert done.returncode == 0, done.stderr
    assert project.called()[0] == ["sync", "--python", sys.executable, *NEW_WHEEL]


def test_uv_gets_what_pip_is_configured_with(project: Project, tmp_path: Path) -> None:
    """From pip's file, then from its variables. Those of uv itself count more."""
    file = tmp_path / "pip.conf"
    file.write_text(
        "[global]\nindex-url = https://u:it's@mirror.example.com/simple\ncert = /etc/company.pem\n"
        "trusted-host =\n  one.example.com\n  two.example.com\nproxy = http://proxy.example.com:8080\n"
        "[install]\nfind-links = /srv/a /srv/b\n"
    )
    given = {
        "PIP_CONFIG_FILE": str(file),
        "PIP_EXTRA_INDEX_URL": "https://a.example.com https://b.example.com",
        "PIP_CERT": "/etc/mine.pem",
        "PIP_NO_INDEX": "1",
        "UV_DEFAULT_INDEX": "https://uv.example.com",
    }
    project.make(**given)
    variables = project.called()[1]
    wanted = {
        "UV_DEFAULT_INDEX": "https://uv.example.com",
        "UV_INDEX": "https://a.example.com https://b.example.com",
        "UV_INSECURE_HOST": "one.example.com two.example.com",
        "UV_FIND_LINKS": "/srv/a,/srv/b",
        "UV_NO_INDEX": "1",
        "SSL_CERT_FILE": "/etc/mine.pem",
        "ALL_PROXY": "http://proxy.example.com:8080",
    }
    assert {name: variables[name] for name in wanted} == wanted
    project.make(**{name: value for name, value in given.items() if name != "UV_DEFAULT_INDEX"})
    assert project.called()[1]["UV_DEFAULT_INDEX"] == "https://u:it's@mirror.example.com/simple"


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("error: Failed to initialize cache at `/home/jane/.cache/uv`", "UV_CACHE_DIR=FOLDER"),
        ("error: Failed to read `--find-links` directory: /a/.pykb/wheels", "commit .pykb/wheels"),
        ("hint: lack of valid authentication credentials (401 Unauthorized)", "https://USER:PASSWORD@HOST/simple"),
        ("error: No interpreter found for Python >=3.15 in managed installations", "make PYTHON=python3.13"),
        ("cause: invalid peer certificate: UnknownIssuer", "pip config set global.cert FILE"),
        ("error: Failed to fetch: https://mirror.example.com/simple/kopf/", "global.index-url https://HOST/simple"),
        ("cause: Because kopf was not found in the package registry", "global.index-url https://HOST/simple"),
    ],
)
def test_a_failure_has_a_remedy(project: Project, said: str, remedy: str) -> None:
    """After what uv says itself. The next make tries again."""
    project.install("uv", FAILS.format(said))
    done = project.make()
    assert done.returncode == 1
    *_, error, help_ = done.stderr.splitlines()
    assert error == said
    assert help_.startswith("help: ")
    assert remedy in help_
    assert not (project.root / ".venv/.made").exists()


def test_what_has_no_remedy_is_passed_on(project: Project) -> None:
    """With the exit code of uv."""
    project.install("uv", FAILS.format("error: the dog ate it"))
    done = project.make()
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, "error: the dog ate it")


@pytest.fixture(scope="module")
def with_pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the pip that this Python has for new environments. To install it would take seconds."""
    folder = tmp_path_factory.mktemp("with-pip") / "python"
    venv.create(folder)
    (packages,) = folder.glob("lib/python*/site-packages")
    wheels = sysconfig.get_config_var("WHEEL_PKG_DIR") or Path(ensurepip.__file__).with_name("_bundled")
    (pip,) = Path(wheels).glob("pip-*.whl")
    shutil.unpack_archive(pip, packages, "zip")
    return folder


def test_an_index_without_uv_is_said(project: Project, with_pip: Path) -> None:
    """Where there is none on PATH, pip gets it: from the same index as everything else."""
    (project.programs / "uv").unlink()
    done = project.make(python=str(with_pip / "bin/python"), PIP_NO_INDEX="1", HOME=str(project.root))
    assert done.returncode == 1
    assert "No matching distribution found for uv" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("help: name a package index that answers and has it")
    assert shutil.which("uv", path=str(project.programs)) is None


def test_pip_installs_uv_once(project: Project, tmp_path: Path, with_pip: Path) -> None:
    """With the pip of this Python. Settings for other installations of pip do not matter.

    If there is none, venv brings one: `tests/e2e/test_namespaced.py` makes its environment so.
    """
    (project.programs / "uv").unlink()
    shutil.copytree(with_pip, tmp_path / "python", symlinks=True)
    with zipfile.ZipFile(tmp_path / "uv-1.0-py3-none-any.whl", "w") as wheel:
        program = zipfile.ZipInfo("uv-1.0.data/scripts/uv")
        program.external_attr = 0o100755 << 16
        wheel.writestr(program, UV)
        wheel.writestr("uv-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: uv\nVersion: 1.0\n")
        wheel.writestr("uv-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr("uv-1.0.dist-info/RECORD", "")
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path), "PIP_USER": "1", "PIP_REQUIRE_VIRTUALENV": "1"}
    done = project.make(python=str(tmp_path / "python/bin/python"), **settings)
    assert done.returncode == 0, done.stderr
    assert done.stderr == "Creating the environment in .venv\nResolved 2 packages\n"
    assert {path.name for path in (project.root / ".pykb").iterdir()} - {"lock", "wheels", ".gitignore"} == {"uv"}
    shutil.rmtree(tmp_path / "python")
    shutil.rmtree(project.root / ".venv")
    assert project.make().returncode == 0
    assert project.called()[0] == ["sync", "--python", sys.executable, *NEW_WHEEL]
