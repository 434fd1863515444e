"""A whole manager on the API server in memory: order of starting and stopping, failures, election, readiness."""

import asyncio
import json
import logging
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from datetime import timedelta

import aiohttp
import pytest

from pykb.api import CustomResource, GroupVersion, object_key
from pykb.api.coordination.v1 import Lease
from pykb.api.core.v1 import ConfigMap, Secret
from pykb.api.events.v1 import Event
from pykb.api.meta.v1 import ObjectMeta
from pykb.api.object import Unstructured
from pykb.client.errors import NoKindMatch, error_from_status
from pykb.meta.gvk import GroupVersionKind
from pykb.runtime import (
    Client,
    ControllerBuilder,
    EnqueueRequestForObject,
    EventRecorder,
    InformerCache,
    KindSource,
    LeadershipLost,
    Manager,
    ManagerOptions,
    Reconciler,
    Request,
    set_controller_reference,
)
from pykb.runtime._logging import fields_of
from pykb.runtime.fake import FakeApiServer, fake_client
from pykb.testing import eventually, running

SHORT = {
    "lease_duration": timedelta(seconds=3),
    "renew_deadline": timedelta(seconds=2),
    "retry_period": timedelta(milliseconds=100),
}


def config_map(name, **labels):
    """An object."""
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", labels=labels or None), data={"a": "b"})


class Widget(CustomResource, group_version=GroupVersion("example.com", "v1")):
    """A kind that no server knows by itself."""


class Labeller(Reconciler):
    """Marks every ConfigMap."""

    async def reconcile(self, request: Request) -> None:
        """Mark one."""
        found = await self.client.find(ConfigMap, request)
        if found is not None and (found.metadata.labels or {}).get("seen") != "yes":
            found.metadata.labels = {"seen": "yes"}
            await self.client.update(found)


class Noting(Reconciler):
    """Notes its requests."""

    def __init__(self, client, noted):
        super().__init__(client)
        self._noted = noted

    async def reconcile(self, request: Request) -> None:
        """Note one."""
        self._noted.append(request.name)


async def test_objects_of_another_cluster_wake_a_controller():
    """A second cache, of another client, is a runnable of the manager, on a standby too; its kinds are sources."""
    noted = []
    elsewhere = fake_client(config_map("there"))
    manager = Manager(client=fake_client())
    informers = InformerCache.of(elsewhere)
    manager.add(informers)
    source = KindSource(informers, ConfigMap, EnqueueRequestForObject())
    ControllerBuilder(manager).named("copies").watches_raw(source).complete(
        Noting(elsewhere.with_cache(informers), noted)
    )
    async with running(manager):
        await eventually(lambda: noted == ["there"])
        await elsewhere.create(config_map("later"))
        await eventually(lambda: noted == ["there", "later"])
        assert (await manager.client.list(ConfigMap)).items == []
    assert not informers.needs_leader_election


async def seen(client, name):
    """Whether one is marked."""
    assert ((await client.get(ConfigMap, f"default/{name}")).metadata.labels or {}).get("seen") == "yes"


async def test_reconcilers_run_without_a_cluster():
    """Lists, watches, cached reads and writes all go through the given client, which stays open."""
    client = fake_client(config_map("early"))
    manager = Manager(client=client)
    ControllerBuilder(manager).for_(ConfigMap).complete(Labeller(manager.client))
    async with running(manager):
        await client.create(config_map("late"))
        await eventually(lambda: seen(client, "early"))
        await eventually(lambda: seen(client, "late"))
        assert manager.cache.unsynced == []
    await seen(client, "late")


async def test_a_kind_that_the_fake_does_not_serve_is_named_at_once():
    """Nobody waits for a list that cannot come; the message says how the fake gets to know the kind."""
    manager = Manager(client=fake_client())
    ControllerBuilder(manager).for_(Widget).complete(Labeller(manager.client))
    with pytest.raises(
        NoKindMatch, match=r"does not know the kind `Widget` in `example\.com/v1`; give the fake .* `kinds`"
    ):
        async with running(manager):
            pass
    manager = Manager(client=fake_client(kinds=[Widget]))
    ControllerBuilder(manager).for_(Widget).complete(Labeller(manager.client))
    async with running(manager):
        assert not manager.cache.unserved


