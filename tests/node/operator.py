"""A sample project as its user ships it: an image in a node, deployed to a namespace with Pod Security "restricted"."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hack.samples.build import files
from hack.samples.steps import TESTDATA
from tests.e2e.conftest import Shell, eventually

RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"

SCRAPE = """
import ssl, sys, urllib.error, urllib.request
token = sys.stdin.read().strip()
headers = {"Authorization": f"Bearer {token}"} if token else {}
request = urllib.request.Request("https://localhost:8443/metrics", headers=headers)
try:
    with urllib.request.urlopen(request, context=ssl._create_unverified_context()) as answer:
        print(answer.status, answer.read().decode())
except urllib.error.HTTPError as error:
    print(error.code)
"""


@dataclass(frozen=True)
class Node:
    """A cluster with a node, and how to bring images to it.

    Attributes:
        kubectl: The program.
        loader: The command that loads images, which are its last arguments.
        base: The image that operators are built in.
    """

    kubectl: Path
    loader: tuple[str, ...]
    base: str


class Operator:
    """A project and its objects in the cluster."""

    def __init__(self, node: Node, folder: Path) -> None:
        kustomization = yaml.safe_load((folder / "config/default/kustomization.yaml").read_text(encoding="utf-8"))
        self.node = node
        self.namespace: str = kustomization["namespace"]
        self.prefix: str = kustomization["namePrefix"]
        self.manager = f"{self.prefix}controller-manager"
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "PYKB_"))}
        self.shell = Shell(folder, node.kubectl, {**environment, "KUBECTL": str(node.kubectl), "NO_COLOR": "1"})

    @property
    def account(self) -> str:
        """The name by which the API server knows the manager."""
        return f"system:serviceaccount:{self.namespace}:{self.manager}"

    def image(self, tag: str) -> str:
        """The name of an image. It names a version, since the node does not pull it."""
        return f"example.com/{self.prefix}operator:{tag}"

    def build(self, tag: str) -> None:
        """Build an image as `make docker-build` does, and load it."""
        arguments = f"DOCKER_BUILD_ARGS=--quiet --build-arg BASE_IMAGE={self.node.base}"
        self.shell.run("make", "docker-build", f"IMG={self.image(tag)}", arguments)
        self.shell.run(*self.node.loader, self.image(tag))

    def prepare_namespace(self) -> None:
        """Create the operator's namespace, with Pod Security "restricted"."""
        self.shell.ctl("create", "namespace", self.namespace)
        self.shell.ctl("label", "namespace", self.namespace, RESTRICTED)

    def deploy(self, tag: str) -> None:
        """Deploy an image, and wait until its pods are ready and the API server reaches their webhooks."""
        self.shell.pykb("deploy", "--image", self.image(tag))

    def ctl(self, *arguments: str, text: str | None = None) -> str:
        """Run kubectl in the operator's namespace."""
        return self.shell.ctl("--namespace", self.namespace, *arguments, text=text)

    def json(self, *arguments: str) -> Any:
        """What kubectl answers as JSON."""
        return json.loads(self.ctl(*arguments, "--output=json"))

    def pods(self) -> list[dict[str, Any]]:
        """The pods of the manager that are not being deleted."""
        found = self.json("get", "pods", "--selector=control-plane=controller-manager")["items"]
        return [each for each in found if "deletionTimestamp" not in each["metadata"]]

    def pod_names(self) -> list[str]:
        """The names of these pods."""
        return sorted(each["metadata"]["name"] for each in self.pods())

    def scale(self, replicas: int) -> None:
        """Run so many replicas, and wait until they are ready."""
        self.ctl("scale", "deployment", self.manager, f"--replicas={replicas}")
        self.ctl("rollout", "status", "deployment", self.manager, "--timeout=120s")

    def log(self, pod: str = "") -> str:
        """The log of a pod, or of all pods."""
        selector = [pod] if pod else ["--selector=control-plane=controller-manager", "--tail=-1"]
        return self.ctl("logs", *selector)

    def python(self, pod: str, code: str, text: str = "") -> str:
        """Run Python code in the container of a pod. The image has no other program."""
        return self.ctl("exec", "--stdin", pod, "--", "python", "-c", code, text=text)

    def scrape(self, pod: str, token: str = "") -> str:
        """The status of a request for the metrics, and the metrics if they are given."""
        return self.python(pod, SCRAPE, token).strip()

    def token(self) -> str:
        """A token of the manager's ServiceAccount."""
        return self.ctl("create", "token", self.manager)

    def leader(self) -> str:
        """The pod that holds the lease."""
        (lease,) = self.json("get", "leases")["items"]
        return str(lease["spec"].get("holderIdentity") or "").partition("_")[0]

    def explain(self) -> str:
        """What to read when a test fails."""
        return self.shell.run(str(self.node.kubectl), "-n", self.namespace, "describe", "pods") + self.log()

    def eventually(self, check: Callable[[], bool], what: str) -> None:
        """Wait until a check holds."""
        eventually(check, what, context=self.explain)


def copied(sample: str, into: Path) -> Path:
    """A copy of a sample as it is committed."""
    folder = into / sample
    for path in files(TESTDATA / sample):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TESTDATA / sample / path, folder / path)
    return folder


@contextmanager
def deployed(
    node: Node, folder: Path, *, tag: str = "v1", prepare: Callable[[Shell], None] = lambda _: None
) -> Iterator[Operator]:
    """Build, load and deploy a project; at the end, undeploy it.

    Args:
        node: Where it runs.
        folder: The project.
        tag: The tag of the image.
        prepare: Changes the project before.
    """
    operator = Operator(node, folder)
    prepare(operator.shell)
    operator.shell.pykb("generate")
    operator.build(tag)
    operator.prepare_namespace()
    try:
        operator.deploy(tag)
        yield operator
    finally:
        operator.shell.pykb("undeploy", "--yes")


def objects(node: Node) -> set[str]:
    """The names of all objects of the cluster but those that come and go by themselves."""
    ctl = [str(node.kubectl)]
    listed = [*ctl, "api-resources", "--verbs=list", "--output=name"]
    kinds = set(subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split())
    kinds -= {"events", "events.events.k8s.io", "leases.coordination.k8s.io", "componentstatuses"}
    shown = [*ctl, "get", ",".join(sorted(kinds)), "--all-namespaces", "--output=json"]
    answer = json.loads(subprocess.run(shown, capture_output=True, text=True, check=True).stdout)
    return {
        f"{each['kind']} {each['metadata'].get('namespace', '')}/{each['metadata']['name']}" for each in answer["items"]
    }
