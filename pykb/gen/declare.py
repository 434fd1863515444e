"""Types as declared: the Python object together with its source.

A class, ``NewType``, ``type`` statement or ``Annotated`` alias becomes a :class:`NamedType`; built-in types have no
declaration, since their docstrings do not go into a schema.
"""

from __future__ import annotations

import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from typing_extensions import Format, TypeAliasType, get_annotations

from pykb._regular_file import read_text
from pykb.diagnostics import Diagnostics, Span
from pykb.markers.collect import collect, scan
from pykb.markers.model import FieldDeclaration, Marker, SourceFile, TypeDeclaration, TypeKind
from pykb.markers.registry import MarkerRegistry

_BUILT_IN = "pykb.api."


@dataclass(frozen=True, slots=True, eq=False)
class NamedType:
    """A type with a name. There is one for each Python object, and they are compared by identity.

    Attributes:
        name: The name in messages.
        python: The class, ``NewType``, ``TypeAliasType``, or the value of an alias.
        declaration: Its place in the source; ``None`` for built-in types and types made at run time.
        built_in: Whether it is one of pykb's own Kubernetes types.
    """

    name: str
    python: object
    declaration: TypeDeclaration | None = None
    built_in: bool = False

    @property
    def span(self) -> Span | None:
        """Where it is declared."""
        return self.declaration.span if self.declaration else None

    @property
    def markers(self) -> tuple[Marker, ...]:
        """The markers of the type itself."""
        return self.declaration.markers if self.declaration else ()