async def test_what_starts_earlier_stops_later():
    """Servers, caches, what every replica runs, what the leader runs; each may still use what started before it."""
    manager = Manager(ManagerOptions(health_probe_bind_address="127.0.0.1:0"), client=fake_client(config_map("a")))
    order = []

    async def healthy():
        await manager.servers.probes.listening()
        address = f"http://127.0.0.1:{manager.servers.probes.port}/healthz"
        async with aiohttp.ClientSession() as session, session.get(address) as answer:
            return await answer.text()

    class Everywhere:
        needs_leader_election = False

        async def run(self):
            order.append("others start")
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                order.append(f"others stop while probes say {await healthy()}")

    async def leader():
        order.append("leader starts")
        manager.cache.informer(ConfigMap)
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            assert (await manager.client.get(ConfigMap, "default/a")).data == {"a": "b"}
            assert manager.cache.has(ConfigMap.gvk)
            order.append("leader stops while the cache answers")

    manager.add(leader)
    manager.add(Everywhere())
    async with running(manager):
        assert await healthy() == "ok"
    assert order == [
        "others start",
        "leader starts",
        "leader stops while the cache answers",
        "others stop while probes say ok",
    ]


async def test_a_runnable_that_is_added_late_starts_at_once():
    """Controllers may be made while the manager runs."""
    client = fake_client(config_map("a"))
    manager = Manager(client=client)
    async with running(manager):
        ControllerBuilder(manager).for_(ConfigMap).complete(Labeller(manager.client))
        await eventually(lambda: seen(client, "a"))


async def test_a_runnable_that_fails_ends_the_manager():
    """With its own error; the others are stopped first. One that merely ends is no failure."""
    manager = Manager(client=fake_client())
    ended = []

    async def done():
        """Nothing."""

    async def bystander():
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("bystander")

    async def fails():
        await asyncio.sleep(0.05)
        raise RuntimeError("broken")

    for runnable in (done, bystander, fails):
        manager.add(runnable)
    with pytest.raises(RuntimeError, match="broken"):
        await manager.start()
    assert ended == ["bystander"]


async def test_what_does_not_stop_in_time_is_broken_off_and_named(caplog):
    """The graceful timeout is 30 s unless the options say otherwise; then the stop goes on without it."""
    assert ManagerOptions().graceful_shutdown_timeout == timedelta(seconds=30)
    manager = Manager(ManagerOptions(graceful_shutdown_timeout=timedelta(milliseconds=100)), client=fake_client())
    broken_off = []

    async def stubborn():
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                broken_off.append("stubborn")
                raise

    manager.add(stubborn, name="stubborn")
    async with running(manager):
        await asyncio.sleep(0)
    assert broken_off == ["stubborn"]
    [record] = [record for record in caplog.records if record.msg == "not stopped in time"]
    assert (record.levelno, record.runnables) == (logging.ERROR, "stubborn")


async def test_readiness_waits_for_the_first_lists():
    """`/readyz` names the check, `/readyz/caches` is it; `/healthz` does not depend on it."""
    server = FakeApiServer()
    refusing = True

    def refuse(call):
        if refusing and call.path.endswith("/configmaps"):
            raise error_from_status(403, {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "not you"})

    server.react = refuse
    manager = Manager(ManagerOptions(health_probe_bind_address="127.0.0.1:0"), client=Client(server))
    manager.cache.informer(ConfigMap)
    task = asyncio.create_task(manager.start())
    await asyncio.wait_for(manager.elected.wait(), 60)
    await manager.servers.probes.listening()
    base = f"http://127.0.0.1:{manager.servers.probes.port}"
    async with aiohttp.ClientSession() as session:

        async def status(path):
            async with session.get(base + path) as answer:
                return answer.status

        assert [await status(path) for path in ("/readyz", "/readyz/caches", "/healthz")] == [500, 500, 200]
        refusing = False

        async def ready():
            assert [await status(path) for path in ("/readyz", "/readyz/caches")] == [200, 200]

        await eventually(ready)
    manager.stop()
    await task


