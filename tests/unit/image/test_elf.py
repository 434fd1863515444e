"""What is left of a library without its symbols."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pykb.image import stripped

EXTENSIONS = {
    name: Path(str(importlib.util.find_spec(name).origin))  # type: ignore[union-attr]
    for name in ("uvloop.loop", "pydantic_core._pydantic_core", "yaml._yaml", "multidict._multidict")
}


@pytest.mark.parametrize("name", EXTENSIONS)
def test_a_stripped_extension_is_smaller_and_loads(name: str, tmp_path: Path) -> None:
    """Python imports it in a fresh process."""
    package = name.rpartition(".")[0]
    origin = EXTENSIONS[name]
    copy = tmp_path / origin.name
    copy.write_bytes(stripped(origin.read_bytes()))
    assert copy.stat().st_size < origin.stat().st_size
    code = (
        f"import importlib.util as u, sys, {package}\n"
        f"sys.modules.pop({name!r}, None)\n"
        f"module = u.module_from_spec(u.spec_from_file_location({name!r}, {str(copy)!r}))\n"
        "print(module.__file__)\n"
    )
    # A process of its own: most extensions refuse to be loaded twice.
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == str(copy), done.stderr


def test_what_is_stripped_stays_as_it_is() -> None:
    """There is nothing left to remove, so the bytes do not change again."""
    once = stripped(EXTENSIONS["uvloop.loop"].read_bytes())
    assert stripped(once) == once


def test_other_programs_can_read_the_sections() -> None:
    """Debuggers find Python's state by a section, so the table of the sections stays valid."""
    content = stripped(EXTENSIONS["uvloop.loop"].read_bytes())
    names = [name for name in (b".dynsym", b".dynamic", b".text", b".bss") if name in content]
    assert len(names) == 4
    assert b".debug_info\0" not in content[: content.index(b".dynsym\0")]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"#!/bin/sh\n",
        b"\x7fELF",
        b"\x7fELF\x01\x01" + bytes(200),
        b"\x7fELF\x02\x01" + bytes(200),
        EXTENSIONS["yaml._yaml"].read_bytes()[:5000],
    ],
    ids=["empty", "script", "cut off", "32 bits", "no sections", "no table"],
)
def test_what_is_not_understood_stays_as_it_is(content: bytes) -> None:
    """A file of another kind, or one that is damaged, is copied."""
    assert stripped(content) == content


def test_the_interpreter_runs_without_its_symbols(tmp_path: Path) -> None:
    """Programs are stripped as well."""
    interpreter = Path(os.path.realpath(sys.executable))
    copy = tmp_path / "python"
    copy.write_bytes(stripped(interpreter.read_bytes()))
    shutil.copymode(interpreter, copy)
    environment = {**os.environ, "PYTHONHOME": sys.base_prefix}
    done = subprocess.run([copy, "-c", "print(1 + 1)"], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "2\n", done.stderr
