"""Members of a group on the API server in memory, with clocks that stand still."""

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from pykb.client import Client
from pykb.client.clock import VirtualClock
from pykb.client.ranges import Ranges
from pykb.runtime._election import LeaderElectionOptions, LeaderElector
from pykb.runtime.fake import FakeApiServer
from pykb.runtime.sharding._claims import Claims
from pykb.runtime.sharding._modes import GroupOptions


class Threads(ThreadPoolExecutor):
    """The threads of an event loop, and what they work on."""

    def __init__(self):
        super().__init__()
        self.works = set()

    def submit(self, *args, **kwargs):
        """Remember it until the event loop knows that it is done: the loop asks first to be called."""
        work = super().submit(*args, **kwargs)
        self.works.add(work)
        asyncio.get_running_loop().call_soon(work.add_done_callback, self.works.discard)
        return work


async def settle(turns=60):
    """Let tasks and their threads run, until all of them wait or for so many turns of the event loop."""
    loop = asyncio.get_running_loop()
    if not isinstance(loop._default_executor, Threads):
        loop.set_default_executor(Threads())
    ready, works = loop._ready, loop._default_executor.works
    for _ in range(turns):
        await asyncio.sleep(0)
        if works:  # a manager returns memory in a thread when it has given a range
            await asyncio.wait(set(map(asyncio.wrap_future, works.copy())))
        elif not ready:
            return  # a turn in which nothing is ready changes nothing


async def pass_time(clock, seconds, step=0.5, turns=60):
    """Advance a clock in steps."""
    for _ in range(round(seconds / step)):
        clock.advance(timedelta(seconds=step))
        await settle(turns)


class MemberProcess:
    """A replica: its own Lease, its claims, and the ranges on which it works."""

    def __init__(self, server, name, clock, ranges, controllers=(), **durations):
        client = Client(server)
        options = GroupOptions("group", "default", name, ranges, controllers=controllers)
        election = LeaderElectionOptions(
            f"group-member-{name}", "default", identity=name, labels=options.labels, own=True, **durations
        )
        self.name = name
        self.works_on = set()
        self.frozen = False
        self.idle = asyncio.Event()
        self.busy = set()
        """Ranges with a reconcile that does not end."""
        self.elector = LeaderElector(client, election, clock=clock)
        self.claims = Claims(client, options, self, clock=clock)
        self.task = asyncio.create_task(self.claims.group.work(self.elector, self.claims.run))

    def gained(self, numbers):
        """As the manager's part."""
        self.works_on |= numbers

    async def leaving(self, number):
        """As the manager's part."""
        if number in self.busy:
            await self.idle.wait()
        self.works_on.discard(number)

    @property
    def may_write(self):
        """The ranges on which its fence lets it work."""
        return self.works_on if self.elector.is_leader and not self.frozen else set()

    async def stop(self):
        """Stop in order."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class Group:
    """Members of one group."""

    def __init__(self, count):
        random.seed(1)
        self.ranges = Ranges(count)
        self.server = FakeApiServer()
        self.clock = VirtualClock()
        self.members = []

    def join(self, name, *, clock=None, ranges=None, **options):
        """Start a member."""
        member = MemberProcess(self.server, name, clock or self.clock, ranges or self.ranges, **options)
        self.members.append(member)
        return member

    async def pass_time(self, seconds, **rest):
        """Advance the clock. No range is worked on by two members at any moment."""
        for _ in range(round(seconds * 2)):
            await pass_time(self.clock, 0.5, **rest)
            self.check()

    def check(self):
        """No range is with two members that may write."""
        working = [number for member in self.members for number in member.may_write]
        assert len(working) == len(set(working)), sorted(working)

    @property
    def counts(self):
        """How many ranges each living member works on."""
        return sorted(len(member.may_write) for member in self.members if not member.task.done())

    def requests(self, method=None):
        """The requests for Leases so far."""
        return [call for call in self.server.calls if "/leases" in call.path and method in (None, call.method)]


@pytest.fixture
async def group_of():
    """Make groups. Their members are stopped at the end."""
    groups = []

    def make(count):
        groups.append(Group(count))
        return groups[-1]

    yield make
    await asyncio.gather(*(member.stop() for group in groups for member in group.members))