async def test_a_standby_has_warm_caches_and_takes_over_when_the_leader_stops():
    """It lists and watches all the time and works only as the leader; a regular stop gives the lease back at once."""
    server = FakeApiServer()
    options = ManagerOptions(leader_elect=True, retry_period=timedelta(milliseconds=100))
    calls = {"first": [], "second": []}
    managers = {name: Manager(options, client=Client(server)) for name in calls}
    for name, manager in managers.items():
        ControllerBuilder(manager).for_(ConfigMap).complete(Noting(manager.client, calls[name]))
    first = asyncio.create_task(managers["first"].start())
    await asyncio.wait_for(managers["first"].elected.wait(), 60)
    second = asyncio.create_task(managers["second"].start())
    await Client(server).create(config_map("a"))
    standby = managers["second"]
    await eventually(lambda: standby.cache.informer(ConfigMap).lister.get("a", namespace="default") is not None)
    await eventually(lambda: calls["first"] == ["a"])
    assert calls["second"] == []
    assert not standby.elected.is_set()
    managers["first"].stop()
    await first
    await eventually(lambda: calls["second"] == ["a"])
    lease = await Client(server).get(Lease, f"default/{options.leader_election_id}")
    assert lease.spec.lease_transitions == 1
    standby.stop()
    await second


async def test_losing_the_lease_ends_the_manager():
    """Another may work already: what runs is broken off and `start` raises, so that the process ends."""
    server = FakeApiServer()
    manager = Manager(ManagerOptions(leader_elect=True, **SHORT), client=Client(server))
    broken_off = []

    async def work():
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            broken_off.append("work")

    manager.add(work)
    task = asyncio.create_task(manager.start())
    await asyncio.wait_for(manager.elected.wait(), 60)
    client = Client(server)

    async def steal():
        lease = await client.get(Lease, f"default/{manager.options.leader_election_id}")
        lease.spec.holder_identity = "someone else"
        await client.update(lease)

    await eventually(steal)
    with pytest.raises(LeadershipLost):
        await asyncio.wait_for(task, 60)
    assert broken_off == ["work"]


async def test_a_lease_is_not_given_back_while_something_works_under_it():
    """A thread that hangs may still change something: the next leader waits until the lease runs out."""
    server, began, release = FakeApiServer(), threading.Event(), threading.Event()

    class Hangs(Reconciler):
        def reconcile(self, _request):
            began.set()
            release.wait(60)

    options = ManagerOptions(leader_elect=True, graceful_shutdown_timeout=timedelta(milliseconds=50))
    client = Client(server)
    await client.create(config_map("a"))
    manager = Manager(options, client=client)
    ControllerBuilder(manager).for_(ConfigMap).complete(Hangs(manager.client))
    async with running(manager):
        await eventually(began.is_set)
    release.set()
    lease = await client.get(Lease, f"default/{options.leader_election_id}")
    assert lease.spec.holder_identity


async def test_every_replica_runs_what_needs_no_leader():
    """Servers of webhooks, controllers with `needs_leader_election=False`."""
    server = FakeApiServer()
    leader = Client(server)
    options = ManagerOptions(leader_elect=True)
    await leader.create(
        Lease.from_wire(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": options.leader_election_id, "namespace": "default"},
                "spec": {"holderIdentity": "another", "leaseDurationSeconds": 15},
            }
        )
    )
    manager = Manager(options, client=leader)
    ControllerBuilder(manager).for_(ConfigMap).with_options(needs_leader_election=False).complete(
        Labeller(manager.client)
    )
    task = asyncio.create_task(manager.start())
    await leader.create(config_map("a"))
    await eventually(lambda: seen(leader, "a"))
    assert not manager.elected.is_set()
    manager.stop()
    await task


def test_a_manager_with_a_client_runs_no_kopf_handlers():
    """Kopf logs in by itself, so it needs credentials; that is said at once."""
    with pytest.raises(ValueError, match="kopf handlers log in by themselves"):
        Manager(client=fake_client()).add_kopf_handlers()


PROGRAM = """
import asyncio, sys
from pykb.runtime import Manager
from pykb.client.errors import error_from_status
from pykb.runtime.fake import fake_client

async def work():
    print("working", flush=True)
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        print("stopping", flush=True)
        await asyncio.sleep(float(sys.argv[1]))

manager = Manager(client=fake_client())
manager.add(work)
manager.run()
print("stopped", flush=True)
"""


