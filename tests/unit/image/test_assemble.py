"""What is in the file system of an image, made of a small environment on this machine."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest

from pykb.image import Root

ROOT = Path(__file__).parents[3]
STANDARD = Path(os.path.realpath(sysconfig.get_path("stdlib")))


class Image(NamedTuple):
    """An assembled file system, and the environment that it was made of."""

    root: Path
    environment: Path

    def at(self, path: str | Path) -> Path:
        """Where a path of the image is on this machine."""
        return self.root / Path(path).relative_to("/")


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """An image of an environment with one package."""
    folder = tmp_path_factory.mktemp("image")
    environment = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    (package,) = environment.glob("lib/python*/site-packages")
    (package / "greeting.py").write_text('"""Greets."""\n', encoding="utf-8")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "stale.cpython-311.pyc").write_bytes(b"")
    (folder / "extra").write_text("data\n", encoding="utf-8")
    code = f"from pykb.image import assemble; assemble({str(folder / 'root')!r}, {str(folder / 'extra')!r})"
    subprocess.run([environment / "bin/python", "-c", code], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True)
    return Image(folder / "root", environment)


def test_python_is_there_with_its_environment(image: Image) -> None:
    """The links from the environment to the interpreter lead somewhere inside the image."""
    assert image.at(image.environment / "pyvenv.cfg").is_file()
    assert image.at(os.path.realpath(sys.executable)).is_file()
    assert image.at(image.environment / "bin/python").is_symlink()
    assert image.at(STANDARD / "asyncio/__init__.py").is_file()


@pytest.mark.parametrize("name", ["ensurepip", "test", "idlelib", "tkinter", "site-packages", "pydoc_data"])
def test_what_no_server_imports_is_left_out(image: Image, name: str) -> None:
    """Neither pip nor tests are in the image."""
    assert not image.at(STANDARD / name).exists()


def test_libraries_of_the_system_are_there(image: Image) -> None:
    """The C library and OpenSSL, with the names by which the loader finds them."""
    names = {path.name for path in image.root.rglob("*.so*")}
    assert {"libc.so.6", "libgcc_s.so.1"} <= names
    assert any(name.startswith("libssl.so") for name in names)
    assert any(name.startswith("ld-") for name in names)


def test_no_link_leads_to_nothing(image: Image) -> None:
    """Each symbolic link has its target, seen from inside of the image."""
    links = [path for path in image.root.rglob("*") if path.is_symlink()]
    assert links
    dead = []
    for link in links:
        target = link.readlink()
        found = image.at(target) if target.is_absolute() else link.parent / target
        if not (found.exists() or found.is_symlink() or target.is_relative_to("/proc")):
            dead.append(link)
    assert dead == []


def test_a_server_finds_certificates_time_zones_and_its_account(image: Image) -> None:
    """Python code can use TLS, `zoneinfo`, `getpass.getuser()` and `tempfile`."""
    assert image.at("/usr/share/zoneinfo/Europe/Berlin").is_file()
    assert not image.at("/usr/share/zoneinfo/right").exists()
    assert image.at("/etc/ssl/certs/ca-certificates.crt").is_file()
    assert "65532" in image.at("/etc/passwd").read_text(encoding="utf-8")
    assert image.at("/tmp").stat().st_mode & 0o7777 == 0o1777


def test_what_is_named_is_there(image: Image) -> None:
    """More files are named as arguments."""
    assert image.at(image.environment.parent / "extra").read_text(encoding="utf-8") == "data\n"


def test_bytecode_is_valid_whatever_the_time_of_its_source(image: Image) -> None:
    """It names the source as in the image. Nothing has to be compiled on a read-only file system, and none is stale."""
    (package,) = image.environment.glob("lib/python*/site-packages")
    (compiled,) = image.at(package / "__pycache__").iterdir()
    content = compiled.read_bytes()
    assert int.from_bytes(content[4:8], "little") == 1, "bytecode with a hash that is not checked"
    assert marshal.loads(content[16:]).co_filename == str(package / "greeting.py")


def test_packages_of_the_system_are_recorded(image: Image) -> None:
    """Scanners find the packages of the files, by the form of distroless images, and their licences."""
    folder = image.at("/var/lib/dpkg/status.d")
    if not Path("/var/lib/dpkg/status").exists():
        assert not folder.exists()  # not a Debian
        return
    record = (folder / "libc6").read_text(encoding="utf-8")
    assert record.startswith("Package: libc6\n")
    assert "\nVersion: " in record
    assert not (folder / "apt").exists()


def test_links_on_the_way_stay_links(tmp_path: Path) -> None:
    """`/lib` may be a link to `usr/lib`: both names lead to the same file in the image, too."""
    system = tmp_path.resolve() / "system"
    (system / "usr/lib").mkdir(parents=True)
    (system / "lib").symlink_to("usr/lib")
    (system / "usr/lib/libone.so.1.2").write_text("one", encoding="utf-8")
    (system / "usr/lib/libone.so.1").symlink_to("libone.so.1.2")
    root = Root(tmp_path.resolve() / "root")
    root.add(system / "lib/libone.so.1")
    assert root.at(system / "lib").readlink() == Path("usr/lib")
    assert root.at(system / "usr/lib/libone.so.1").readlink() == Path("libone.so.1.2")
    assert root.at(system / "lib/libone.so.1").read_text(encoding="utf-8") == "one"
    assert list(root.files()) == [system / "usr/lib/libone.so.1.2"]
