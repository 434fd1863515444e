"""Licence headers: a block of `#` lines, whatever they were before."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics import Diagnostics
from pykb.scaffold import license  # noqa: A004 - our module of that name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Copyright YEAR X\n\nAll rights.\n", "# Copyright 2026 X\n#\n# All rights."),
        ("/*\nCopyright YEAR X\n\nAll rights.\n*/\n", "# Copyright 2026 X\n#\n# All rights."),
        ("/*\n * Copyright X\n *\n * All rights.\n */\n", "# Copyright X\n#\n# All rights."),
        ("/* Copyright X */", "# Copyright X"),
        ("# Copyright X\n#\n# All rights.\n", "# Copyright X\n#\n# All rights."),
        ("Copyright X\r\nAll rights.\r\n", "# Copyright X\n# All rights."),
    ],
)
def test_a_file_becomes_comment_lines(tmp_path: Path, text: str, expected: str) -> None:
    """Plain text, a Go or C comment, ready-made comment lines."""
    file = tmp_path / "header.txt"
    file.write_bytes(text.encode())
    found = Diagnostics()
    assert license.header("apache2", owner="ignored", file=file, year="2026", found=found) == expected
    assert not found


def test_the_built_in_header_names_the_owner_and_no_year() -> None:
    """So the same command gives the same bytes next year."""
    found = Diagnostics()
    texts = {year: license.header("apache2", owner="fanux", file=None, year=year, found=found) for year in ("1", "2")}
    assert len(set(texts.values())) == 1
    assert texts["1"].startswith("# Copyright fanux\n#\n# Licensed under the Apache License, Version 2.0")
    assert license.header("none", owner="fanux", file=None, year="1", found=found) == ""
    assert "Copyright" not in license.header("apache2", owner="", file=None, year="1", found=found)