@dataclass(slots=True)
class Declarations:
    """Finds the source of types. Reads each file once."""

    root: Path
    registry: MarkerRegistry
    diagnostics: Diagnostics
    unsaved: Mapping[Path, str] = field(default_factory=dict)
    _files: dict[str, SourceFile] = field(default_factory=dict)
    _modules: dict[str, SourceFile | None] = field(default_factory=dict)
    _named: dict[int, NamedType] = field(default_factory=dict)
    _aliases: dict[int, NamedType] = field(default_factory=dict)
    _texts: dict[str, list[str]] = field(default_factory=dict)
    _annotations: dict[type, frozenset[str]] = field(default_factory=dict)
    _packages: dict[Path, tuple[Marker, ...]] = field(default_factory=dict)

    def read(self, path: Path, text: str, *, always: bool = True) -> SourceFile | None:
        """The declarations of a file. ``None`` for a file without markers, unless ``always`` is set."""
        shown = self.shown(path)
        found = self._files.get(shown)
        if found is None:
            read = collect if always else scan
            found = read(text, shown, registry=self.registry, diagnostics=self.diagnostics)
            if found is not None:
                self._files[shown] = found
                self._texts[shown] = text.splitlines()
        return found

    def text_of(self, path: Path) -> str:
        """The text of a file: as an editor has it, else as it is on disk.

        Raises:
            OSError, UnicodeDecodeError: The file cannot be read.
        """
        known = self.unsaved.get(path)
        return read_text(path) if known is None else known

    def text(self, span: Span) -> str:
        """The source under a span."""
        lines = self._texts.get(span.path, [])[span.line - 1 : span.end_line]
        if not lines:
            return ""
        lines[-1] = lines[-1][: span.end_column - 1]
        lines[0] = lines[0][span.column - 1 :]
        return "\n".join(lines)

    def shown(self, path: Path) -> str:
        """A path as messages show it: relative to the project, with forward slashes."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else path.as_posix()

    def of_module(self, name: str) -> SourceFile | None:
        """The source of an imported module; ``None`` for built-in types and modules without one."""
        if name in self._modules:
            return self._modules[name]
        found = None
        module = sys.modules.get(name)
        origin = getattr(module, "__file__", None)
        if module is not None and origin and origin.endswith(".py") and not name.startswith(_BUILT_IN):
            try:
                found = self.read(Path(origin), self.text_of(Path(origin)))
            except (OSError, UnicodeDecodeError):
                found = None
        self._modules[name] = found
        if found is not None and module is not None:
            self._learn_aliases(found, module)
        return found

    def package_markers(self, folder: Path) -> tuple[Marker, ...]:
        """The package markers in all modules of a package, even in those that the run does not read.

        A Go package works in the same way. A folder without ``__init__.py`` is not a package, and only the files of it
        that were read count.
        """
        if not (folder / "__init__.py").is_file():
            return tuple(m for s in self._files.values() if self.path(s).parent == folder for m in s.package_markers)
        known = self._packages.get(folder)
        if known is None:
            sources = [self._glance(path) for path in sorted(folder.glob("*.py"))]
            known = self._packages[folder] = tuple(m for source in sources if source for m in source.package_markers)
        return known

    def path(self, source: SourceFile) -> Path:
        """The path of a file."""
        return self.root / source.path

    def _glance(self, path: Path) -> SourceFile | None:
        """Read a file with markers. Its findings are dropped unless the run reads it anyway."""
        known = self._files.get(self.shown(path))
        if known is not None:
            return known
        try:
            text = self.text_of(path)
        except (OSError, UnicodeDecodeError):
            return None
        return scan(text, self.shown(path), registry=self.registry, diagnostics=Diagnostics())

    def package_of(self, python: type) -> tuple[Marker, ...]:
        """The markers of the package that a class belongs to."""
        source = self.of_module(python.__module__)
        return self.package_markers(self.path(source).parent) if source else ()

    def read_files(self) -> frozenset[str]:
        """The files whose types were asked for, as messages show their paths."""
        return frozenset(source.path for source in self._modules.values() if source is not None)

    def named(self, python: object) -> NamedType:
        """The named type of a class, ``NewType`` or ``type`` statement."""
        found = self._named.get(id(python))
        if found is None:
            origin = generic_origin(python)
            module = str(getattr(origin, "__module__", ""))
            qualname = str(getattr(origin, "__qualname__", None) or getattr(origin, "__name__", origin))
            source = self.of_module(module)
            declaration = source.types.get(qualname) if source else None
            found = NamedType(
                str(getattr(python, "__name__", qualname)),
                python,
                declaration,
                built_in=f"{module}.".startswith(_BUILT_IN),
            )
            self._named[id(python)] = found
        return found

    def alias_names(self, module: types.ModuleType) -> Mapping[str, NamedType]:
        """The names of declared aliases in a module's namespace, its own and imported ones.

        The ``python`` of each is a stand-in for the alias that can be used in an annotation.
        """
        self.of_module(module.__name__)
        if not self._aliases:
            return {}
        return {name: self._aliases[id(value)] for name, value in vars(module).items() if id(value) in self._aliases}

    def field(self, owner: type, name: str) -> tuple[FieldDeclaration | None, type]:
        """The source of a field, and the class that declares it."""
        for base in owner.__mro__:
            if name not in self.annotated(base):
                continue
            origin = generic_origin(base)
            if not isinstance(origin, type):
                continue
            declaration = self.named(origin).declaration
            if declaration is not None and name in declaration.fields:
                return declaration.fields[name], origin
            if origin is base:
                return None, base
        return None, owner

    def annotated(self, cls: type) -> frozenset[str]:
        """The names that a class annotates itself.

        Python 3.14 evaluates annotations only now. Names under ``if TYPE_CHECKING:`` do not exist then.
        """
        known = self._annotations.get(cls)
        if known is None:
            known = self._annotations[cls] = frozenset(get_annotations(cls, format=Format.FORWARDREF))
        return known

    def _learn_aliases(self, source: SourceFile, module: types.ModuleType) -> None:
        for declaration in source.types.values():
            value = vars(module).get(declaration.name)
            # An alias without markers or description equals its value. A class or NewType under another name has
            # its own declaration. Other values are compared by identity.
            own = declaration.markers or declaration.description
            if declaration.kind is not TypeKind.ALIAS or not own or isinstance(value, type | typing.NewType):
                continue
            if type(value).__name__ == "TypeAliasType":
                continue  # a `type` statement already makes an object of its own
            stand_in = _stand_in(declaration.name, value)
            named = NamedType(declaration.name, stand_in, declaration)
            self._aliases[id(value)] = self._named[id(stand_in)] = named


def _stand_in(name: str, value: object) -> object:
    make: typing.Callable[..., object] = TypeAliasType
    return make(name, value)


def generic_origin(python: object) -> object:
    """The generic class behind ``Box[int]``; any other object itself."""
    metadata = getattr(python, "__pydantic_generic_metadata__", None)
    if isinstance(metadata, dict) and metadata.get("origin") is not None:
        origin: object = metadata["origin"]
        return origin
    return python
