"""Dataclasses of pykb behave as those of the standard library."""

import copy
import dataclasses
import inspect
import pickle
import sys
from collections.abc import Callable
from dataclasses import field, replace
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from pykb import _dataclass

T = TypeVar("T")
Decorator = Callable[..., Callable[[type], Any]]


def classes(dataclass: Decorator) -> dict[str, Any]:
    """The same classes, made by either decorator."""

    @dataclass(frozen=True, slots=True)
    class Pair:
        """Has fields of each sort."""

        first: int
        second: "list[int]" = field(default_factory=list, hash=False)
        third: str = "c"
        hidden: str = field(default="d", repr=False)
        ignored: int = field(default=0, compare=False)
        count: ClassVar[int] = 5

        def total(self) -> int:
            return self.first + sum(self.second)

    @dataclass(frozen=True, slots=True)
    class One:
        """Has one field, which is checked."""

        value: object

        def __post_init__(self) -> None:
            if self.value is None:
                raise ValueError("no value")

    @dataclass(frozen=True, slots=True)
    class Empty:
        """Has none."""

    @dataclass(frozen=True, slots=True)
    class Own:  # noqa: PLW1641 - the decorator makes `__hash__`
        """Has methods of its own."""

        value: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, int)

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True, slots=True)
    class Hashed:
        """Is hashed in its own way."""

        value: list[int]

        def __hash__(self) -> int:
            return 7

    @dataclass(frozen=True, slots=True)
    class Child(One):
        """Has a field more."""

        more: int = 1

    class Plain(One):
        """Is no dataclass."""

    @dataclass(frozen=True, slots=True)
    class Box(Generic[T]):
        """Holds something."""

        value: T

    @dataclass(frozen=True, slots=True, order=True)
    class Ordered:
        """Has other options."""

        value: int

    return {name: made for name, made in locals().items() if isinstance(made, type)}


OURS, THEIRS = classes(_dataclass.dataclass), classes(dataclasses.dataclass)


def outcome(act: Callable[[dict[str, Any]], object], made: dict[str, Any]) -> object:
    """What a use of classes gives, or how it fails."""
    try:
        return act(made)
    except Exception as error:  # noqa: BLE001 - any failure is to be the same
        return type(error), str(error)


def setting(instance: Any, name: str) -> object:
    """Try to set an attribute, and then to delete it."""
    said = []
    for act in (lambda: setattr(instance, name, 1), lambda: delattr(instance, name)):
        try:
            act()
        except Exception as error:  # noqa: BLE001 - any failure is to be the same
            said.append((type(error), str(error)))
    return said


def nested(one: Any) -> object:
    """An object that is part of itself."""
    inner: list[Any] = []
    inner.append(one(inner))
    return inner[0]


