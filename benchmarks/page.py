"""What the page of `pykb dev` costs at 200 reconciles a second: the loop itself, and the operator that it runs.

    python -m benchmarks.page [--rounds 3] [--seconds 20] [--rate 200]

Four ways to run one project on one control plane, in turn: without page and lines, which records nothing; with a line
for each reconcile; with the page as well, which nobody has open; and with the page open. Each reconcile writes its
object. The CPU time is that of 1000 reconciles, since the rate moves with the load of the machine.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.operators.process import ENVIRONMENT, Usage, usage_of
from pykb.envtest.cluster import Cluster
from pykb.envtest.rest import Rest

OBJECTS = 100
WARM_UP = 5.0
STARTING = 60.0
THINGS = "/apis/shop.example.com/v1/namespaces/default/things"
WAYS = {
    "no lines, no page": ("--no-page", "--", "--log-format=text"),
    "lines, no page": ("--no-page",),
    "page closed": (),
    "page open": (),
}
RECONCILE = """\
        number = int((resource.metadata.annotations or {{}}).get("number", "0"))
        patch = MergePatch({{"metadata": {{"annotations": {{"number": str(number + 1)}}}}}})
        await self.client.patch(resource, patch)
        return Result(requeue_after=timedelta(seconds={pause}))
"""


@dataclass(frozen=True, slots=True)
class Found:
    """One measurement: reconciles a second, CPU seconds of 1000 reconciles and MiB, of the loop and of the manager."""

    rate: float
    loop_cpu: float
    loop_memory: float
    manager_cpu: float
    manager_memory: float


def main(arguments: list[str] | None = None) -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rate", type=float, default=200.0)
    flags = parser.parse_args([] if arguments is None else arguments)
    found: dict[str, list[Found]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as folder:
        project = _project(Path(folder) / "shop", flags.rate)
        _pykb(project, "cluster", "up")
        cluster = Cluster(project / ".pykb" / "cluster")
        try:
            for _ in range(flags.rounds):
                for way in WAYS:
                    found[way].append(_measured(project, way, Rest.from_kubeconfig(cluster.status().kubeconfig), flags))
        finally:
            cluster.down()
    _report(found)


def _report(found: dict[str, list[Found]]) -> None:
    names = ("rate", "loop_cpu", "loop_memory", "manager_cpu", "manager_memory")
    heads = ("1/s", "loop CPU s", "loop MiB", "manager CPU s", "manager MiB")
    base = dict.fromkeys(names, 0.0)
    print("".join([f"{'':18}", *(f"{head:>16}    x" for head in heads)]))
    for way, each in found.items():
        values = {name: statistics.median(getattr(one, name) for one in each) for name in names}
        base = values if not base["rate"] else base
        print("".join([f"{way:18}", *(f"{values[name]:16.2f} {values[name] / base[name]:4.2f}" for name in names)]))


def _measured(project: Path, way: str, rest: Rest, flags: argparse.Namespace) -> Found:
    with _running(project, way) as loop:
        _apply_all(rest)
        time.sleep(WARM_UP)
        manager = _manager_of(project)
        before, began, number = (usage_of(loop), usage_of(manager)), time.perf_counter(), _sum(rest)
        time.sleep(flags.seconds)
        after, took, done = (usage_of(loop), usage_of(manager)), time.perf_counter() - began, _sum(rest) - number
    loop_cpu, manager_cpu = (_cpu(*pair) * 1000 / done for pair in zip(before, after, strict=True))
    return Found(done / took, loop_cpu, after[0].pss, manager_cpu, after[1].pss)


def _cpu(before: Usage, after: Usage) -> float:
    return after.cpu - before.cpu


@contextlib.contextmanager
def _running(project: Path, way: str) -> Iterator[int]:
    """Run `pykb dev`, and give its process. Somebody reads what the page gets, if it is open."""
    command = [sys.executable, "-m", "pykb", "dev", *WAYS[way]]
    loop = subprocess.Popen(
        command, cwd=project, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.extend(iter(loop.stdout.readline, "")) if loop.stdout else None)
    reader.start()
    try:
        _wait_for(lines, "controller started", loop)
        if way == "page open":
            url = next(line for line in lines if "page: " in line).rpartition(" ")[2].strip()
            threading.Thread(target=_read_page, args=(url,), daemon=True).start()
        yield loop.pid
    finally:
        loop.send_signal(signal.SIGINT)
        loop.wait(STARTING)
        reader.join()


def _wait_for(lines: list[str], text: str, loop: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + STARTING
    while not any(text in line for line in lines):
        if time.monotonic() > deadline or loop.poll() is not None:
            raise RuntimeError(f"`pykb dev` never said {text!r}:\n{''.join(lines)}")
        time.sleep(0.05)


def _read_page(url: str) -> None:
    with contextlib.suppress(OSError):  # it ends with the loop
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(url, timeout=30).read()
        with opener.open(f"{url.partition('/?')[0]}/events", timeout=60) as events:
            while events.read1():
                pass


def _project(root: Path, rate: float) -> Path:
    """A new project whose reconciler writes its object, and comes back."""
    root.mkdir()
    _pykb(root, "init", "--domain", "example.com")
    _pykb(root, "create", "api", "--group", "shop", "--version", "v1", "--kind", "Thing", "--resource", "--controller")
    file = root / "shop/controllers/thing_controller.py"
    text = file.read_text(encoding="utf-8")
    head, _, tail = text.replace('        self.logger.info("reconciling %s", request)\n', "").rpartition(
        "        return Result()\n"
    )
    text = head + RECONCILE.format(pause=OBJECTS / rate) + tail
    imports = "from pykb.runtime import ControllerBuilder, GenerationChanged, Manager, MergePatch, "
    text = text.replace(
        "from pykb.runtime import ControllerBuilder, Manager, ", f"from datetime import timedelta\n\n{imports}"
    )
    options = ".for_(Thing).with_event_filter(GenerationChanged()).with_options(max_concurrent_reconciles=4)"
    file.write_text(text.replace(".for_(Thing)", options), encoding="utf-8")
    return root


def _pykb(root: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "pykb", *words], cwd=root, env=ENVIRONMENT, check=True, capture_output=True)


def _apply_all(rest: Rest) -> None:
    for number in range(OBJECTS):
        identity = {"apiVersion": "shop.example.com/v1", "kind": "Thing", "metadata": {"name": f"thing-{number}"}}
        answer = rest.call("POST", THINGS, {**identity, "spec": {"foo": "bar"}})
        if not answer.ok and answer.status != http.client.CONFLICT:  # those of the last round are there
            raise RuntimeError(answer.message)


def _sum(rest: Rest) -> int:
    """How many reconciles there were, as the objects say."""
    every = rest.call("GET", THINGS).body["items"]
    return sum(int(each["metadata"].get("annotations", {}).get("number", 0)) for each in every)


def _manager_of(project: Path) -> int:
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                re.search(rb"\0-m\0shop\0", (folder / "cmdline").read_bytes())
                and (folder / "cwd").readlink() == project
            ):
                return int(folder.name)
    raise RuntimeError("no manager runs")


if __name__ == "__main__":
    main(sys.argv[1:])
