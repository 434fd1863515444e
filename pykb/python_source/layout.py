"""Formats Python as Ruff and Black do: breaks long statements into lines, and sorts imports.

Generators write each statement on one line, whatever its length. The formatter itself would be a dependency of 25 MB
whose output changes with its version. Generated code only needs its rules for opening brackets.
"""

from __future__ import annotations

import ast
import keyword
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from io import StringIO
from itertools import pairwise
from unicodedata import east_asian_width

WIDTH = 120
"""The line length of a new project's formatter."""

OR = " | "
_OPERATORS = (OR, " / ", " is ")
"""Operators as separate nodes: between brackets, a line may begin with one."""

_SPLITTING = frozenset("([{)]}").union(operator.strip() for operator in _OPERATORS)

_INDENT = 4
_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_IMPORT = re.compile(r"from (\S+) import ([^(]+)")
_VALUE = re.compile(r"(return |assert |[\w.]+(?:: [^=(]+)? = )(.+)")
_PRAGMA = re.compile(r" *# ?(noqa|type:|pyright:)")


@dataclass(frozen=True, slots=True)
class Brackets:
    """Code between brackets.

    Attributes:
        brackets: Both of them.
        parts: The parts between the commas.
        comma: The text after the last part if each part has its own line.
        joins: Whether all parts may share one line, as arguments may.
    """

    brackets: str
    parts: tuple[Nodes, ...]
    comma: str = ","
    joins: bool = False


Nodes = tuple["str | Brackets", ...]


@lru_cache(maxsize=8)  # each file that a command makes asks for it
def line_length(pyproject: bytes | None) -> int | None:
    r"""The line length set in a project's ``pyproject.toml``; ``None`` when it is not set.

    >>> line_length(b"[tool.ruff]\nline-length = 100"), line_length(b"[tool.black]"), line_length(b"")
    (100, 88, None)
    """
    try:
        tools = tomllib.loads((pyproject or b"").decode()).get("tool")
    except ValueError:  # the reader of the project's settings reports it
        return None
    asked = [tools[name] for name in ("ruff", "black") if name in tools] if isinstance(tools, dict) else []
    length = asked[0].get("line-length", 88) if asked and isinstance(asked[0], dict) else None
    return length if isinstance(length, int) else None


def columns(text: str) -> int:
    """The width of a text in columns. Wide characters, as in Chinese, count as two."""
    return len(text) if text.isascii() else sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def flat(nodes: Nodes) -> str:
    """The text on one line."""
    return "".join(
        node if isinstance(node, str) else f"{', '.join(map(flat, node.parts))}".join(node.brackets) for node in nodes
    )


def broken(nodes: Nodes, *, indent: int, column: int, tail: int = 0, width: int = WIDTH) -> str:
    """The text, broken if it does not fit.

    Args:
        nodes: The code to write.
        indent: The indentation of the line that it begins on.
        column: The column at which it begins.
        tail: The length of the text after its last line.
        width: The maximum width of a line.
    """
    if column + columns(flat(nodes)) + tail <= width:
        return flat(nodes)
    if any(operator in nodes for operator in _OPERATORS):
        return _one_operand_a_line(nodes, indent, tail, width)
    out = ""
    for at, node in enumerate(nodes):
        text = flat((node,))
        is_wide = column + columns(text) + _unbreakable(nodes[at + 1 :], tail) > width
        if is_wide and isinstance(node, Brackets) and node.parts:
            out, column = out + _opened(node, indent, width), indent + 1
        else:
            out, column = out + text, column + columns(text)
    return out


def _unbreakable(nodes: Nodes, tail: int) -> int:
    """The columns up to and including the next bracket that can be opened."""
    taken = 0
    for node in nodes:
        if isinstance(node, Brackets) and node.parts:
            return taken + 1
        taken += columns(flat((node,)))
    return taken + tail


def _one_operand_a_line(nodes: Nodes, indent: int, tail: int, width: int) -> str:
    """Break before each operator. A caller outside of brackets adds parentheses."""
    starts = [0, *(at for at, node in enumerate(nodes) if node in _OPERATORS), len(nodes)]
    lines: list[str] = []
    for start, end in pairwise(starts):
        sign = f"{nodes[start]}".lstrip() if start else ""
        column, behind = indent + len(sign), tail if end == len(nodes) else 0
        operand = nodes[start + 1 if sign else 0 : end]
        lines.append(sign + broken(operand, indent=indent, column=column, tail=behind, width=width))
    return f"\n{' ' * indent}".join(lines)


