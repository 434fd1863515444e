"""What type checkers see of controllers."""

import typing

from pykb.runtime import ControllerOptions, ManagerOptions
from pykb.runtime.controller.controller import ControllerChanges
from pykb.runtime.options import ManagerOverrides

IMPORTS = """
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, assert_type
from pykb.api import GroupVersion, Object, Unstructured, object_key
from pykb.api.core.v1 import ConfigMap, Pod, Secret
from pykb.meta.gvk import NamespacedName
from pykb.runtime import (
    CacheOptions, Channel, ChannelSource, Controller, ControllerBuilder, ControllerOptions, EnqueueRequestForObject,
    EnqueueRequestsFromMap, Event, FuncSource, GenerationChanged, InformerCache, InformerOptions,
    ItemExponentialLimiter, KindSource, LabelChanged, Manager, ManagerOptions, Predicate, RateLimiter, Reconciler,
    Request, Result, Source, Where, WorkQueue,
)

GVK = GroupVersion("example.com", "v1").with_kind("Thing")


class Objects(Reconciler):
    async def reconcile(self, request: Request) -> None: ...


class Plain(Reconciler):
    def reconcile(self, request: Request) -> Result:
        return Result()


@dataclass(frozen=True)
class Tenant:
    name: str


class Tenants(Reconciler[Tenant]):
    async def reconcile(self, tenant: Tenant) -> None: ...


def of_pod(pod: Pod) -> list[Request]:
    return []


async def of_secret(secret: Secret) -> list[Request]:
    return []


async def tenants_of(secret: Secret) -> list[Tenant]:
    return []


def judge_pod(event: Event[Pod]) -> bool:
    return True
"""

RIGHT = (
    IMPORTS
    + """

def keys(secret: Secret) -> list[NamespacedName]:
    return [object_key(secret)]


def each(secret: Secret) -> Iterator[Request]:
    yield Request("", "a")


def any_object(obj: Object) -> list[Request]:
    return []


def untyped(obj: Unstructured) -> list[Request]:
    return []


def judge_object(event: Event[Object]) -> bool:
    return True


class Untyped(Predicate):
    def update(self, event: Event[Any]) -> bool:
        return True


class Handler:
    def handle(self, event: Event[Any], queue: WorkQueue[Request]) -> None: ...


def objects(manager: Manager, channel: Channel, source: Source, limiter: RateLimiter) -> None:
    builder = ControllerBuilder(manager)
    assert_type(builder, ControllerBuilder[Request])
    assert_type(builder.for_(Pod).complete(Objects(manager.client)), Controller[Request])
    builder.complete(Plain(manager.client))
    builder.watches(Secret, keys).watches(Secret, each).watches(Secret, of_secret).watches(Secret, any_object)
    builder.watches(Secret, Handler()).watches(Secret, lambda secret: [object_key(secret)])
    builder.watches(GVK, untyped).watches(Pod, untyped, metadata_only=True)
    builder.watches(Pod, of_pod, predicates=[judge_pod, judge_object, Untyped(), lambda event: bool(event.object.spec)])
    builder.owns(Pod, predicates=[GenerationChanged() & judge_pod, Where(judge_pod) | LabelChanged()])
    builder.owns(Pod, predicates=[~Where(judge_pod), judge_pod & GenerationChanged()])
    assert_type(GenerationChanged() & judge_pod, Predicate[Pod])
    builder.watches_raw(source).watches_raw(ChannelSource(channel, EnqueueRequestForObject()))
    builder.with_options(ControllerOptions(max_retries=2), rate_limiter=lambda: limiter, log_fields=lambda r: {"a": r.name})
    ManagerOptions.from_args(leader_election_id="x", namespaces=("a",))


def tenants(manager: Manager, cache: InformerCache) -> None:
    builder = ControllerBuilder[Tenant](manager).named("tenants").watches(Secret, tenants_of)
    builder.with_options(rate_limiter=ItemExponentialLimiter, log_fields=lambda tenant: {"tenant": tenant.name})
    assert_type(builder.complete(Tenants(manager.client)), Controller[Tenant])
    controller = Controller("tenants", Tenants(manager.client))
    assert_type(controller, Controller[Tenant])
    controller.watch(KindSource(cache, Secret, EnqueueRequestsFromMap(tenants_of)))

    async def feed(queue: WorkQueue[Tenant]) -> None:
        queue.add(Tenant("a"))

    controller.watch(FuncSource(feed))
    manager.add_controller(controller)
"""
)

