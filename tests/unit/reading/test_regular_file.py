"""What a project has in place of a file: the reader says it at once, and reads no more than a bound."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from pykb._regular_file import UnsuitableFileError, read_bytes, read_text, real_path


def test_a_file_and_a_link_to_one_are_read(tmp_path: Path) -> None:
    """Line ends as Python reads them."""
    (tmp_path / "a").write_bytes(b"a\r\nb\rc\n")
    (tmp_path / "link").symlink_to("a")
    assert read_bytes(tmp_path / "link") == b"a\r\nb\rc\n"
    assert read_text(tmp_path / "link") == (tmp_path / "a").read_text() == "a\nb\nc\n"


@pytest.mark.parametrize("linked", [False, True], ids=["itself", "a link"])
@pytest.mark.parametrize("kind", ["a pipe", "a socket", "a device"])
def test_what_is_no_file_is_refused(kind: str, linked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a wait, and without opening a device."""
    place = tmp_path / "x"
    monkeypatch.chdir(tmp_path)
    if kind == "a pipe":
        os.mkfifo(place)
    elif kind == "a socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind("x")
    else:
        place = Path("/dev/zero")
    if linked:
        (tmp_path / "link").symlink_to(place)
        place = tmp_path / "link"
    with pytest.raises(UnsuitableFileError, match=f"it is {kind}, expected a file"):
        read_bytes(place)


def test_folders_loops_and_absent_files_are_told_by_the_system(tmp_path: Path) -> None:
    """Each in its own words."""
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(IsADirectoryError):
        read_bytes(tmp_path)
    with pytest.raises(OSError, match="symbolic links"):
        read_bytes(tmp_path / "loop")
    with pytest.raises(FileNotFoundError):
        read_bytes(tmp_path / "none")
    assert real_path(tmp_path / "loop").name == "loop"


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    """By its size, or, where the size is 0 as in /proc, by what comes."""
    (tmp_path / "a").write_bytes(b"x" * 1025)
    with pytest.raises(UnsuitableFileError, match="it is larger than 1 KiB"):
        read_bytes(tmp_path / "a", most=1024)
    assert len(read_bytes(tmp_path / "a", most=1025)) == 1025
    with pytest.raises(UnsuitableFileError, match="larger"):
        read_bytes(Path("/proc/self/maps"), most=1024)


def test_what_the_user_named_may_be_a_pipe(tmp_path: Path) -> None:
    """As of `<(kubectl get crd)`; not more than the bound is read."""
    reading, writing = os.pipe()
    os.write(writing, b"kind: CustomResourceDefinition\n")
    os.close(writing)
    assert read_bytes(Path(f"/dev/fd/{reading}"), anything=True).startswith(b"kind: ")
    os.close(reading)
    with pytest.raises(UnsuitableFileError, match="larger"):
        read_bytes(Path("/dev/zero"), most=1024, anything=True)
