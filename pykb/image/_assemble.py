"""Decides what belongs into an image."""

from __future__ import annotations

import compileall
import ssl
import sys
import sysconfig
from fnmatch import fnmatch
from pathlib import Path
from py_compile import PycInvalidationMode

from pykb.image._packages import add_packages
from pykb.image._root import Root

_UNUSED = (
    *("site-packages", "dist-packages", "ensurepip", "config-*", "_test*.so", "xxlimited*.so"),
    *("test", "tests", "idlelib", "lib2to3", "pydoc_data", "tkinter", "turtledemo", "_tkinter*.so"),
)
"""The parts of the standard library that no server imports."""

_SYSTEM = (
    *("/etc/ld.so.cache", "/etc/nsswitch.conf", "/etc/os-release", "/etc/protocols", "/etc/services"),
    "/usr/share/zoneinfo",
)
_OTHER_CLOCKS = ("/usr/share/zoneinfo/posix", "/usr/share/zoneinfo/right")
_OPENED_LATER = ("libgcc_s.so.1", "libnss_dns.so.2", "libnss_files.so.2")
"""Libraries that the C library opens when it needs them: to end threads, and to resolve names before version 2.34."""

_ACCOUNTS = {
    "/etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/tmp:/sbin/nologin\n",
    "/etc/group": "root:x:0:\nnonroot:x:65532:\n",
}


def assemble(into: str, *extra: str) -> None:
    """Collect the file system of an image: the running Python, its environment, and what they need of the system.

    Args:
        into: The folder for it.
        extra: More files and folders, for example a library that a package opens by its name.
    """
    root = Root(Path(into))
    executable, environment = Path(sys.executable), Path(sys.prefix)
    root.add(executable)
    standard = Path(sysconfig.get_path("stdlib"))
    root.add(standard, skip=lambda path: _is_bytecode(path) or any(fnmatch(path.name, each) for each in _UNUSED))
    root.add(environment, skip=_is_bytecode)
    _add_system(root)
    for path in extra:
        root.add(Path(path))
    root.add_libraries()
    _add_opened_later(root)
    add_packages(root)
    for folder in (standard, environment):
        _compile(root, folder)


def _is_bytecode(path: Path) -> bool:
    return path.name == "__pycache__"


def _add_system(root: Root) -> None:
    for path in _SYSTEM:
        root.add(Path(path), skip=lambda path: str(path) in _OTHER_CLOCKS)
    trust = ssl.get_default_verify_paths()
    for place in (trust.openssl_cafile, trust.openssl_capath, Path(trust.openssl_cafile).with_name("openssl.cnf")):
        root.add(Path(place))
    for name, text in _ACCOUNTS.items():
        root.write(name, text)
    temporary = root.at("/tmp")  # noqa: S108 - the folder itself
    temporary.mkdir(exist_ok=True)
    temporary.chmod(0o1777)


def _add_opened_later(root: Root) -> None:
    folders = {path.parent for path in root.files() if path.name.startswith("libc.so.")}
    for folder in sorted(folders):
        for name in _OPENED_LATER:
            root.add(folder / name)


def _compile(root: Root, folder: Path) -> None:
    """Compile for a file system that is read-only: bytecode that is valid whatever the time of its source."""
    compileall.compile_dir(
        root.at(folder),
        quiet=2,
        stripdir=str(root.at("/")),
        prependdir="/",
        invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
        workers=0,
    )
