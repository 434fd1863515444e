"""Which lines of the user's code were run: what no history reached was not explored.

Since Python 3.12, the interpreter tells of each line once (``sys.monitoring``). Before, a trace function would make
histories many times slower, so the functions of the user's code are compiled with a note of each statement. Both leave
trace functions and other tools, such as those of debuggers and of coverage.py, as they are.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import gc
import importlib.machinery
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path, PurePath
from types import CodeType, FunctionType
from typing import Any, Self
from unittest import mock

from pykb._regular_file import read_text
from pykb.explore._gate import path_in
from pykb.reading import read_python

Lines = Mapping[str, frozenset[int]]
"""Lines by file, relative to the folder of the user's code."""

_LARGEST = 2_000_000
"""The most bytes of a file that is looked at."""


class LineCounter:
    """Notes the lines of the user's code that are run in this process, in all threads.

    Args:
        root: The folder of the user's code. ``None`` counts nothing.
    """

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._run: set[tuple[str, int]] = set()
        self._given: set[tuple[str, int]] = set()
        self._files: dict[str, None] = {}
        self._modules = 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Self:
        if self._root is not None:
            self._stack.enter_context(_monitored(self._note) if sys.version_info >= (3, 12) else self._probed())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def take(self) -> Lines:
        """The lines that were run and not given before. A file that was imported has none at first."""
        if self._root is None:
            return {}
        self._look()
        new: dict[str, set[int]] = {}
        for file in self._files:
            new[self._path(file)] = set()
        self._files.clear()
        run, self._run = self._run, set()
        for file, line in run - self._given:
            if path := self._path(file):
                new.setdefault(path, set()).add(line)
        self._given |= run
        return {path: frozenset(lines) for path, lines in new.items()}

    def _path(self, file: str) -> str:
        return _counted(str(self._root), file)

    def _look(self) -> None:
        """Note the files of modules that were imported since the last look."""
        if len(sys.modules) == self._modules:
            return
        self._modules = len(sys.modules)
        for module in sys.modules.copy().values():
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and (file, 0) not in self._given and self._path(file):
                self._given.add((file, 0))
                self._files[file] = None

    def _note(self, code: CodeType, line: int) -> None:
        if self._path(code.co_filename):
            self._run.add((code.co_filename, line))

    @contextlib.contextmanager
    def _probed(self) -> Iterator[None]:
        """Let functions note their statements, also those of modules that are imported meanwhile."""
        setattr(builtins, _NAME, lambda file, line: self._run.add((file, line)))  # it stays, since the functions do
        for function in _functions(str(self._root)):
            code = function.__code__
            if self._path(code.co_filename):
                with contextlib.suppress(ValueError):  # its file has changed since it was imported
                    function.__code__ = _probes_of(code.co_filename).get(_key(code), code)
        original = importlib.machinery.SourceFileLoader.get_code

        def get_code(loader: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
            probed = None
            if self._path(loader.path):
                probed = next((code for code in _probes_of(loader.path).values() if code.co_name == "<module>"), None)
            return probed or original(loader, name)

        with mock.patch.object(importlib.machinery.SourceFileLoader, "get_code", get_code):
            yield


_SEEN: dict[str, list[ModuleSpec | None]] = {}
"""The modules of each folder whose functions were looked for in this process. To import one again makes a new spec."""


def _functions(folder: str) -> list[FunctionType]:
    """All functions of this process, also those that the garbage collector is not to look at.

    In a process that runs many tests, there are millions of objects. So none is given if no module of the folder was
    imported since the last time. Functions that others have made since then have the code of these.
    """
    files = ((module, getattr(module, "__file__", None)) for module in sys.modules.copy().values())
    specs = [module.__spec__ for module, file in files if isinstance(file, str) and path_in(folder, file)]
    seen = _SEEN.get(folder)
    if seen is not None and len(specs) == len(seen) and all(map(operator.is_, specs, seen)):
        return []
    _SEEN[folder] = specs
    if is_frozen():
        gc.unfreeze()
    found = [each for each in gc.get_objects() if type(each) is FunctionType]
    if is_frozen():
        gc.freeze()
    return found


@functools.cache
def is_frozen() -> bool:
    """Whether objects were hidden from the garbage collector before. Python counts them all, so it is asked once."""
    return gc.get_freeze_count() > 0


@contextlib.contextmanager
def _monitored(note: Callable[[CodeType, int], None]) -> Iterator[None]:
    """Call a function once for each line that is run. If other tools have taken all places, it is not called."""
    monitoring: Any = sys.monitoring  # type: ignore[attr-defined] # since Python 3.12
    tool = next((number for number in _TOOLS if monitoring.get_tool(number) is None), None)
    if tool is None:
        yield
        return

    def line_run(code: CodeType, line: int) -> object:
        note(code, line)
        return monitoring.DISABLE

    monitoring.use_tool_id(tool, "pykb explore")
    try:
        monitoring.register_callback(tool, monitoring.events.LINE, line_run)
        monitoring.set_events(tool, monitoring.events.LINE)
        monitoring.restart_events()  # an earlier exploration in this process has seen the same lines
        yield
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, monitoring.events.LINE, None)
        monitoring.free_tool_id(tool)


