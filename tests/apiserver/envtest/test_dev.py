"""`pykb dev` on a scaffolded project, from its first start to Ctrl-C, for real."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pykb.commands.options import NewApi, NewProject, NewWebhook
from pykb.dev.page.recording import read_recording
from pykb.envtest import ControlPlane
from pykb.envtest.cluster import Cluster
from pykb.envtest.rest import Rest
from pykb.envtest.webhooks import installed_with
from tests.unit.plugins.scaffolding import start

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(300)]

THINGS = "/apis/shop.example.com/v1/namespaces/default/things"
TYPES = "shop/api/v1/thing_types.py"
CONTROLLER = "shop/controllers/thing_controller.py"


SHOP = NewProject(domain="example.com")
THING = NewApi("shop", "v1", "Thing")


def up(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `pykb cluster up` without controllers."""
    command = [sys.executable, "-m", "pykb", "cluster", "up", "--no-controller-manager", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def scaffolded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one kind."""
    return start(SHOP, tmp_path_factory.mktemp("dev") / "shop", THING)


@pytest.fixture
def project(scaffolded: Path) -> Path:
    """The project, its files as they were scaffolded."""
    return scaffolded


class Dev:
    """A running `pykb dev`, or another command, and what it has said so far."""

    def __init__(self, folder: Path, *arguments: str, command: str = "dev", **env: str) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.seen = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pykb", command, *arguments],
            cwd=folder,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        """Gather lines."""
        assert self.process.stdout
        self.lines.extend(iter(self.process.stdout.readline, ""))

    def says(self, *texts: str) -> str:
        """Wait for a line with each text, in any order, after the lines of the last wait. Return the last one."""
        missing = set(texts)
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            while self.seen < len(self.lines):
                line = self.lines[self.seen]
                self.seen += 1
                missing -= {text for text in missing if text in line}
                if not missing:
                    return line
            if self.process.poll() is not None and self.seen == len(self.lines):
                break
            time.sleep(0.05)
        raise AssertionError(f"never said {sorted(missing)}:\n{''.join(self.lines)}")

    def end(self, number: int) -> int:
        """Send a signal and wait for the end; gives the exit code."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.reader.join()
        assert self.process.stdout
        self.process.stdout.close()
        return code


class Browser:
    """Opens the page, and reads its events."""

    def __init__(self, url: str) -> None:
        self.base = url.partition("/?")[0]
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert b"<title>pykb dev</title>" in self.opener.open(url, timeout=30).read()

    def waits_for(self, event: str, suits: Callable[[Any], object]) -> Any:
        """What the first such event tells, from all that are kept and those that come."""
        with self.opener.open(f"{self.base}/events", timeout=60) as answer:
            name = ""
            for line in answer:
                key, _, value = line.decode().strip().partition(": ")
                name = value if key == "event" else name
                if key == "data" and name == event and suits(told := json.loads(value)):
                    return told
        raise AssertionError(f"the page never had a {event} like that")

    def asks(self, path: str, body: object) -> Any:
        """What the page answers to an act."""
        headers = {"Origin": self.base, "Content-Type": "application/json"}
        request = urllib.request.Request(self.base + path, json.dumps(body).encode(), headers)
        try:
            answer = self.opener.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        return json.loads(answer.read())


def events_in(recording: Path) -> set[tuple[str, str]]:
    """The events of a whole recording, and the names of its objects."""
    history, notes = read_recording(recording)
    assert notes == []
    return {(each.event, json.loads(each.data).get("name", "")) for each in history.snapshot()}


def processes_of(folder: Path) -> list[int]:
    """The processes that run in a folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cwd").readlink() == folder:
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def edit(file: Path, old: str, new: str) -> None:
    """Change a piece of a file."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


@pytest.fixture
def devs() -> Iterator[list[Dev]]:
    """What a test starts is ended, also when it fails."""
    started: list[Dev] = []
    yield started
    for dev in started:
        if dev.process.poll() is None:
            dev.end(signal.SIGKILL)


def test_the_loop_follows_the_files_until_ctrl_c(project: Path, devs: list[Dev], tmp_path: Path) -> None:
    """Start, reconcile, broken edit, repair, new field, Ctrl-C: one console, and nothing is left but the recording."""
    dev = Dev(project, "--explore", "--record", str(tmp_path / "bug.jsonl"))
    devs.append(dev)
    kubeconfig = Path(dev.says("export KUBECONFIG=").rpartition("=")[2].strip())
    page = Browser(dev.says("page: ").rpartition(" ")[2].strip())
    dev.says("installed things.shop.example.com")
    dev.says("controller started")
    assert page.waits_for("manager", lambda told: told["crds"])["state"] == "started"
    rest = Rest.from_kubeconfig(kubeconfig)
    thing = {"apiVersion": "shop.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"foo": "bar"}}
    assert rest.call("POST", THINGS, thing).ok
    dev.says("thing default/a, because Thing a was created: writes nothing; done in ")
    seen = page.waits_for("ended", lambda told: told["request"] == "default/a")
    assert (seen["outcome"], seen["causes"][0]["event"], seen["causes"][0]["object"]["name"]) == ("ok", "create", "a")
    assert page.waits_for("object", lambda told: told["name"] == "a")["kind"] == "Thing"
    assert page.asks("/api/apply", {"yaml": json.dumps({**thing, "spec": {"foo": 7}})})["errors"][0]["message"]
    assert page.asks("/api/delete", {"apiVersion": "shop.example.com/v1", "kind": "Thing", "name": "nobody"})["errors"]

    edit(project / CONTROLLER, "        return Result()\n\n    def setup", "        return 1 // 0\n\n    def setup")
    failed = dev.says("it found Thing a when it started: writes nothing; fails with ZeroDivisionError: ")
    assert failed.endswith("), failure 1, next try in 5 ms\n")
    assert "(thing_controller.py:" in failed
    dev.says("Traceback")
    dev.says("thing default/a: same error, failure ")
    assert len([line for line in dev.lines if "Traceback" in line]) == 1
    seen = page.waits_for("ended", lambda told: told["outcome"] == "error")
    assert seen["error"]["place"]["path"] == str(project / CONTROLLER)
    assert page.waits_for("manager", lambda told: told["files"])["files"] == [CONTROLLER]
    edit(project / CONTROLLER, "return 1 // 0", "return Result()")
    dev.says("thing default/a, because it found Thing a when it started: writes nothing; done in ")

    edit(project / CONTROLLER, "class ThingReconciler", "class (ThingReconciler")
    dev.says(f"changed: {CONTROLLER}")
    dev.says("error[source-syntax]")
    dev.says("the manager still runs the previous code")
    assert "nothing was generated" in page.waits_for("manager", lambda told: told["state"] == "waiting")["reason"]

    edit(project / TYPES, "class ThingSpec", "class Size(Struct):\n    width: int | None = None\n\n\nclass ThingSpec")
    edit(project / TYPES, "    foo: ", "    size: Size | None = None\n    foo: ")
    edit(project / CONTROLLER, "class (ThingReconciler", "class ThingReconciler")
    dev.says("updated config/crd/bases/shop.example.com_things.yaml")
    dev.says("installed things.shop.example.com")
    dev.says("manager started")
    patch = {**thing, "metadata": {"name": "b"}, "spec": {"size": {"width": 3}}}
    assert rest.call("POST", THINGS, patch).body["spec"] == {"size": {"width": 3}}

    dev.says("explore  | the explorer has no findings in ")
    assert page.waits_for("findings", lambda told: told["state"] == "done")["findings"] == []

    assert dev.end(signal.SIGINT) == 0
    assert processes_of(project) == []
    assert not kubeconfig.exists()
    assert events_in(tmp_path / "bug.jsonl") >= {("ended", ""), ("manager", ""), ("object", "a"), ("findings", "")}


def test_a_killed_loop_leaves_no_process(project: Path, control_plane: ControlPlane, devs: list[Dev]) -> None:
    """Neither the manager nor a control plane is alive after five seconds."""
    dev = Dev(project, "--kubeconfig", str(control_plane.kubeconfig))
    devs.append(dev)
    dev.says("controller started")
    assert len(processes_of(project)) > 1
    dev.end(signal.SIGKILL)
    deadline = time.monotonic() + 60
    while processes_of(project) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_of(project) == []


def test_a_manager_that_ends_does_not_end_the_loop(project: Path, control_plane: ControlPlane, devs: list[Dev]) -> None:
    """It is told, and the next change starts it again. The flags of the user reach it."""
    dev = Dev(project, "--kubeconfig", str(control_plane.kubeconfig), "--", "--no-such-flag")
    devs.append(dev)
    dev.says("--no-such-flag")
    page = Browser(next(line for line in dev.lines if "page: " in line).rpartition(" ")[2].strip())
    dev.says("the manager ended with exit code 2; a change starts it again")
    (project / "shop" / "__init__.py").touch()
    dev.says("manager started")
    dev.says("the manager ended with exit code 2")
    assert "--no-such-flag" in "".join(page.waits_for("manager", lambda told: told["log"])["log"])
    assert dev.end(signal.SIGTERM) == 0


def test_a_cluster_that_runs_is_used_and_left_running(tmp_path: Path, devs: list[Dev]) -> None:
    """`pykb cluster up` before `pykb dev` keeps the objects from run to run.

    A project without kinds of its own has no definitions to install, and webhooks and controllers all the same.
    """
    controller = NewApi("core", "v1", "ConfigMap", resource=False, controller=True)
    webhook = NewWebhook("core", "v1", "ConfigMap", validation=True)
    folder = start(SHOP, tmp_path / "shop", controller, webhook)
    assert up(folder).returncode == 0
    cluster = Cluster(folder / ".pykb" / "cluster")
    try:
        others = {
            "--port 1": "on port ",
            "--feature-gates ShardedListAndWatch=true": "with the default features",
            "--version <1.20": "with Kubernetes 1.",
        }
        for given, how in others.items():
            if given.startswith("--version") and "KUBEBUILDER_ASSETS" in os.environ:
                continue  # programs of unknown version, for which the option does not count
            done = up(folder, *given.split())
            assert (done.returncode, done.stdout) == (2, "")
            assert f"error[usage]: `{given}`: the control plane already runs {how}" in done.stderr
        dev = Dev(folder)
        devs.append(dev)
        dev.says("the cluster of `pykb cluster up`")
        # The manager says the one and the loop the other, as soon as it notices.
        dev.says("controller started", "webhooks are served at https://127.0.0.1:")
        assert dev.end(signal.SIGHUP) == 0
        assert not (folder / "config/crd/bases").exists()
        assert cluster.status().complete
    finally:
        cluster.down()


def test_a_recording_among_the_watched_files_is_refused(
    project: Path, control_plane: ControlPlane, devs: list[Dev]
) -> None:
    """Each of its lines would be a change, which restarts the manager."""
    dev = Dev(project, "--kubeconfig", str(control_plane.kubeconfig), "--record", "shop/bug.jsonl")
    devs.append(dev)
    dev.says("error[recording]: a recording in `shop` would restart the manager with each of its lines")
    dev.process.wait(60)
    assert dev.end(signal.SIGTERM) == 1
    assert not (project / "shop/bug.jsonl").exists()


def test_a_port_in_use_is_said_before_anything_starts(project: Path) -> None:
    """A control plane takes seconds to start."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "pykb", "dev", "--port", str(port)]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error[cannot-listen]: the page server cannot listen on `127.0.0.1:{port}`: ")
    assert "--port 0" in done.stderr


def test_a_missing_kubeconfig_is_said_before_anything_starts(project: Path) -> None:
    """With its name."""
    command = [sys.executable, "-m", "pykb", "dev", "--kubeconfig", "nowhere"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=dict(os.environ))
    assert done.returncode == 1
    assert "error[kubeconfig-unusable]: there is no kubeconfig `nowhere`" in done.stderr


WEBHOOK = "shop/webhooks/v1/thing_webhook.py"
DENIAL = """\
    async def validate_create(self, obj: Thing) -> Warnings:
        if obj.spec.foo == "WORD":
            raise Denied("foo may not be WORD")
"""


@pytest.fixture(scope="module")
def hooked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a kind and its webhooks."""
    webhooks = NewWebhook("shop", "v1", "Thing", defaulting=True, validation=True)
    folder = start(SHOP, tmp_path_factory.mktemp("hooked") / "shop", THING, webhooks)
    edit(folder / WEBHOOK, "import Defaulter, Manager", "import Defaulter, Denied, Manager")
    edit(folder / WEBHOOK, "    async def validate_create(self, obj: Thing) -> Warnings:\n", DENIAL)
    return folder


@pytest.fixture(scope="module")
def staying(hooked: Path) -> Iterator[Rest]:
    """The control plane of `pykb cluster up` in that project."""
    assert up(hooked).returncode == 0
    cluster = Cluster(hooked / ".pykb" / "cluster")
    try:
        yield Rest.from_kubeconfig(cluster.status().kubeconfig)
    finally:
        cluster.down()


def create(rest: Rest, foo: str) -> str:
    """Try to create a thing; the server's words, empty when it took it."""
    thing = {"apiVersion": "shop.example.com/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": {"foo": foo}}
    answer = rest.call("POST", f"{THINGS}?dryRun=All", thing)
    return "" if answer.ok else answer.message


def test_webhooks_are_served_and_follow_the_files(hooked: Path, staying: Rest, devs: list[Dev]) -> None:
    """The API server calls the manager, after each change with its new code; what nobody serves is told."""
    dev = Dev(hooked)
    devs.append(dev)
    dev.says("installed mutatingwebhookconfigurations/pykb-dev-mutating-webhook-configuration")
    dev.says("installed validatingwebhookconfigurations/pykb-dev-validating-webhook-configuration")
    dev.says("webhooks are served at https://127.0.0.1:")
    assert create(staying, "WORD").endswith("denied the request: foo may not be WORD")
    assert create(staying, "other") == ""
    page = Browser(next(line for line in dev.lines if "page: " in line).rpartition(" ")[2].strip())
    denied = page.waits_for("webhook", lambda told: told["allowed"] is False)
    assert (denied["message"], denied["dryRun"]) == ("foo may not be WORD", True)
    assert denied["error"]["place"]["path"] == str(hooked / WEBHOOK)

    before = (hooked / WEBHOOK).read_text()
    text = before.replace("WORD", "other").replace("    builder.with_defaulter(ThingDefaulter())\n", "")
    (hooked / WEBHOOK).write_text(text)
    dev.says("webhooks are served at https://127.0.0.1:")
    dev.says("error[webhook-unserved]: the manager serves nothing at `/mutate-shop-example-com-v1-thing`")
    assert "could not find the requested resource" in create(staying, "other")
    (hooked / WEBHOOK).write_text(before.replace("WORD", "other"))
    dev.says("webhooks are served at https://127.0.0.1:")
    assert create(staying, "other").endswith("denied the request: foo may not be other")
    (hooked / WEBHOOK).write_text(before)
    assert dev.end(signal.SIGINT) == 0


@pytest.mark.slow
def test_a_manager_without_a_webhook_server_is_told(hooked: Path, staying: Rest, devs: list[Dev]) -> None:
    """Nothing was registered, so nothing listens, and the API server refuses what the manifest lists."""
    dev = Dev(hooked)
    devs.append(dev)
    dev.says("webhooks are served at https://127.0.0.1:")
    edit(hooked / "shop/__main__.py", "    setup_thing_webhook(manager)\n", "    # setup_thing_webhook(manager)\n")
    try:
        dev.says("manager started")
        dev.says("error[webhook-unserved]: the manager serves nothing at `/mutate-shop-example-com-v1-thing`")
        assert "connection refused" in create(staying, "other")
    finally:
        edit(hooked / "shop/__main__.py", "    # setup_thing_webhook(manager)\n", "    setup_thing_webhook(manager)\n")
    dev.says("webhooks are served at https://127.0.0.1:")
    assert dev.end(signal.SIGINT) == 0


def test_a_cluster_that_stays_is_left_without_webhooks(hooked: Path, staying: Rest, devs: list[Dev]) -> None:
    """The loop takes them back at its end; what a killed one leaves, the next one replaces."""
    dev = Dev(hooked)
    devs.append(dev)
    dev.says("webhooks are served at")
    dev.end(signal.SIGKILL)
    assert len(installed_with(staying, "pykb-dev-")) == 2

    dev = Dev(hooked)
    devs.append(dev)
    dev.says("webhooks are served at")
    assert len(installed_with(staying, "pykb-dev-")) == 2
    assert create(staying, "WORD").endswith("foo may not be WORD")
    assert dev.end(signal.SIGTERM) == 0
    assert installed_with(staying, "pykb-dev-") == []
    assert create(staying, "WORD") == ""


def test_a_real_cluster_gets_no_webhooks(hooked: Path, control_plane: ControlPlane, devs: list[Dev]) -> None:
    """It could not call this machine; the loop says so, and the manager serves none."""
    dev = Dev(hooked, "--kubeconfig", str(control_plane.kubeconfig))
    devs.append(dev)
    dev.says("webhooks are off (ENABLE_WEBHOOKS=false): a cluster that is not local cannot call this machine")
    dev.says("controller started")
    assert installed_with(control_plane.rest(), "pykb-dev-") == []
    assert dev.end(signal.SIGINT) == 0
