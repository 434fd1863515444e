"""Imports the user's API modules. No other code of pykb's generators imports user code.

``sys.path`` and ``sys.modules`` hold the project's modules during a run and are restored afterwards. No bytecode is
written into the project.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.abc
import importlib.machinery
import linecache
import os
import re
import sys
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pykb._regular_file import real_path
from pykb.diagnostics import Diagnostic, Diagnostics, Span
from pykb.diagnostics.codes.generate import IMPORT_FAILED, PATH_NOT_FOUND, PATH_OUTSIDE
from pykb.diagnostics.suggest import closest
from pykb.markers.collect import syntax_error
from pykb.project import FILE_NAME
from pykb.reading import python_conflict

_SKIPPED = frozenset(
    ["__pycache__", "node_modules", "build", "dist", "venv", "env", "site-packages", "testdata", "hack", "bin"],
)
_TESTS = frozenset(["tests", "test"])
_KIND = re.compile(r"\bCustomResource\b|\bgroup_version\s*=")
_RESERVED = sys.stdlib_module_names | {"pykb", "pydantic", "pydantic_core"}
"""Names of the standard library and of packages in use while types are imported."""


@dataclass(frozen=True, slots=True)
class LoadedModule:
    """An imported API module."""

    path: Path
    python: types.ModuleType


def find_files(root: Path, paths: Sequence[str], diagnostics: Diagnostics) -> list[Path]:
    """Find the Python files that the paths name, sorted, each once.

    Args:
        root: The project; paths are relative to it and cannot leave it.
        paths: Files or directories, with everything below them. Go's ``./...`` is accepted.
        diagnostics: Gets paths that do not exist.
    """
    found: dict[Path, None] = {}
    for text in paths:
        place = real_path(root / text.removesuffix("..."))
        if not place.is_relative_to(root):
            diagnostics.report(
                PATH_OUTSIDE,
                None,
                f"the path `{text}` is outside the project `{root.name}`",
                "run `pykb generate` in the project that the path belongs to",
            )
            continue
        files = list(_files(place))
        if not files:
            what = "does not exist" if not place.exists() else "has no Python files"
            diagnostics.report(PATH_NOT_FOUND, None, f"the path `{text}` {what}", _where_to_look(place, root))
        found.update(dict.fromkeys(files))
    return sorted(found)


def _where_to_look(place: Path, root: Path) -> str:
    if place == root and not (root / FILE_NAME).is_file():
        return "run it in a project; to start one: `pykb init --domain example.com`"
    return "./... for all files of the project"


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        if place.suffix == ".py":
            yield place
        return
    for folder, names, files in os.walk(place):
        here = Path(folder)
        names[:] = sorted(n for n in names if not _is_skipped(n, here, place))
        yield from (here / name for name in files if name.endswith(".py"))


def _is_skipped(name: str, folder: Path, top: Path) -> bool:
    if name.startswith(".") or name in _SKIPPED or (folder / name / "pyvenv.cfg").exists():
        return True
    if (folder / name / FILE_NAME).is_file():  # a nested project, like a nested go.mod
        return True
    return name in _TESTS and folder == top


def is_api_file(path: Path, root: Path, text: str, *, named: bool) -> bool:
    """Whether a file declares kinds.

    Such a file mentions the base class, and it is in an ``api`` package or was named on the command line.
    """
    return (named or "api" in path.relative_to(root).parts[:-1]) and _KIND.search(text) is not None


@contextlib.contextmanager
def importing(root: Path, unsaved: Mapping[Path, str] | None = None) -> Iterator[None]:
    """Make the project's modules importable inside the ``with`` block.

    Args:
        root: The project.
        unsaved: Texts of modules that replace those on disk.
    """
    before = dict(sys.modules)
    path, finder = list(sys.path), _Unsaved(unsaved or {})
    bytecode = sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    if unsaved:
        sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.dont_write_bytecode = bytecode
        sys.path[:] = path
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        for name in [name for name, module in sys.modules.items() if name not in before and _lies_in(module, root)]:
            del sys.modules[name]
        sys.modules.update({name: module for name, module in before.items() if name not in sys.modules})
        importlib.invalidate_caches()


class _Unsaved(importlib.abc.MetaPathFinder):
    """Finds modules as Python does, and takes the texts of some of them from an editor."""

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self._texts = texts

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        text = self._texts.get(real_path(Path(spec.origin))) if spec is not None and spec.origin else None
        if spec is not None and spec.origin and text is not None:
            spec.loader = _Text(fullname, spec.origin, text)
        return spec if text is not None else None


class _Text(importlib.machinery.SourceFileLoader):
    """A module whose text is not that of its file. The bytecode of the file does not count."""

    def __init__(self, name: str, path: str, text: str) -> None:
        super().__init__(name, path)
        self._text = text

    def get_code(self, fullname: str) -> types.CodeType:  # noqa: ARG002 - the interface of loaders
        code: types.CodeType = self.source_to_code(self._text.encode(), self.path)
        return code


def _lies_in(module: types.ModuleType, root: Path) -> bool:
    origin = getattr(module, "__file__", None)
    places = [origin] if origin else list(getattr(module, "__path__", []))
    # The project's virtual environment may be inside the project. Its packages must not be imported twice.
    return any(
        Path(place).is_relative_to(root) and "site-packages" not in Path(place).parts for place in places if place
    )


def load(path: Path, root: Path, diagnostics: Diagnostics) -> LoadedModule | None:
    """Import a file of the project by its dotted name. Returns ``None`` and reports it when that fails."""
    top, name = _module_name(path, root)
    package = name.partition(".")[0]
    loaded = sys.modules.get(package)
    if package in _RESERVED and (loaded is None or not _lies_in(loaded, root)):
        diagnostics.add(_hides(package, path, root))
        return None
    entry = str(top)
    if entry not in sys.path[:1]:
        sys.path.insert(0, entry)
        importlib.invalidate_caches()
    _make_room(name, root)
    other = getattr(sys.modules.get(name), "__file__", None)
    if other is not None and real_path(Path(other)) != real_path(path):
        diagnostics.add(_same_name(name, path, Path(other), root))
        return None
    try:
        # stdout is for pykb's data, not for prints of imported code. A finding reports hidden methods.
        with contextlib.redirect_stdout(sys.stderr), warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"Field name .* shadows an attribute", UserWarning)
            module = importlib.import_module(name)
    except SyntaxError as error:
        name = error.filename or str(path)
        linecache.checkcache(name)  # editors change the file while the language server runs
        conflict = python_conflict("".join(linecache.getlines(name)), name)
        diagnostics.add(syntax_error(conflict or error, _shown(name, root)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever the user's module raises
        diagnostics.add(_import_failure(error, path, root))
    else:
        return LoadedModule(path, module)
    return None


def _same_name(name: str, path: Path, other: Path, root: Path) -> Diagnostic:
    shown, folder = _shown(str(path), root), _shown(str(path.parent), root)
    return IMPORT_FAILED.at(
        Span(shown, 1, 1),
        f"importing `{shown}` fails: `{_shown(str(other), root)}` is the module `{name}` already",
        f"touch {folder}/__init__.py",
        notes="a file is imported by its own name where its folder is not a package",
    )


def _make_room(name: str, root: Path) -> None:
    """Remove a module of the same name that came from another project or an installed package."""
    package = name.partition(".")[0]
    loaded = sys.modules.get(package)
    if loaded is None or _lies_in(loaded, root):
        return
    for other in [other for other in sys.modules if other == package or other.startswith(f"{package}.")]:
        del sys.modules[other]


def _hides(package: str, path: Path, root: Path) -> Diagnostic:
    return IMPORT_FAILED.at(
        Span(_shown(str(path), root), 1, 1),
        f"importing `{_shown(str(path), root)}` fails: `{package}` is the name of a module of Python or of pykb",
        "rename it, or move it into a package: a folder with an `__init__.py` and a name of its own",
        label="cannot be imported by this name",
    )


def _shown(path: str, root: Path) -> str:
    return Path(path).relative_to(root).as_posix() if Path(path).is_relative_to(root) else path


def _import_failure(error: BaseException, path: Path, root: Path) -> Diagnostic:
    place = Span(_shown(str(path), root), 1, 1)
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if Path(code.co_filename).is_relative_to(root) and "site-packages" not in Path(code.co_filename).parts:
            place = _place(_shown(code.co_filename, root), trace)
        trace = trace.tb_next
    kind = type(error).__name__
    return IMPORT_FAILED.at(
        place,
        f"importing `{_shown(str(path), root)}` fails: {kind}: {_first_line(error)}",
        *_remedy(error, path, root),
        label="raised here",
    )


def _remedy(error: BaseException, path: Path, root: Path) -> tuple[str, ...]:
    if isinstance(error, ImportError | AttributeError) and "circular import" in str(error):
        return ("move what both modules need into a third one, which imports neither",)
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if not missing:
        return _renamed(error, root)
    folders = [folder for folder in path.parents if folder.is_relative_to(root / missing.partition(".")[0])]
    bare = [folder for folder in reversed(folders) if not (folder / "__init__.py").exists()]
    if bare:  # the file was imported by a shorter name, since a folder above it is not a package
        return tuple(f"touch {_shown(str(folder), root)}/__init__.py" for folder in bare)
    package = sys.modules.get(missing.partition(".")[0])
    if package is not None and _lies_in(package, root):
        return (f"create the module `{missing}`, or correct the import",)
    return (f"install the distribution that has `{missing}` into the project's environment",)


def _renamed(error: BaseException, root: Path) -> tuple[str, ...]:
    """Notes for an import of a name that a project's module lacks, as after a class was renamed."""
    match = re.fullmatch(r"cannot import name '(\w+)' from '([\w.]+)' .*", str(error))
    if match is None or not isinstance(error, ImportError):
        return ()
    module = sys.modules.get(match[2])
    if module is None or not _lies_in(module, root):
        return ()
    near = closest(match[1], [name for name in vars(module) if not name.startswith("_")])
    say = f"import `{near}`" if near else "import the name that it has now"
    return (f"`{match[2]}` has no `{match[1]}`: {say}, or restore it",)


