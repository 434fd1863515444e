"""What the modules of a project keep, so that each process of an operator begins with them as after their import.

The modules stay imported: to import them anew takes longer than a history, and some fail the second time, as those
do that register a metric. What they can change is noted once and put back: variables, attributes of classes and of
the project's own objects, containers, closures, defaults of parameters, and caches of functions.
"""

from __future__ import annotations

import ast
import functools
import importlib
import operator
import sys
import types
from collections import OrderedDict, deque
from collections.abc import (
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    MutableMapping,
    MutableSequence,
    MutableSet,
    Sequence,
)
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

from pykb.client.guard import is_end
from pykb.explore._gate import path_in

_PLAIN = (str, bytes, int, float, complex, type(None), type(Ellipsis))
_CONTAINERS = (MutableMapping, MutableSequence, MutableSet)
_LOCKS = ("asyncio.locks", "asyncio.queues")
_Cache = type(functools.lru_cache(lambda: None))
_MISSING = object()


@dataclass(frozen=True, slots=True, order=True)
class Variable:
    """A variable of a module, or an attribute of one of its classes.

    Attributes:
        file: The path of the module, in the folder of the user's code.
        name: Its name, after that of its class.
    """

    file: str
    name: str

    def told(self, root: Path | None) -> str:
        """Its name and its line."""
        source = (root or Path()) / self.file
        body, line = ast.parse(source.read_bytes()).body, 1
        for part in self.name.split("."):
            statement = next((each for each in body if part in _names(each)), None)
            if statement is None:
                break
            body, line = getattr(statement, "body", []), statement.lineno
        return f"`{self.name}` ({self.file}:{line})"


def _names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds."""
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        yield from (each.id for each in ast.walk(statement) if isinstance(each, ast.Name))


class _Content:
    """What something holds, and how to put it back.

    Attributes:
        views: Show what it holds at any time. ``None`` if only a call can tell.
    """

    def __init__(
        self,
        variable: Variable,
        read: Callable[[], tuple[Any, ...]],
        write: Callable[[tuple[Any, ...]], object],
        views: tuple[Collection[Any], ...] | None = None,
    ) -> None:
        self.views = views
        self._variable = variable
        self._read = read
        self._write = write
        self._content = read()

    def restore(self) -> Iterable[Variable]:
        """Put it back, and give the variable if it was changed."""
        if _is_same(self._read(), self._content):
            return ()
        self._write(self._content)
        return (self._variable,)


class _Namespace:
    """The variables of a module or the attributes of a class."""

    def __init__(self, owner: type | ModuleType, file: str) -> None:
        self._owner = owner
        self._file = file
        self._content = dict(self.variables())
        self.views = _views(vars(owner))

    def variables(self) -> Iterator[tuple[str, Any]]:
        """Yield what the user's code may have set: not what Python and Pydantic note, nor submodules."""
        for name, value in vars(self._owner).items():
            if not name.startswith(("__", "_abc_")) and not isinstance(value, ModuleType):
                yield name, value

    def variable(self, name: str) -> Variable:
        """One of them."""
        return Variable(self._file, f"{self._owner.__qualname__}.{name}" if isinstance(self._owner, type) else name)

    def restore(self) -> Iterable[Variable]:
        """Put all back, and give those that were changed."""
        now, names = dict(self.variables()), []
        for name in {**now, **self._content}:
            value = self._content.get(name, _MISSING)
            if value is now.get(name, _MISSING):
                continue
            names.append(name)
            if value is _MISSING:
                self._delete(name)
            else:
                self._set(name, value)
        return map(self.variable, names)

    def _set(self, name: str, value: object) -> None:
        if isinstance(self._owner, type):
            type.__setattr__(self._owner, name, value)  # whatever its metaclass says
        else:
            vars(self._owner)[name] = value

    def _delete(self, name: str) -> None:
        if isinstance(self._owner, type):
            type.__delattr__(self._owner, name)
        else:
            del vars(self._owner)[name]


class _Kept:
    """What one module can change. Most histories change nothing, so that is seen in few calls."""

    def __init__(self, parts: Sequence[_Content | _Namespace]) -> None:
        self._parts = parts
        self._hidden = [each for each in parts if isinstance(each, _Content) and each.views is None]
        self._views = [view for each in parts for view in each.views or ()]
        self._look()

    def _look(self) -> None:
        self._sizes = [*map(len, self._views)]
        self._seen = [*chain.from_iterable(self._views)]

    def _is_untouched(self) -> bool:
        return [*map(len, self._views)] == self._sizes and all(
            map(operator.is_, chain.from_iterable(self._views), self._seen)
        )

    def restore(self) -> Iterator[Variable]:
        """Put everything back, and give the variables that were changed."""
        if self._is_untouched():
            parts: Sequence[_Content | _Namespace] = self._hidden
        else:
            parts = self._parts
        for each in parts:
            yield from each.restore()
        if parts is self._parts:
            self._look()


