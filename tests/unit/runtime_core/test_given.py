"""What a program gives by mistake is refused when it is given, with what to write."""

import sys
import types
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple, NewType

import pytest

from pykb.api.core.v1 import ConfigMap, Pod, Secret
from pykb.runtime import (
    CacheOptions,
    Channel,
    ChannelSource,
    Controller,
    ControllerBuilder,
    ControllerOptions,
    EnqueueRequestForObject,
    FuncHandler,
    GenerationChanged,
    InformerOptions,
    ItemExponentialLimiter,
    Manager,
    ManagerOptions,
    Reconciler,
    Request,
)
from pykb.runtime.fake import fake_client
from pykb.runtime.requests.reconcile import RequestT


@pytest.fixture
def manager():
    """A manager that never runs."""
    return Manager(client=fake_client())


@pytest.fixture
def builder(manager):
    """A builder."""
    return ControllerBuilder(manager)


def lazily(source):
    """A function whose annotations Python evaluates when somebody asks for them, as 3.14 does it."""
    names = {}
    exec(("" if sys.version_info >= (3, 14) else "from __future__ import annotations\n") + source, names)
    return names["found"]


async def later(_):
    """What nobody awaits."""


def nobody():
    """Takes nothing."""


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (lambda b: b.for_("Pod"), "`for_` needs a kind, a class such as `Pod` or a `GroupVersionKind`; got `str`"),
        (lambda b: b.owns(Pod()), "got the object `Pod`: give it the class"),
        (lambda b: b.watches(dict, nobody), "got the class `dict`"),
        (lambda b: b.watches(Pod, later(0)), "a map function is a function, got its call: write `later`, not `later"),
        (
            lambda b: b.watches(Pod, nobody),
            "a map function gets the object, but `nobody` does not accept that: too many",
        ),
        (
            lambda b: b.watches(Pod, EnqueueRequestForObject),
            r"the class `EnqueueRequestForObject`: write `Enqueue.*\(...\)`",
        ),
        (lambda b: b.watches(Pod, [1]), "a map function is a function, got `list`"),
        (lambda b: b.owns(Pod, predicates=GenerationChanged()), r"got `GenerationChanged`: `predicates=\[...\]`"),
        (
            lambda b: b.owns(Pod, predicates=[GenerationChanged]),
            r"got the class `GenerationChanged`: write `Gen.*\(...\)`",
        ),
        (lambda b: b.for_(Pod, predicates=[later]), "a predicate is a plain function, but `later` is async"),
        (lambda b: b.with_event_filter(nobody), "a predicate gets the event, but `nobody` does not accept that"),
        (
            lambda b: b.with_options(max_concurent_reconciles=3),
            "unexpected keyword argument 'max_concurent_reconciles'",
        ),
        (lambda b: b.for_(Pod).complete(object()), "`reconcile` is a function, got None"),
        (lambda _: ControllerOptions(timeout=30), r"`timeout` is a timedelta, got `int`: `timedelta\(seconds=...\)`"),
        (
            lambda _: ControllerOptions(rate_limiter=ItemExponentialLimiter()),
            "`rate_limiter`, which makes the limiter, is a",
        ),
        (lambda _: ControllerOptions(log_fields=nobody), "`log_fields` gets the request, but `nobody`"),
        (lambda _: FuncHandler(later), "an event handler gets the event, the queue, but `later` does not"),
        (lambda _: ChannelSource(Channel(), EnqueueRequestForObject(), [later]), "a predicate is a plain function"),
        (
            lambda _: InformerOptions(namespaces="team"),
            r"`namespaces` takes several values, got one string: `namespaces=\('team',\)`",
        ),
        (lambda _: InformerOptions(resync=3600), "`resync` is a timedelta"),
        (lambda _: InformerOptions(transform=later), "`transform` is a plain function, but `later` is async"),
        (lambda _: InformerOptions(indexers={"x": nobody}), "the indexer of `x` gets the object, but `nobody`"),
        (lambda _: CacheOptions(by_kind={Secret: InformerOptions()}), "got `Secret`: `Secret.gvk`"),
        (lambda _: CacheOptions(sync_timeout=5), "`sync_timeout` is a timedelta"),
        (lambda _: ManagerOptions(namespaces="team"), "`namespaces` takes several"),
        (lambda _: ManagerOptions.from_args([], lease_duration=15), "`lease_duration` is a timedelta"),
        (
            lambda _: ManagerOptions.from_args([], leader_election_idd="x"),
            "unexpected keyword argument 'leader_election_idd'",
        ),
    ],
)
def test_a_mistake_is_told_with_what_to_write(builder, mistake, told):
    """Not at the first event, the first retry or the first slow call."""
    with pytest.raises(TypeError, match=told):
        mistake(builder)


async def test_indexes_are_made_by_plain_functions(manager):
    """An async one would give no values, for each object anew."""
    with pytest.raises(TypeError, match="the indexer of `x` is a plain function, but `later` is async"):
        manager.cache.index_field(Pod, "x", later)
    with pytest.raises(TypeError, match="the indexer of `x` is a plain function"):
        manager.cache.add_index(Pod, "x", later)


def test_what_is_right_passes(builder):
    """Objects with `__call__`, partials, builtins and classes that make something are functions too."""
    builder.watches(Pod, lambda obj, more=None: [], predicates=(GenerationChanged(), GenerationChanged() | len))
    builder.watches(ConfigMap, print).with_options(rate_limiter=ItemExponentialLimiter, timeout=timedelta(seconds=1))


@dataclass
class Changeable:
    """Has no hash, since it can change."""

    name: str


class OfChangeable(Reconciler[Changeable]):
    """Reconciles what cannot be a key."""

    async def reconcile(self, request):
        """Do nothing."""


class OfStrings(Reconciler[str]):
    """Reconciles strings."""

    async def reconcile(self, request):
        """Do nothing."""


class Place(NamedTuple):
    """An object of one of several clusters."""

    cluster: str
    name: str


class OfAnything(Reconciler[RequestT]):
    """Leaves open what its requests are."""

    async def reconcile(self, request):
        """Do nothing."""


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        (Reconciler, Request),
        (OfAnything, Request),
        (OfStrings, str),
        (OfAnything[Place], Place),
        (Reconciler[tuple[str, str]], tuple),
        (Reconciler[str | int], object),
        (Reconciler[NewType("Tenant", str)], object),
    ],
)
def test_the_class_of_requests_is_known_from_the_type_argument(base, expected):
    """Where it is a class; of other types anything passes, and type checkers judge."""
    assert types.new_class("Made", (base,)).request_type is expected


def test_requests_can_be_hashed_and_are_what_wakes_them(manager, builder):
    """A queue has each of them once; `for_` and `owns` know of objects only."""
    with pytest.raises(TypeError, match=r"a `Changeable` has no hash: `@dataclass\(frozen=True\)` gives it"):
        Controller("changeable", OfChangeable(manager.client))
    with pytest.raises(
        TypeError, match=r"`OfStrings` reconciles `str`: give it a name and `watches\(Kind, function\)`"
    ):
        builder.for_(Pod).complete(OfStrings(manager.client))


def test_annotations_are_not_evaluated(builder):
    """Their names may exist for type checkers only."""
    builder.watches(Pod, lazily("def found(pod: OnlyForTypeCheckers) -> list[OnlyForTypeCheckers]: return []"))
    with pytest.raises(TypeError, match=r"`found` does not accept that: missing a required argument: 'other'"):
        builder.watches(Pod, lazily("def found(pod: OnlyForTypeCheckers, other: OnlyForTypeCheckers): ..."))
