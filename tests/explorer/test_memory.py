"""What modules keep is put back, whatever has it."""

from __future__ import annotations

import itertools
import sys

import pytest

from pykb.explore._memory import Memory

_numbers = itertools.count()

VARIABLE = """
last = ""
def use(name):
    global last
    last = name
def used(): return last
"""
NEW_VARIABLE = """
def use(name): globals()["last"] = name
def used(): return globals().get("last", "")
"""
CONTAINER = """
from collections import defaultdict
seen = {"by": defaultdict(list)}
def use(name): seen["by"][name].append(name)
def used(): return "".join(seen["by"])
"""
SET = """
seen = set()
use = seen.add
def used(): return "".join(seen)
"""
ORDERED = """
from collections import OrderedDict
order = OrderedDict(a=1, b=2)
def use(name): order.move_to_end("a")
def used(): return "" if list(order) == ["a", "b"] else "moved"
"""
CLASS = """
class Keeper:
    last = ""
    class Meta(type): pass
    class Inner(metaclass=Meta): seen = []
def use(name): Keeper.last = name; Keeper.Inner.seen.append(name); Keeper.new = name
def used(): return Keeper.last + "".join(Keeper.Inner.seen) + getattr(Keeper, "new", "")
"""
CLIENT = """
class Base: __slots__ = ("cache",)
class Client(Base):
    def __init__(self): self.cache = {}; self.calls = 0
client = Client()
def use(name): client.cache[name] = 1; client.calls += 1; client.late = name
def used(): return "".join(client.cache) + "x" * client.calls + getattr(client, "late", "")
"""
CACHE = """
import functools
class Keeper:
    @staticmethod
    @functools.lru_cache
    def look(name): return name
use = Keeper.look
def used(): return "x" * Keeper.look.cache_info().currsize
"""
CLOSURE = """
def counting():
    count = 0
    def use(name):
        nonlocal count
        count += 1
    return use, lambda: "x" * count
use, used = counting()
"""
DEFAULT = """
def use(name, seen=[]): seen.append(name)
def used(): return "".join(use.__defaults__[0])
"""
ATTRIBUTE = """
def use(name): use.last = name
def used(): return getattr(use, "last", "")
"""
LIBRARY = """
from collections.abc import MutableMapping
import asyncio
lock = asyncio.Semaphore(1)
def use(name): lock.release()
def used(): return "x" * (lock._value - 1)
"""
STRUCT = """
from pykb.api import Struct
class Settings(Struct):
    names: list[str] = []
settings = Settings()
def use(name): settings.names.append(name)
def used(): return "".join(settings.names)
"""


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (VARIABLE, ["last"]),
        (NEW_VARIABLE, ["last"]),
        (CONTAINER, ["seen"]),
        (SET, ["seen"]),
        (ORDERED, ["order"]),
        (CLASS, ["Keeper.Inner.seen", "Keeper.last", "Keeper.new"]),
        (CLIENT, ["client"]),
        (CACHE, ["use"]),
        (CLOSURE, ["use"]),
        (DEFAULT, ["use"]),
        (ATTRIBUTE, ["use"]),
        (LIBRARY, ["lock"]),
        (STRUCT, ["settings"]),
    ],
)
def test_what_a_module_keeps_is_put_back(tmp_path, monkeypatch, source, names):
    """And named, each time."""
    name = f"kept_{next(_numbers)}"
    (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    module = __import__(name)
    try:
        memory = Memory(tmp_path)
        for _ in range(2):
            assert memory.restore() == []
            module.use("a")
            module.use("a")
            assert module.used()
            assert [(each.file, each.name) for each in memory.restore()] == [(f"{name}.py", each) for each in names]
            assert not module.used()
    finally:
        del sys.modules[name]
