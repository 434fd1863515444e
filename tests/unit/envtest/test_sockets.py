"""Sockets have paths of at most 108 bytes, wherever the system's temporary folder is."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from pykb.envtest.components import fits_sockets, new_folder, new_sockets, remove_sockets


def test_a_long_temporary_folder_has_no_sockets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in /tmp then. Nothing is left in the long one."""
    long = tmp_path / ("x" * 110)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    for make in (new_folder, new_sockets):
        made = make()
        assert fits_sockets(made)
        made.rmdir()
    assert [*long.iterdir()] == []


def test_a_short_one_has_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And they go with their folder."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        made = new_sockets()
        assert made.parent == Path(short)
        remove_sockets(made)
        assert not made.exists()