NAN = float("nan")
USES: dict[str, Callable[[dict[str, Any]], object]] = {
    "defaults": lambda c: repr(c["Pair"](1)),
    "all fields": lambda c: repr(c["Pair"](1, [2], third="x", hidden="y", ignored=3)),
    "hidden": lambda c: c["Pair"](1, hidden="y").hidden,
    "another list each": lambda c: c["Pair"](1).second is c["Pair"](1).second,
    "methods": lambda c: (c["Pair"](1, [2]).total(), c["Pair"].count),
    "no argument": lambda c: c["Pair"](),
    "too many": lambda c: c["One"](1, 2),
    "unknown": lambda c: c["One"](1, other=2),
    "checked": lambda c: c["One"](None),
    "parameters": lambda c: [list(inspect.signature(c[name]).parameters) for name in ("Pair", "One", "Empty")],
    "types of parameters": lambda c: [c[name].__init__.__annotations__ for name in ("Pair", "One", "Empty")],
    "documentation": lambda c: [made.__doc__ for made in c.values()],
    "fields": lambda c: [(f.name, f.type, f.default) for f in dataclasses.fields(c["Pair"])],
    "is frozen": lambda c: [made.__dataclass_params__.frozen for made in c.values()],
    "slots": lambda c: [made.__slots__ for name, made in c.items() if name != "Plain"],
    "patterns": lambda c: [made.__match_args__ for made in c.values()],
    "replaced": lambda c: repr(replace(c["Pair"](1), third="z", second=[4])),
    "as a dict": lambda c: dataclasses.asdict(c["Pair"](1, [2])),
    "equal": lambda c: [c["Pair"](1) == c["Pair"](1), c["Pair"](1) != c["Pair"](2), c["Empty"]() == c["Empty"]()],
    "not compared": lambda c: c["Pair"](1, ignored=1) == c["Pair"](1, ignored=2),
    "other classes": lambda c: [c["One"](1) == c["Box"](1), c["One"](1) == 1, c["One"](1) == c["Child"](1)],
    "the same object": lambda c: c["Pair"](1, [NAN]) == c["Pair"](1, [NAN]),
    "own equality": lambda c: [c["Own"](1) == 5, c["Own"](1) == "5", repr(c["Own"](1)), hash(c["Own"](1)) != 0],
    "own hash": lambda c: hash(c["Hashed"]([])),
    "in a set": lambda c: len({c["Pair"](1, [1]), c["Pair"](1, [2]), c["Pair"](1, [1], ignored=1), c["Pair"](2)}),
    "not hashable": lambda c: hash(c["One"]([])),
    "frozen": lambda c: setting(c["One"](1), "value"),
    "a frozen child": lambda c: [setting(c["Child"](1), name) for name in ("value", "more")],
    "a plain child": lambda c: setting(c["Plain"](1), "value"),
    "a child": lambda c: [repr(c["Child"](1)), c["Child"](1) == c["Child"](1, 1), len({c["Child"](1), c["Child"](2)})],
    "ordered": lambda c: c["Ordered"](1) < c["Ordered"](2),
    "copied": lambda c: [(each(c["Pair"](1, [2])), each(c["Child"](1))) for each in (copy.copy, copy.deepcopy)],
    "nested in itself": lambda c: repr(nested(c["One"])),
}


@pytest.mark.parametrize("use", USES)
def test_a_use_gives_the_same(use: str) -> None:
    """Also an error, word by word."""
    assert repr(outcome(USES[use], OURS)) == repr(outcome(USES[use], THEIRS))


def test_what_the_standard_library_does_wrong_before_python_3_14() -> None:
    """It looks for the class that had no slots yet."""
    for name in ("other", "__class__"):
        assert [kind for kind, _ in setting(OURS["One"](1), name)] == [dataclasses.FrozenInstanceError] * 2
    assert setting(OURS["Plain"](1), "other") == []
    assert repr(OURS["Box"][int](1)).endswith("Box(value=1)")


@_dataclass.dataclass(frozen=True, slots=True)
class Kept:
    """Can be found by its name."""

    value: int
    others: tuple[int, ...] = ()


def test_instances_are_pickled() -> None:
    """They go to other processes."""
    assert pickle.loads(pickle.dumps(Kept(1, (2,)))) == Kept(1, (2,))


def test_no_method_but_init_is_compiled() -> None:
    """This is what the module is for. Without a docstring, the standard library compiles more."""
    compiled = 0

    def count(event: str, _: object) -> None:
        nonlocal compiled
        compiled += event == "compile"

    sys.addaudithook(count)

    def compiled_by(decorator: Callable[[type], type], docstring: str | None) -> int:
        before = compiled
        decorator(type("Made", (), {"__doc__": docstring, "__annotations__": {"a": int, "b": str}}))
        return compiled - before

    without_methods = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)
    ours = _dataclass.dataclass(frozen=True, slots=True)
    for docstring in ("Is made.", None):
        assert compiled_by(ours, docstring) == compiled_by(without_methods, "Is made.") + 1