WRONG = (
    IMPORTS
    + """

def strings(secret: Secret) -> list[str]:
    return []


def one(secret: Secret) -> Request:
    return Request("a", "b")


def not_awaited(secret: Secret) -> list[object]:
    return [of_secret(secret)]


async def judge_later(event: Event[Secret]) -> bool:
    return True


class OnPods(Predicate[Pod]): ...


def nothing() -> None: ...


def objects(manager: Manager, cache: InformerCache) -> None:
    builder = ControllerBuilder(manager)
    builder.watches(Secret, of_pod)  # Argument 2 to "watches"
    builder.watches(Secret, strings)  # Argument 2 to "watches"
    builder.watches(Secret, one)  # Argument 2 to "watches"
    builder.watches(Secret, not_awaited)  # Argument 2 to "watches"
    builder.watches(Secret, of_secret(Secret()))  # No overload variant of "watches"
    builder.watches(Secret, lambda secret: secret.nam)  # "Secret" has no attribute "nam"
    builder.watches(GVK, of_pod)  # Argument 2 to "watches"
    builder.watches(Pod, of_pod, metadata_only=True)  # Argument 2 to "watches"
    builder.watches(Secret, EnqueueRequestForObject)  # Argument 2 to "watches"
    builder.watches(Secret, EnqueueRequestsFromMap(of_pod))  # Argument 1 to "EnqueueRequestsFromMap"
    builder.watches(Secret, tenants_of)  # Argument 2 to "watches"
    KindSource(cache, Secret, EnqueueRequestsFromMap(of_pod))  # Cannot infer value of type parameter "ObjectT"
    builder.owns(Secret, predicates=[judge_pod])  # List item 0 has incompatible type
    builder.owns(Secret, predicates=[judge_later])  # List item 0 has incompatible type
    builder.owns(Secret, predicates=[GenerationChanged])  # List item 0 has incompatible type
    builder.for_(Secret, predicates=GenerationChanged())  # No overload variant of "for_"
    builder.owns(Secret, predicates=[OnPods()])  # List item 0 has incompatible type
    builder.owns(Secret, predicates=[GenerationChanged() & judge_pod])  # List item 0 has incompatible type
    builder.owns(Secret, predicates=[Where(judge_pod)])  # List item 0 has incompatible type
    builder.with_options(max_concurent_reconciles=3)  # Unexpected keyword argument "max_concurent_reconciles"
    builder.with_options(max_concurrent_reconciles="3")  # Argument "max_concurrent_reconciles" to "with_options"
    builder.with_options(timeout=30)  # Argument "timeout" to "with_options"
    builder.with_options(rate_limiter=ItemExponentialLimiter())  # Argument "rate_limiter" to "with_options"
    builder.complete(Objects)  # Argument 1 to "complete"
    builder.complete(Tenants(manager.client))  # Argument 1 to "complete"
    manager.add(nothing)  # Argument 1 to "add"


def tenants(manager: Manager, cache: InformerCache) -> None:
    builder = ControllerBuilder[Tenant](manager)
    builder.for_(Secret)  # Invalid self argument
    builder.watches(Secret, EnqueueRequestForObject())  # Argument 2 to "watches"
    builder.watches(Secret, strings)  # Argument 2 to "watches"
    builder.complete(Objects(manager.client))  # Argument 1 to "complete"
    controller = Controller("tenants", Tenants(manager.client))
    controller.watch(KindSource(cache, Secret, EnqueueRequestForObject()))  # Argument 3 to "KindSource"


def options(cache: InformerCache) -> None:
    ManagerOptions.from_args(leader_election_idd="x")  # Unexpected keyword argument "leader_election_idd"
    ManagerOptions.from_args(leader_elect="yes")  # Argument "leader_elect" to "from_args"
    ManagerOptions(namespaces="a")  # Argument "namespaces" to "ManagerOptions"
    InformerOptions(label="x")  # Unexpected keyword argument "label"
    InformerOptions(resync=3600)  # Argument "resync" to "InformerOptions"
    CacheOptions(by_kind={Secret: InformerOptions()})  # Dict entry 0 has incompatible type
    cache.index_field(Secret, "x", of_pod)  # Argument 3 to "index_field"
    cache.index_field(Secret, "x", lambda secret: secret.nam)  # "Secret" has no attribute "nam"
    cache.add_index(Secret, "x", of_secret)  # Argument 3 to "add_index"
"""
)


def test_type_checkers_find_what_controllers_are_given_by_mistake(tmp_path, mypy):
    """`mypy --strict` passes what is right, and marks each wrong line where it says here that it does."""
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(RIGHT, "utf-8")
    wrong.write_text(WRONG, "utf-8")
    done = mypy(right, wrong)
    found = [line.partition(": error: ") for line in done.stdout.splitlines() if ": error: " in line]
    told = [(place, text) for place, _, text in found]
    expected = [
        (f"{wrong}:{number}", line.partition("  # ")[2])
        for number, line in enumerate(WRONG.splitlines(), start=1)
        if "  # " in line
    ]
    assert [place for place, _ in told] == [place for place, _ in expected], done.stdout
    assert [text for (_, text), (_, start) in zip(told, expected, strict=True) if not text.startswith(start)] == []


def test_options_by_name_are_those_of_the_classes():
    """They are written twice, for type checkers."""
    for options, by_name in ((ControllerOptions, ControllerChanges), (ManagerOptions, ManagerOverrides)):
        assert typing.get_type_hints(by_name) == typing.get_type_hints(options)
