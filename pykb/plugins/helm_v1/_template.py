"""Objects as Helm templates: YAML with expressions of Go's templates in it.

An expression is not YAML. So objects hold a plain word in its place, and the word is replaced in the written text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pykb.gen.emit.yaml import dump_document

_INDENT = re.compile(r"<indent\+(\d)>")

_WORD = re.compile(r"helm-expression-\d+-")
_LINE = re.compile(r"(?P<blanks> *)(?P<dash>- )?(?P<key>[^ ]+: )?(?P<word>helm-expression-\d+-)")


class Template:
    """Makes one file of a chart."""

    def __init__(self) -> None:
        self._inline: dict[str, str] = {}
        self._blocks: dict[str, tuple[str, ...]] = {}

    def inline(self, expression: str) -> str:
        """A word that becomes an expression, alone or inside of a text."""
        word = self._word()
        self._inline[word] = expression
        return word

    def block(self, *lines: str) -> str:
        """A word that becomes several lines. It stands alone for a value, whose key it replaces, or for an item.

        In a line, ``<indent+2>`` is the number of columns to the left of the block, and two more.
        """
        word = self._word()
        self._blocks[word] = lines
        return word

    def text(self, obj: Mapping[str, object]) -> str:
        """The template of an object. What looks like an expression in the object stays text."""
        lines = (written for line in _literal(obj) for written in self._written(line))
        return "".join(f"{line}\n" for line in lines)

    @staticmethod
    def nested(key: str, value: object) -> list[str]:
        """The lines of a key and its value, for a block."""
        return _literal({key: value})

    def _word(self) -> str:
        return f"helm-expression-{len(self._inline) + len(self._blocks)}-"

    def _written(self, line: str) -> Sequence[str]:
        found = _LINE.fullmatch(line)
        if found is None or found["word"] not in self._blocks:
            return [_WORD.sub(lambda word: self._inline[word[0]], line)]
        dash = (found["dash"] or "") if found["key"] else ""  # an item that is a block has its own dashes
        column = len(found["blanks"]) + len(dash)
        lines = [each for block in self._blocks[found["word"]] for each in self._written(block)]
        first, *rest = (_INDENT.sub(lambda found: str(column + int(found[1])), each) for each in lines)
        return [f"{found['blanks']}{dash}{first}", *(f"{' ' * column}{each}" for each in rest)]


def _literal(obj: Mapping[str, object]) -> list[str]:
    return dump_document(obj).replace("{{", "{{ `{{` }}").splitlines()