def _opened(node: Brackets, indent: int, width: int) -> str:
    inner = indent + _INDENT
    joined = ", ".join(map(flat, node.parts))
    if node.joins and inner + columns(joined) <= width:
        lines = [joined]
    else:
        tail = len(node.comma)
        lines = [broken(part, indent=inner, column=inner, tail=tail, width=width) + node.comma for part in node.parts]
    body = "".join(f"{' ' * inner}{line}\n" for line in lines)
    return f"{node.brackets[0]}\n{body}{' ' * indent}{node.brackets[1]}"


def laid_out(text: str, width: int = WIDTH) -> str:
    """Format a module or a part of one: break each single-line statement that is too long."""
    lines = lines_of(text)
    if all(columns(line.rstrip("\r\n")) <= width for line in lines):
        return text
    for first, last in _statements(text):
        line = lines[first].rstrip("\r\n")
        end = lines[first][len(line) :]
        lines[first] = fitted(line, width).replace("\n", end) + end if first == last and end else lines[first]
    return "".join(lines)


def lines_of(text: str) -> list[str]:
    """Split a text into Python's lines, with their ends. `str.splitlines` also splits at form feeds."""
    return StringIO(text, newline="").readlines()


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """The first and the last line of each statement, counted from 0."""
    first = None
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.NEWLINE and first is not None:
            yield first, token.start[0] - 1
            first = None
        elif token.type not in _NO_CODE and first is None:
            first = token.start[0] - 1


def fitted(line: str, width: int = WIDTH) -> str:
    """One statement with its indentation, broken if it does not fit."""
    if columns(line) <= width:
        return line
    code, remark = _without_remark(line.lstrip())
    indent = len(line) - len(line.lstrip())
    blanks = " " * indent
    if columns(blanks + code) + (0 if _PRAGMA.match(remark) else columns(remark)) <= width:
        return line
    if match := _IMPORT.fullmatch(code):
        names = "".join(f"{blanks}    {name.strip()},{remark}\n" for name in match[2].split(","))
        return f"{blanks}from {match[1]} import (\n{names}{blanks})"
    nodes = _parsed(code)
    if match := _VALUE.fullmatch(code):
        nodes = (match[1], *_parenthesised(_parsed(match[2]), match[1], indent, width))
    return blanks + broken(nodes, indent=indent, column=indent, width=width) + remark


def _parenthesised(value: Nodes, start: str, indent: int, width: int) -> Nodes:
    """Add parentheses to a value with operators, or if the text up to its first bracket does not fit."""
    around = (Brackets("()", (value,), ""),)
    if any(operator in value for operator in _OPERATORS):
        return around
    if ": " in start and any(isinstance(node, Brackets) for node in value):  # kept on the line of its type
        return value
    taken = _unbreakable(value, 0)
    return around if indent + _INDENT + taken <= width < indent + len(start) + taken else value


def _without_remark(code: str) -> tuple[str, str]:
    """Split a statement from the comment after it, with the blanks before the comment."""
    tokens = _tokens(code)
    bare = code[: next((token.start[1] for token in tokens if token.type == tokenize.COMMENT), len(code))].rstrip()
    return bare, code[len(bare) :]


