"""Sorts imports by Ruff's and isort's rules: standard library, other packages, own package."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pykb.python_source.layout import WIDTH, fitted


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


def parse(line: str) -> Import:
    """Parse the import on one line, with the comment after it."""
    code, _, remark = line.partition("  #")
    found = of(ast.parse(code).body[0])
    assert found is not None, line  # noqa: S101 - whoever asks wrote the line
    return replace(found, remark=f"#{remark}" if remark else "")


def of(node: ast.stmt) -> Import | None:
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


def block(imports: Iterable[Import], package: str = "", width: int = WIDTH) -> str:
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
