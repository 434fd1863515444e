"""The program ends when it has to, whatever hangs: real processes that are told to stop, or lose their lease."""

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, os, signal, sys, threading, time
from datetime import timedelta
from pykb.api.core.v1 import ConfigMap
from pykb.api.meta.v1 import ObjectMeta
from pykb.runtime import Client, ControllerBuilder, Manager, ManagerOptions, Reconciler
from pykb.client.errors import error_from_status
from pykb.runtime.fake import FakeApiServer

how, elect = sys.argv[1], sys.argv[2] == "leader"

def working():
    print("working", flush=True)

def hang_in_thread():
    working()
    threading.Event().wait(3600)

async def swallow():
    working()
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass

async def block():
    working()
    time.sleep(3600)

async def restart():
    # The kernel goes back into the call, so Python does not see the signal. The same happens without these lines if the
    # signal comes just before the call.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.siginterrupt(number, False)
    reader, _ = os.pipe()
    working()
    os.read(reader, 1)

async def fork():
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGTERM, lambda *_: os.write(writer, b"!"))
        os.write(writer, b"!")
        while True:
            signal.pause()
    for _ in range(2):
        os.read(reader, 1)
        os.kill(child, signal.SIGTERM)
    os.read(reader, 1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    working()
    manager.stop()

async def to_thread():
    await asyncio.to_thread(hang_in_thread)

class Plain(Reconciler):
    def reconcile(self, request):
        hang_in_thread()

class Swallows(Reconciler):
    async def reconcile(self, request):
        await swallow()

server = FakeApiServer()
server_down = False

def react(call):
    if server_down and call.method != "GET" and call.path.endswith("/leases/pykb"):
        raise error_from_status(500, {"kind": "Status", "code": 500, "message": "down"})

server.react = react
client = Client(server)
asyncio.run(client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))))
options = ManagerOptions(
    graceful_shutdown_timeout=timedelta(seconds=float(sys.argv[3])),
    leader_elect=elect,
    leader_election_id="pykb",
    lease_duration=timedelta(seconds=2),
    renew_deadline=timedelta(seconds=1),
    retry_period=timedelta(milliseconds=100),
)
manager = Manager(options, client=client)

class Down:
    needs_leader_election = False

    async def run(self):
        global server_down
        await manager.elected.wait()
        await asyncio.sleep(0.3)
        server_down = True

if elect:
    manager.add(Down())
functions = {"block": block, "restart": restart, "fork": fork, "swallow": swallow, "to_thread": to_thread}
reconcilers = {"plain": Plain, "swallows": Swallows}
if how in functions:
    manager.add(functions[how])
else:
    ControllerBuilder(manager).for_(ConfigMap).complete(reconcilers[how](manager.client))
manager.run()
print("stopped", flush=True)
"""

HANGING = ("plain", "swallows", "block", "restart", "swallow", "to_thread")


def started(how, role="alone", grace="0.2"):
    """The program, when its work hangs."""
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, how, role, grace], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout.readline() == "working\n"
    return program


def ended(program):
    """How it ended by itself: its code, what it said and logged."""
    with program:
        try:
            program.wait(timeout=30)
        finally:
            program.kill()
        # Not by `communicate`: it does not see what came with the first line and was read with it.
        return program.returncode, program.stdout.read(), program.stderr.read()


@pytest.mark.parametrize("how", HANGING)
def test_what_hangs_does_not_outlive_the_graceful_time(how):
    """A thread, a coroutine that swallows its cancellation, a blocked event loop."""
    program = started(how)
    program.send_signal(signal.SIGTERM)
    code, said, logged = ended(program)
    assert (code, said) == (1, "")
    assert "ending at once" in logged or "not stopped in time" in logged


def test_the_end_needs_no_new_thread():
    """Python 3.12 refuses one while the interpreter ends: `RuntimeError: can't create new thread`."""
    refuse = (
        "def refuse(_):\n    raise RuntimeError\n"
        "try:\n    manager.run()\nfinally:\n    threading.Thread.start = refuse\n"
    )
    text = PROGRAM.replace("manager.run()\n", refuse)
    program = subprocess.Popen(
        [sys.executable, "-c", text, "plain", "alone", "0.2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout.readline() == "working\n"
    program.send_signal(signal.SIGTERM)
    code, _, logged = ended(program)
    assert code == 1
    assert "ending at once" in logged


@pytest.mark.parametrize("how", HANGING)
def test_a_second_signal_ends_at_once_whatever_hangs(how):
    """Also when the event loop is blocked."""
    program = started(how, grace="3600")
    program.send_signal(signal.SIGTERM)
    for line in program.stderr:
        if "signal received" in line:
            break
    program.send_signal(signal.SIGINT)
    code, said, logged = ended(program)
    assert (code, said) == (1, "")
    assert "ending at once" in logged
    assert "second signal" in logged


@pytest.mark.parametrize("how", HANGING)
def test_a_lost_lease_ends_the_process_whatever_hangs(how):
    """Another replica may work already; the graceful time of a regular stop is not waited for."""
    code, said, logged = ended(started(how, "leader", grace="3600"))
    assert (code, said) == (1, "")
    assert "lost the lease" in logged or "ending at once" in logged


def test_the_signals_of_a_forked_child_are_its_own():
    """It has the same sockets."""
    code, said, logged = ended(started("fork"))
    assert (code, said) == (0, "stopped\n")
    assert "signal" not in logged


def test_a_manager_that_is_only_started_never_ends_the_process():
    """As a library: what hangs is left to the program."""
    program = started_as_library()
    code, said, _ = ended(program)
    assert (code, said) == (7, "left\n")


def started_as_library():
    """`start` in a loop of its own, stopped while a coroutine swallows its cancellation."""
    text = PROGRAM.replace(
        "manager.run()\n",
        """
async def main():
    task = asyncio.create_task(manager.start())
    await manager.elected.wait()
    await asyncio.sleep(0.1)
    manager.stop()
    await task
    await asyncio.sleep(6)
    print("left", flush=True)
    import os
    os._exit(7)

asyncio.run(main())
""",
    )
    program = subprocess.Popen(
        [sys.executable, "-c", text, "swallow", "alone", "0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout.readline() == "working\n"
    return program