def _place(path: str, trace: types.TracebackType) -> Span:
    """The expression that a step of a traceback stands at."""
    line, end_line, column, end_column = list(trace.tb_frame.f_code.co_positions())[trace.tb_lasti // 2]
    if line is None or column is None or end_column is None or line != end_line:
        return Span(path, trace.tb_lineno, (column or 0) + 1)
    return Span(path, line, column + 1, line, end_column + 1)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or ["(no message)"])[0].rstrip(".")


def _module_name(path: Path, root: Path) -> tuple[Path, str]:
    """The directory to import from, and the dotted name.

    Packages are the directories with an ``__init__.py``. A file outside of a package is a top-level module. If its
    name, or that of a file beside it, is one of Python's own (``types.py``), the folder counts as a package. Otherwise
    Python's module would be imported in its place.

    Args:
        path: A Python file.
        root: The project. Nothing outside of it is imported.
    """
    parts = [] if path.stem == "__init__" else [path.stem]
    folder = path.parent
    while (folder / "__init__.py").exists():
        parts.insert(0, folder.name)
        folder = folder.parent
    while folder != root and folder.name.isidentifier() and _hides_others(folder):
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _hides_others(folder: Path) -> bool:
    return any(
        entry.stem in _RESERVED and (entry.suffix == ".py" or (entry / "__init__.py").exists())
        for entry in folder.iterdir()
    )