_TOOLS = (4, 3)
"""Places for tools of ``sys.monitoring`` that no kind of tool has reserved."""

_NAME = "_pykb_note_line"


def _probes_of(file: str) -> dict[tuple[str, int], CodeType]:
    source = _source(Path(file))
    return _compiled(file, source) if source else {}


@functools.lru_cache(maxsize=256)
def _compiled(file: str, source: str) -> dict[tuple[str, int], CodeType]:
    """The code of a file in which each statement of a function notes itself, by name and line."""
    try:
        tree = read_python(source)
        _Probing(file).visit(tree)
        module = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    return {_key(code): code for code in _codes(module)}


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _codes(each)


class _Probing(ast.NodeTransformer):
    """Adds a call before each statement of a function."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._depth = 0

    def visit(self, node: ast.AST) -> ast.AST:
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        self._depth += is_function
        self.generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            if self._depth and isinstance(body, list):
                setattr(node, name, [each for statement in body for each in self._with_probe(statement)])
        self._depth -= is_function
        return node

    def _with_probe(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        if not _is_silent(statement):
            called = ast.Name(_NAME, ast.Load())
            call = ast.Call(called, [ast.Constant(self._file), ast.Constant(statement.lineno)], [])
            yield ast.copy_location(ast.Expr(ast.copy_location(call, statement)), statement)
        yield statement


# -- Which lines there are.


@functools.cache
def _counted(folder: str, file: str) -> str:
    """The path of a file whose lines count. Empty for other files, also for tests: there may be hundreds."""
    path = path_in(folder, file)
    *folders, name = PurePath(path).parts or ("",)
    is_test = "tests" in folders or name.startswith("test_") or name == "conftest.py"
    return "" if is_test else path


def _source(path: Path) -> str:
    try:
        return read_text(path, most=_LARGEST)
    except (OSError, ValueError):
        return ""


@functools.lru_cache(maxsize=256)
def statements_of(source: str) -> Mapping[int, int]:
    """The lines of the statements in functions, each with the first line of its statement.

    Docstrings, what only type checkers see, methods that must be overridden, ``main``, and what ``# pragma: no cover``
    marks do not count. Generated files have none.
    """
    if any(word in source[:_HEAD] for word in _GENERATED):
        return {}
    try:
        tree = read_python(source)
        module = compile(source, "<explored>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return {}
    lines = source.splitlines()
    compiled = {line for code in _codes(module) for *_, line in code.co_lines()}
    found: dict[int, int] = {}
    for first, last in _extents(tree.body, lines, inside=False):
        if not compiled.isdisjoint(range(first, last + 1)):  # else it is never run, as after a `return`
            for line in range(first, last + 1):
                found.setdefault(line, first)
    return found


_HEAD = 2000
_GENERATED = ("DO NOT EDIT", "@generated")


def _extents(body: Sequence[ast.stmt], lines: Sequence[str], *, inside: bool) -> Iterator[tuple[int, int]]:
    """The first and the last line of each statement. That of a compound one ends before what is in it."""
    for statement in body:
        if not inside and getattr(statement, "name", "") == "main":
            continue  # it starts the program, which the explorer does instead
        if _is_pragma(statement, lines):
            yield from _extents(getattr(statement, "orelse", []), lines, inside=inside)
            continue
        first = min([statement.lineno, *(each.lineno for each in getattr(statement, "decorator_list", ()))])
        is_function = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
        blocks = list(_blocks(statement))
        if inside and not _is_silent(statement):
            starts = [each.lineno for block in blocks for each in block[:1]]
            last = min(starts) - 1 if starts else statement.end_lineno or first
            yield first, max(first, last)
        for block in blocks:
            yield from _extents(block, lines, inside=inside or is_function)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
        yield statement.orelse
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if block:
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _is_silent(statement: ast.stmt) -> bool:
    """Whether nothing is run for a statement, or nobody is meant to run it."""
    match statement:
        case ast.Global() | ast.Nonlocal() | ast.Expr(ast.Constant()) | ast.AnnAssign(value=None):
            return True
        case ast.Raise(exc=ast.Name("NotImplementedError") | ast.Call(ast.Name("NotImplementedError"))):
            return True
    return isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test)


def _is_pragma(statement: ast.stmt, lines: Sequence[str]) -> bool:
    starts = [each.lineno for block in _blocks(statement) for each in block[:1]]
    last = max(statement.lineno, min(starts) - 1) if starts else statement.end_lineno or statement.lineno
    return any("# pragma: no cover" in line for line in lines[statement.lineno - 1 : last])


@dataclass(frozen=True, slots=True)
class Unreached:
    """Statements in a row that no history reached.

    Attributes:
        path: The file, relative to the folder of the user's code.
        first: The first line.
        last: The last line.
        source: What the first line says.
    """

    path: str
    first: int
    last: int
    source: str

    def __str__(self) -> str:
        lines = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.path}:{lines}: {self.source}"


@dataclass(slots=True)
class Coverage:
    """What the histories have reached of the user's code.

    Attributes:
        root: The folder of the user's code.
        reached: The first lines of the statements that were run, by file.
    """

    root: Path | None = None
    reached: dict[str, set[int]] = field(default_factory=dict)
    _known: dict[str, Mapping[int, int]] = field(default_factory=dict)

    def add(self, lines: Lines) -> int:
        """Note what a history has run. Returns how much of it is new."""
        new = 0
        for path, run in lines.items():
            known = self.reached.setdefault(path, set())
            statements = self._statements(path)
            before = len(known)
            known.update(statements[line] for line in run if line in statements)
            new += len(known) - before
        return new

    @property
    def files(self) -> list[str]:
        """The files that the operator has imported."""
        return sorted(self.reached)

    @property
    def files_run(self) -> list[str]:
        """Those of which lines were run."""
        return [path for path in self.files if self.reached[path]]

    @property
    def run(self) -> int:
        """How many statements were run."""
        return sum(map(len, self.reached.values()))

    @property
    def total(self) -> int:
        """How many statements there are in the functions of these files."""
        return sum(len(set(self._statements(path).values())) for path in self.reached)

    def unreached(self) -> list[Unreached]:
        """The statements that no history reached, in order."""
        return [each for path in self.files for each in self._unreached_in(path)]

    def source_of(self, path: str) -> str:
        """The text of a file."""
        return _source(self.root / path) if self.root is not None else ""

    def _statements(self, path: str) -> Mapping[int, int]:
        if path not in self._known:
            self._known[path] = statements_of(self.source_of(path))
        return self._known[path]

    def _unreached_in(self, path: str) -> Iterator[Unreached]:
        lines = self.source_of(path).splitlines()
        statements, reached = self._statements(path), self.reached[path]
        for rows in _runs(sorted(set(statements.values())), reached):
            last = max(line for line, first in statements.items() if first == rows[-1])
            yield Unreached(path, rows[0], last, lines[rows[0] - 1].strip())


def _runs(every: Iterable[int], reached: set[int]) -> Iterator[list[int]]:
    """Those that were not reached, each row in which no other one is in between."""
    row: list[int] = []
    for line in every:
        if line not in reached:
            row.append(line)
        elif row:
            yield row
            row = []
    if row:
        yield row