class Memory:
    """The state of all modules in a folder of the user's code, at the moment when this is made.

    Args:
        root: The folder. ``None`` for no modules.
    """

    def __init__(self, root: Path | None) -> None:
        self._files = own_modules(root)
        self._known: dict[int, object] = {id(sys.modules): sys.modules}
        self._kept = {name: _Kept([*self._parts_of(sys.modules[name], file)]) for name, file in self._files.items()}

    @property
    def modules(self) -> Collection[str]:
        """The names of the modules."""
        return self._files

    def restore(self, *, but: Collection[str] = ()) -> list[Variable]:
        """Put everything back, beside modules of these names. Gives the variables that were changed."""
        kept = (each for name, each in self._kept.items() if name not in but)
        return sorted({variable for each in kept for variable in each.restore()})

    def _parts_of(self, module: ModuleType, file: str) -> Iterator[_Content | _Namespace]:
        namespace = _Namespace(module, file)
        yield namespace
        following = deque((value, namespace.variable(name)) for name, value in namespace.variables())
        while following:  # deep structures do not end the stack
            value, variable = following.popleft()
            if isinstance(value, _PLAIN) or id(value) in self._known:
                continue
            self._known[id(value)] = value
            if isinstance(value, type) and value.__module__ in self._files:
                own = _Namespace(value, self._files[value.__module__])
                yield own
                following += [(each, own.variable(name)) for name, each in own.variables()]
            else:
                contents = list(self._contents(value))
                yield from (_Content(variable, *content) for content in contents)
                parts = [part for read, *_ in contents for part in read()]
                following += [(part, variable) for part in (*parts, *_parts(value))]

    def _contents(self, value: Any) -> Iterator[tuple[Any, ...]]:
        """Yield how to read and to write what a value holds, if it can change, and the views of it if there are."""
        if isinstance(value, dict):
            base = OrderedDict if isinstance(value, OrderedDict) else dict
            yield (
                functools.partial(_flat, value, base),
                functools.partial(_refill_dict, value, base),
                _views(value, base),
            )
        elif isinstance(value, list):
            write = functools.partial(list.__setitem__, value, slice(None))
            yield functools.partial(tuple, value), write, (value,) if type(value) is list else None
        elif isinstance(value, deque | set):
            views = (value,) if type(value) in (deque, set) else None
            yield functools.partial(tuple, value), functools.partial(_refill, value), views
        elif isinstance(value, types.CellType):
            yield functools.partial(_content_of, value), functools.partial(_fill, value)
        elif isinstance(value, _Cache):
            yield functools.partial(_size_of, value), lambda _: value.cache_clear()
        if self._is_open(value):
            if hasattr(value, "__dict__"):
                held = vars(value)
                yield functools.partial(_flat, held), functools.partial(_refill_dict, held, dict), _views(held)
            for slot in _slots(type(value)):
                yield functools.partial(_slot_of, value, slot), functools.partial(_fill_slot, value, slot)

    def _is_open(self, value: object) -> bool:
        """Whether the attributes of an object are the project's own, or the content of a container or a lock."""
        cls = type(value)
        if isinstance(value, types.FunctionType):
            return value.__module__ in self._files
        return not isinstance(value, type) and (
            cls.__module__ in self._files or cls.__module__ in _LOCKS or isinstance(value, _CONTAINERS)
        )


def import_again(names: Iterable[str]) -> None:
    """Import modules anew, so that they forget what was done with them. One that cannot be stays as it is."""
    for name in names:
        before = sys.modules.pop(name)
        try:
            importlib.import_module(name)
        except BaseException as error:
            if is_end(error):
                raise
            sys.modules[name] = before


def own_modules(root: Path | None) -> dict[str, str]:
    """The names of the modules of a folder, each with its path."""
    if root is None:
        return {}
    folder, found = str(root), {}
    for name, module in sys.modules.copy().items():  # in one step: a finalizer may import while a list grows
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and (path := path_in(folder, file)):
            found[name] = path
    return found


def _parts(value: Any) -> Iterator[Any]:
    """Yield what hangs on a value that cannot change itself."""
    if isinstance(value, tuple | frozenset):
        yield from value
    elif isinstance(value, types.FunctionType):
        yield from (value.__defaults__, value.__kwdefaults__, value.__closure__)
    elif isinstance(value, staticmethod | classmethod | types.MethodType):
        yield value.__func__
        yield getattr(value, "__self__", None)
    elif isinstance(value, property):
        yield from (value.fget, value.fset, value.fdel)
    elif isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, _Cache):
        yield value.__wrapped__


def _is_same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


def _views(values: Mapping[Any, Any], base: Any = None) -> tuple[Collection[Any], ...]:
    """What shows the present keys and values of a mapping."""
    return (values.keys(), values.values()) if base is None else (base.keys(values), base.values(values))


def _flat(values: Mapping[Any, Any], base: Any = None) -> tuple[Any, ...]:
    """The keys of a mapping, and then its values."""
    return (*values, *values.values()) if base is None else (*base.keys(values), *base.values(values))


def _refill_dict(target: dict[Any, Any], base: type[dict[Any, Any]], content: tuple[Any, ...]) -> None:
    half = len(content) // 2
    base.clear(target)
    base.update(target, zip(content[:half], content[half:], strict=True))


def _refill(target: deque[Any] | set[Any], content: tuple[Any, ...]) -> None:
    target.clear()
    target.update(content) if isinstance(target, set) else target.extend(content)


def _content_of(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # it is empty
        return ()


def _fill(cell: types.CellType, content: tuple[Any, ...]) -> None:
    if content:
        [cell.cell_contents] = content
    else:
        del cell.cell_contents


def _size_of(cache: Any) -> tuple[int]:
    return (cache.cache_info().currsize,)


def _slots(cls: type) -> Iterator[types.MemberDescriptorType]:
    for base in cls.__mro__:
        if "__slots__" in vars(base):
            yield from (each for each in vars(base).values() if isinstance(each, types.MemberDescriptorType))


def _slot_of(value: object, slot: types.MemberDescriptorType) -> tuple[Any, ...]:
    try:
        return (slot.__get__(value),)
    except AttributeError:  # it is empty
        return ()


def _fill_slot(value: object, slot: types.MemberDescriptorType, content: tuple[Any, ...]) -> None:
    if content:
        slot.__set__(value, content[0])
    else:
        slot.__delete__(value)