def _tokens(code: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of one statement. An f-string is one token, although newer Pythons split it."""
    depth = 0
    for token in tokenize.generate_tokens(StringIO(code).readline):
        depth += tokenize.tok_name[token.type] == "FSTRING_START"
        if not depth:
            yield token
        depth -= tokenize.tok_name[token.type] == "FSTRING_END"


def _parsed(code: str) -> Nodes:
    """Parse a statement into text and brackets."""
    tree = _Tree()
    begin = 0
    before, word = "", ""
    for token in _tokens(code):
        if tree.is_sign(token.string):
            tree.add(code[begin : token.start[1]])
            tree.add_sign(token.string, "def" if before == "def" else word)
            begin = token.end[1]
        before, word = word, token.string
    tree.add(code[begin:])
    return tree.nodes()


class _Tree:
    """Builds the nodes of a statement, from left to right."""

    def __init__(self) -> None:
        # The parts between the commas: of the statement, which is one part, and of each bracket that is open.
        self._open: list[list[list[str | Brackets]]] = [[[]]]
        self._heads: list[str] = []

    def is_sign(self, word: str) -> bool:
        """Whether a token is not text: a bracket, an operator, or a comma between brackets."""
        return word in _SPLITTING or (word == "," and len(self._open) > 1)

    def add(self, text: str) -> None:
        """Add text. Commas and operators bring the blanks around them."""
        part = self._open[-1][-1]
        part.append(text if part and part[-1] not in _OPERATORS else text.lstrip())

    def add_sign(self, sign: str, head: str) -> None:
        """Add a sign. The head is the word before it."""
        part = self._open[-1][-1]
        if sign in "([{":
            self._heads.append(head)
            self._open.append([[]])
        elif sign in ")]}":
            parts = tuple(map(_filled, self._open.pop()))
            self._open[-1][-1].append(_brackets(sign, parts, self._heads.pop()))
        elif sign == ",":
            self._open[-1].append([])
        else:
            part[-1:] = [f"{part[-1]}".rstrip(), f" {sign} "]

    def nodes(self) -> Nodes:
        """The nodes so far."""
        return _filled(self._open[0][0])


def _filled(part: list[str | Brackets]) -> Nodes:
    return tuple(node for node in part if node)


def _brackets(closing: str, parts: tuple[Nodes, ...], head: str) -> Brackets:
    """Brackets in source. The text before them decides how they are opened.

    Args:
        closing: The closing bracket.
        parts: What is between the commas.
        head: The word before them; ``def`` for a function definition.
    """
    brackets = next(pair for pair in ("()", "[]", "{}") if pair[1] == closing)
    parts = parts if parts[-1] else parts[:-1]
    is_trailer = head in ("def", ")", "]") or (head.isidentifier() and not keyword.iskeyword(head))
    is_alone = len(parts) == 1
    if is_alone and head == "def":
        return Brackets(brackets, parts)
    # After the only part of a subscript or of parentheses, a comma would make a tuple. One argument has none either.
    return Brackets(brackets, parts, "" if is_alone and (is_trailer or closing == ")") else ",", joins=is_trailer)


# Sorts imports by Ruff's and isort's rules: standard library, other packages, own package.


@dataclass(frozen=True, slots=True)
class Import:
    """``import module``, or ``from module import names``.

    Attributes:
        module: The module to import from.
        names: The names, with aliases after ``as``; empty when the module itself is imported.
        remark: A comment after it.
    """

    module: str
    names: tuple[str, ...] = ()
    remark: str = ""

    @property
    def text(self) -> str:
        """The statement on one line."""
        words = f"from {self.module} import {', '.join(self.names)}" if self.names else f"import {self.module}"
        return f"{words}  {self.remark}" if self.remark else words

    @property
    def can_join(self) -> bool:
        """Whether other names of the module may be added. An alias has its own statement."""
        return bool(self.names) and not self.remark and not any(" as " in name for name in self.names)

    def key(self, package: str) -> tuple[object, ...]:
        """The sort key of the import in a package's code."""
        return (section(self.module, package), bool(self.names), _natural(self.module), [*map(member_key, self.names)])


def parse_import(line: str) -> Import:
    """Parse the import on one line, with the comment after it."""
    code, _, remark = line.partition("  #")
    found = import_of(ast.parse(code).body[0])
    assert found is not None, line  # noqa: S101 - whoever asks wrote the line
    return replace(found, remark=f"#{remark}" if remark else "")


def import_of(node: ast.stmt) -> Import | None:
    """The import of a statement; ``None`` for other statements and for imports of several modules."""
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        names = (f"{each.name} as {each.asname}" if each.asname else each.name for each in node.names)
        return Import(node.module, tuple(names))
    if isinstance(node, ast.Import) and len(node.names) == 1 and not node.names[0].asname:
        return Import(node.names[0].name)
    return None


def section(module: str, package: str) -> int:
    """The number of a module's section: standard library, other packages, own package."""
    top = module.partition(".")[0]
    return 2 if top == package else 0 if top in sys.stdlib_module_names else 1


def member_key(name: str) -> tuple[object, ...]:
    """The sort key of an imported name: constants, classes, then the rest, each in natural order without case."""
    group = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return group, _natural(name), name


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A sort key that compares numbers in a text by value."""
    parts = re.findall(r"\d+|\D+", text.lower())
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


def import_block(imports: Iterable[Import], package: str = "", width: int = WIDTH) -> str:
    """The import block of a module: names of one module are joined, and a blank line separates sections."""
    imports, joined = [*imports], dict[str, set[str]]()
    for each in imports:
        if each.can_join:
            joined.setdefault(each.module, set()).update(each.names)
    every = [Import(module, tuple(sorted(names, key=member_key))) for module, names in joined.items()]
    every += [each for each in imports if not each.can_join]
    every.sort(key=lambda each: each.key(package))
    out = ""
    for before, each in zip([None, *every], every, strict=False):
        is_new = before is not None and section(before.module, package) != section(each.module, package)
        out += ("\n" if is_new else "") + fitted(each.text, width) + "\n"
    return out