@pytest.mark.parametrize(
    ("number", "last_moments", "signals", "code", "last"),
    [
        (signal.SIGTERM, "0", 1, 0, "stopped"),
        (signal.SIGINT, "0", 1, 0, "stopped"),
        (signal.SIGTERM, "60", 2, 1, "stopping"),
    ],
)
def test_a_signal_stops_gracefully_and_a_second_one_at_once(number, last_moments, signals, code, last):
    """As in any Go manager: SIGTERM and Ctrl-C let what runs finish, unless they come twice."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, last_moments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with program:
        assert program.stdout.readline() == "working\n"
        program.send_signal(number)
        said = program.stdout.readline()
        if signals == 2:
            program.send_signal(number)
        said += program.stdout.read()
    assert program.returncode == code
    assert said.split()[-1] == last


BLOCKED = """
import asyncio, sys, time
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import ControllerBuilder, LogFormat, Manager, ManagerOptions, Reconciler
from pykb.runtime.fake import fake_client

class Stuck(Reconciler):
    async def reconcile(self, request):
        print("stuck", flush=True)
        while True:
            time.sleep(0.01)

found = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))
manager = Manager(ManagerOptions(log_level="error", log_format=LogFormat.JSON), client=fake_client(found))
ControllerBuilder(manager).for_(ConfigMap).complete(Stuck(manager.client))
manager.run()
"""


def test_a_signal_logs_where_everything_stands_also_when_the_loop_is_blocked():
    """SIGUSR1 needs no port and no event loop, and passes the log's level; the program goes on."""
    program = subprocess.Popen(
        [sys.executable, "-c", BLOCKED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    with program:
        try:
            assert program.stdout.readline() == "stuck\n"
            dumps = [dump_of(program) for _ in range(2)]
        finally:
            program.kill()
    for found in dumps:
        assert found["controller"][0]["work"] == "1 of 1 workers busy, 0 requests ready, 0 not due yet"
        (reconcile,) = found["reconcile"]
        assert reconcile["running"].startswith("default/a  ")
        assert "Stuck.reconcile (" in reconcile["at"]
        assert any("MainThread" in line["which"] and "Stuck.reconcile" in line["at"] for line in found["threads"])
        assert any("configmap worker (default/a, " in line["which"] for line in found["tasks"])


def dump_of(program):
    """Ask a program for it, and sort the lines by what they are about."""
    program.send_signal(signal.SIGUSR1)
    found = {}
    for text in program.stderr:
        line = json.loads(text)
        found.setdefault(line["msg"], []).append(line)
        if "dump complete" in found:
            break
    return found


@pytest.mark.parametrize("secure", [True, False])
async def test_what_runs_is_shown_to_this_machine_and_to_others_only_by_leave(secure):
    """Loopback needs no token, a pod's address TLS and one, whatever holds for metrics."""
    for host, scheme, status in (("127.0.0.1", "http", 200), ("0.0.0.0", "https", 401)):
        options = ManagerOptions(pprof_bind_address=f"{host}:0", metrics_secure=secure)
        manager = Manager(options, client=fake_client())
        ControllerBuilder(manager).for_(ConfigMap).complete(Labeller(manager.client))
        async with running(manager), aiohttp.ClientSession() as session:
            await eventually(lambda manager=manager: manager.servers.pprof is not None)
            await manager.servers.pprof.listening()
            base = f"{scheme}://127.0.0.1:{manager.servers.pprof.port}"
            for path in ("/debug/pprof/", "/debug/pprof/controllers", "/loglevel"):
                async with session.get(base + path, ssl=False) as answer:
                    assert answer.status == status
            async with session.put(f"{base}/loglevel", data="nonsense", ssl=False) as answer:
                assert answer.status == (400 if status == 200 else 401)
            async with session.put(f"{base}/loglevel", data="x" * 4097, ssl=False) as answer:
                assert answer.status == (413 if status == 200 else 401)


def _definition():
    """A kind that the server learns of later."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": anything}}
    names = {"kind": "Late", "plural": "lates", "singular": "late", "listKind": "LateList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "lates.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]},
    }


async def test_an_owner_whose_definition_comes_later_is_waited_for():
    """Applying an operator and its definitions in any order works, also where the kind owns others."""
    client = fake_client()
    manager, noted = Manager(client=client), []
    late = GroupVersionKind("example.com", "v1", "Late")
    ControllerBuilder(manager).for_(late).owns(ConfigMap).complete(Noting(manager.client, noted))
    task = asyncio.create_task(manager.start())
    await asyncio.wait_for(manager.elected.wait(), 60)
    await asyncio.sleep(0.1)
    assert not task.done()
    await client.create(_definition())
    owner = Unstructured.of(late, "owner", "default")
    await client.create(owner)
    await eventually(lambda: noted == ["owner"])
    child = config_map("child")
    set_controller_reference(owner, child)
    await client.create(child)
    await eventually(lambda: noted == ["owner", "owner"])
    manager.stop()
    await task


async def test_a_manager_runs_once():
    """A second start would share the first one's queues, and stop with it: it is refused and harms nothing."""
    client = fake_client()
    manager = Manager(client=client)
    ControllerBuilder(manager).for_(ConfigMap).complete(Labeller(manager.client))
    async with running(manager):
        with pytest.raises(RuntimeError, match="a manager runs only once"):
            await manager.start()
        await client.create(config_map("after"))
        await eventually(lambda: seen(client, "after"))
    with pytest.raises(RuntimeError, match="create another"):
        await manager.start()


@pytest.mark.parametrize("nobody", [None, (), []])
async def test_a_map_function_may_name_nobody(nobody, caplog):
    """`None` too: what a function gives that has nothing to say."""
    client = fake_client(config_map("one"))
    manager = Manager(client=client)
    noted = []
    ControllerBuilder(manager).named("mapped").watches(ConfigMap, lambda _: nobody).complete(
        Noting(manager.client, noted)
    )
    async with running(manager):
        await client.create(config_map("two"))
    assert noted == []
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("wrong", "found"),
    [(Request("default", "x"), "got `Request`"), ("default/x", "got `str`"), (["x"], "got `str` among")],
)
async def test_a_map_function_that_gives_something_else_is_told(wrong, found, caplog):
    """In words of what it should give; a string is no list of requests."""
    manager = Manager(client=fake_client(config_map("one")))
    ControllerBuilder(manager).named("mapped").watches(ConfigMap, lambda _: wrong).complete(Noting(manager.client, []))
    async with running(manager):
        await eventually(lambda: found in caplog.text)


async def test_a_reconciler_that_blocks_is_told_of(monkeypatch, caplog):
    """And counted: nothing else would say why probes fail and the lease is lost."""
    monkeypatch.setattr("pykb.runtime._watchdog.STALL_LIMIT", timedelta(milliseconds=100))
    manager = Manager(client=fake_client(config_map("one")))

    class Blocking(Reconciler):
        async def reconcile(self, request: Request) -> None:
            for _ in range(2000):  # until it was noticed, however slow this machine is
                time.sleep(0.01)  # noqa: ASYNC251 - what is not to be done
                if "event loop is blocked" in caplog.text:
                    return

    ControllerBuilder(manager).for_(ConfigMap).complete(Blocking(manager.client))
    async with running(manager):
        await eventually(lambda: "event loop continues" in caplog.text)
    assert "reconcile" in next(record for record in caplog.records if "is blocked" in record.getMessage()).at
    assert manager.metrics.registry.get_sample_value("pykb_event_loop_blocked_seconds_total") > 0


async def test_a_login_that_hangs_does_not_hold_up_a_stop():
    """A credential plugin may take a minute; a stop meanwhile is a stop, and the plugin is broken off."""
    ended = []

    class Hanging:
        async def current(self):
            try:
                await asyncio.get_running_loop().create_future()
            finally:
                ended.append(True)

        refresh = current

    manager = Manager(credentials=Hanging())
    task = asyncio.create_task(manager.start())
    await asyncio.sleep(0.05)
    manager.stop()
    await asyncio.wait_for(task, 60)
    assert ended == [True]


async def test_events_that_were_just_recorded_are_sent_before_the_client_is_closed(caplog):
    """What is told last, that the leader stops or why a program ends, is what people look for."""
    server = FakeApiServer()
    obj = config_map("told")
    async with Client(server) as client:
        EventRecorder(client, "c").event(obj, "Normal", "Stopping", "the end")
    assert [event.reason for event in await Client(server).list(Event)] == ["Stopping"]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_closing_a_client_waits_for_events_no_longer_than_a_moment(monkeypatch):
    """A server that does not answer holds nobody up."""
    monkeypatch.setattr("pykb.client.client.CLOSING_LIMIT", timedelta(milliseconds=50))

    class Stuck(FakeApiServer):
        async def request(self, call):
            await asyncio.get_running_loop().create_future()

    async with asyncio.timeout(60), Client(Stuck()) as client:
        EventRecorder(client, "c").event(config_map("told"), "Normal", "Stopping", "the end")


def _plain():
    """Runs at once, and gives nothing to wait for."""


async def _main():
    """A coroutine function."""


@pytest.mark.parametrize(
    ("added", "words"),
    [(_main, "not its call"), (object, "`object` cannot run"), (lambda: 5, "`int`")],
)
async def test_what_cannot_run_is_not_taken(added, words):
    """And the message says what could."""
    with pytest.raises(TypeError, match=words):
        Manager(client=fake_client()).add(added())


async def test_a_plain_function_in_the_place_of_a_coroutine_function_is_told():
    """It would have blocked everything; the error names it."""
    manager = Manager(client=fake_client())
    manager.add(_plain, name="poller")
    with pytest.raises(TypeError, match="runnable `poller` must be a coroutine function"):
        await manager.start()


@dataclass(frozen=True)
class Team:
    """Whom objects of several kinds belong to."""

    name: str

    def __str__(self):
        return self.name


class Teams(Reconciler[Team]):
    """Counts what a team has; its first try fails."""

    def __init__(self, client):
        super().__init__(client)
        self.counted = []

    async def reconcile(self, team: Team) -> None:
        """Count."""
        self.logger.warning("counting")
        if not self.counted:
            self.counted.append("failed")
            raise RuntimeError("once")
        labels = {"team": team.name}
        found = [len((await self.client.list(kind, labels=labels)).items) for kind in (ConfigMap, Secret)]
        self.counted.append((team.name, *found))


def teams_of(obj):
    """The request that an object leads to."""
    name = (obj.metadata.labels or {}).get("team")
    return [Team(name)] if name else None


async def test_requests_may_be_anything_that_can_be_hashed(caplog):
    """Objects of two kinds wake their team: once at a time, retried, counted and logged by its name."""
    secret = Secret(metadata=ObjectMeta(name="s", namespace="default", labels={"team": "red"}))
    manager = Manager(client=fake_client(config_map("a", team="red"), config_map("b", team="red"), secret))
    teams = Teams(manager.client)
    builder = ControllerBuilder[Team](manager).named("team").watches(ConfigMap, teams_of).watches(Secret, teams_of)
    controller = builder.complete(teams)
    async with running(manager):
        await eventually(lambda: ("red", 2, 1) in teams.counted)
        await manager.client.create(config_map("c", team="blue"))
        await eventually(lambda: ("blue", 1, 0) in teams.counted)
    assert controller.queue.request_type is Team
    failed = next(record for record in caplog.records if record.getMessage() == "reconcile failed, will retry")
    assert failed.failures == 1
    assert 'controller_runtime_reconcile_errors_total{controller="team"} 1.0' in manager.metrics.render()[0].decode()


async def test_log_lines_of_another_request_have_its_text(caplog):
    """In place of the namespace and the name of an object."""
    shown = []

    class Showing(logging.Handler):
        def emit(self, record):
            shown.append(fields_of(record))

    manager = Manager(client=fake_client(config_map("a", team="red")))
    teams = Teams(manager.client)
    teams.logger.addHandler(handler := Showing())
    ControllerBuilder[Team](manager).named("team").watches(ConfigMap, teams_of).complete(teams)
    try:
        async with running(manager):
            await eventually(lambda: ("red", 1, 0) in teams.counted)
    finally:
        teams.logger.removeHandler(handler)
    assert [(fields["controller"], fields["request"]) for fields in shown] == [("team", "red")] * 2
    assert not any({"name", "namespace"} & set(fields) for fields in shown)


async def test_a_map_function_gives_the_requests_of_its_controller(caplog):
    """Names of objects are none of a controller of teams; the log says what it wants."""
    manager = Manager(client=fake_client(config_map("a")))
    builder = ControllerBuilder[Team](manager).named("team")
    builder.watches(ConfigMap, lambda obj: [object_key(obj)]).complete(Teams(manager.client))
    async with running(manager):
        await eventually(lambda: "must give requests (`Team`), got `NamespacedName` among them" in caplog.text)
