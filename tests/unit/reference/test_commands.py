"""The commands that pages name exist, with their options."""

from __future__ import annotations

import re

import pytest

from pykb.cli.app import root as command_line
from tests.sources import ROOT, files_of

OF_ALL = {"--help", "--install-completion"}
PAGES = ["README.md", *(f"docs/{name}" for name in sorted(files_of(ROOT / "docs")) if name.endswith(".md"))]


def commands(text: str) -> set[str]:
    """What follows `pykb` in blocks for a shell and in the text's code, up to the end of a command."""
    fence = r"^( *)```(\w*)[^\n]*\n(.*?)^\1```"
    found = [each[3] for each in re.finditer(fence, text, re.DOTALL | re.MULTILINE) if each[2] in ("", "sh", "console")]
    prose = re.sub(fence, "", text, flags=re.DOTALL | re.MULTILINE)
    found += [" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose)]
    lines = "\n".join(found).replace("\\\n", " ")
    return set(re.findall(r"(?:^|[;&|(] ?|\$ )pykb ([^|;&#()\n]+)", lines, re.MULTILINE))


@pytest.mark.parametrize("page", PAGES)
def test_each_command_of_a_page_exists(page: str) -> None:
    """Each word up to the first argument is a command, and each option is one of it."""
    for line in sorted(commands((ROOT / page).read_text(encoding="utf-8"))):
        command, words = command_line(), line.partition(" -- ")[0].split()
        known = set(OF_ALL)
        while words and hasattr(command, "get_command") and re.fullmatch("[a-z-]+", words[0]) and words[0][0] != "-":
            command = command.get_command(None, words.pop(0))
            assert command is not None, line
            known |= {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        if words[:1] == ["docs"] or "--notes-file" in words:  # a generator's own options, and those of a plugin
            continue
        options = {word.partition("=")[0].rstrip(".,]'\"") for word in words if word.startswith("--")}
        assert options <= known, line
