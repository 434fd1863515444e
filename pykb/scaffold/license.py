"""The licence header of a project's Python files: a block of ``#`` lines, or nothing."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path

from pykb._regular_file import SETTINGS, read_settings, read_text
from pykb.diagnostics import NOTHING_WRITTEN, Diagnostics, Span
from pykb.diagnostics.codes.cli import LICENSE_FILE, LICENSE_NAME
from pykb.diagnostics.codes.scaffold import BOILERPLATE_BROKEN
from pykb.diagnostics.suggest import closest
from pykb.project.settings import table_of
from pykb.reading import TomlError
from pykb.scaffold.plan import PlanBuilder


class License(StrEnum):
    """The values of ``--license``."""

    APACHE2 = "apache2"
    NONE = "none"


_APACHE2 = """\
Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
"""
_COPYRIGHT = re.compile(r"# Copyright (.+)")


def header(license_name: str, *, owner: str, file: Path | None, year: str, found: Diagnostics) -> str:
    """The header for these options. A file overrides the name of a licence.

    The built-in header does not have a year, so that the same command gives the same files next year.
    """
    if file is not None:
        return _from_file(file, year, found)
    if license_name not in set(License):
        near = closest(license_name, License) or License.APACHE2
        message = f"`--license {license_name}` is not a licence that pykb knows: `apache2` or `none`"
        help_file = "for another licence, write its header to a file: `--license-file FILE`"
        found.report(LICENSE_NAME, None, message, f"`--license {near}`", help_file)
        return ""
    if license_name == License.NONE:
        return ""
    copyright_line = f"Copyright {owner}\n\n" if owner else ""
    return _commented(copyright_line + _APACHE2)


def owner(header: str) -> str:
    """The owner in a header; empty when it has none."""
    match = _COPYRIGHT.search(header)
    return match[1] if match else ""


def _from_file(file: Path, year: str, diagnostics: Diagnostics) -> str:
    try:
        text = read_text(file)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        message = f"`--license-file {file}` cannot be read: {reason}"
        diagnostics.report(LICENSE_FILE, None, message, "write the header to a file first, or leave the option out")
        return ""
    return _commented(re.sub(r"\bYEAR\b", year, text))


def _commented(text: str) -> str:
    r"""The text as ``#`` lines. The marks of a Go or C block comment are removed first.

    >>> print(_commented("/*\nCopyright X\n\nAll rights.\n*/\n"))
    # Copyright X
    #
    # All rights.
    >>> print(_commented("# ready\n"))
    # ready
    """
    text = text.replace("\r\n", "\n").strip()
    block = re.fullmatch(r"/\*+(.*?)\*/", text, flags=re.DOTALL)
    if block:
        text = re.sub(r"^ \* ?", "", block[1], flags=re.MULTILINE).strip()
    lines = text.splitlines()
    if all(line.startswith("#") or not line.strip() for line in lines):
        return "\n".join(line.rstrip() for line in lines)
    return "\n".join(f"# {line}".rstrip() for line in lines)


HEADER = "hack/boilerplate.py.txt"
"""Where `init` puts the licence header."""


def header_path(plan: PlanBuilder, diagnostics: Diagnostics) -> str:
    """Where the licence header is: as ``boilerplate`` in ``[tool.pykb]`` says, for a project that moved it."""
    try:
        path = table_of(read_settings(plan.root)).get("boilerplate", HEADER)
    except (OSError, TomlError):
        return HEADER  # the generator reports it
    if path == HEADER:
        return HEADER
    if isinstance(path, str) and plan.current(path) is not None:
        return path
    message = f"`boilerplate` in `[tool.pykb]` names no file of the project: `{path}`"
    helps = ('name the file with the licence header: `boilerplate = "tools/boilerplate.py.txt"`',)
    diagnostics.report(BOILERPLATE_BROKEN, Span(SETTINGS, 1, 1), message, *helps, notes=NOTHING_WRITTEN)
    return HEADER


def boilerplate(plan: PlanBuilder, diagnostics: Diagnostics) -> str:
    """The licence header of the project. Checks that it is a comment, since users can edit the file."""
    path = header_path(plan, diagnostics)
    text = (plan.current(path) or b"").decode("utf-8", "replace")
    wrong = next((n for n, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith("#")), None)
    if wrong is not None:
        message = f"`{path}` is written at the top of every new Python file, but this line of it is not a comment"
        helps = ("begin it with `# `; for no header, leave the file empty",)
        diagnostics.report(BOILERPLATE_BROKEN, Span(path, wrong, 1), message, *helps, notes=NOTHING_WRITTEN)
    return text.replace("\r\n", "\n").strip()
