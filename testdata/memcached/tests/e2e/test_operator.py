# Copyright fanux
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""The operator in a cluster that runs its image: `make test-e2e`."""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PROJECT = Path(__file__).parents[2]
PREFIX = "memcached-operator"
NAMESPACE = f"{PREFIX}-system"
MANAGER = f"deployment/{PREFIX}-controller-manager"

# Runs in the manager's container. The image has Python, so the test needs no other image.
# The token comes through stdin because arguments are logged.
SCRAPE = """
import ssl, sys, urllib.request
token = sys.stdin.read().strip()
request = urllib.request.Request("https://localhost:8443/metrics", headers={"Authorization": f"Bearer {token}"})
print(urllib.request.urlopen(request, context=ssl._create_unverified_context()).read().decode())
"""


def run(*command: str, check: bool = True, text: str | None = None) -> str:
    """Run a command in the project and return what it prints."""
    done = subprocess.run(command, cwd=PROJECT, input=text, capture_output=True, text=True, check=False)
    if check and done.returncode:
        pytest.fail(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout


def kubectl(*arguments: str, check: bool = True, text: str | None = None) -> str:
    """Run kubectl."""
    return run(os.environ.get("KUBECTL", "kubectl"), *arguments, check=check, text=text)


def in_time(check: Callable[[], object]) -> None:
    """Retry until it succeeds. The network and the API server need a moment to see a new pod or certificate."""
    for _ in range(60):
        try:
            check()
        except pytest.fail.Exception:
            time.sleep(1)
        else:
            return
    check()


@pytest.fixture(scope="module", autouse=True)
def operator(request: pytest.FixtureRequest) -> Iterator[None]:
    """Deploy to a namespace that enforces the Pod Security Standard "restricted". Print logs and events after a failure."""
    namespace = kubectl("create", "namespace", NAMESPACE, "--dry-run=client", "--output=yaml")
    kubectl("apply", "--server-side", "--filename=-", text=namespace)
    kubectl("label", "--overwrite", "namespace", NAMESPACE, "pod-security.kubernetes.io/enforce=restricted")
    try:
        run("make", "deploy", f"IMG={os.environ['IMG']}")
        yield
        if request.session.testsfailed:
            print(kubectl("--namespace", NAMESPACE, "describe", "pods", check=False))
            print(kubectl("--namespace", NAMESPACE, "logs", MANAGER, check=False))
            print(kubectl("--namespace", NAMESPACE, "get", "events", check=False))
    finally:
        run("make", "undeploy", check=False)


def metrics() -> str:
    """Scrape the manager with the token of its own ServiceAccount. The test lets it read the metrics."""
    account = f"{PREFIX}-controller-manager"
    token = kubectl("--namespace", NAMESPACE, "create", "token", account)
    return kubectl("--namespace", NAMESPACE, "exec", "--stdin", MANAGER, "--", "python", "-c", SCRAPE, text=token)


def test_manager_gets_ready() -> None:
    """The Deployment becomes available. The image runs, and its probes succeed."""
    kubectl("--namespace", NAMESPACE, "rollout", "status", MANAGER, "--timeout=180s")


def test_metrics_are_served_to_those_who_may_read_them() -> None:
    """A ServiceAccount with the role metrics-reader can read the metrics."""
    binding = f"{PREFIX}-metrics-e2e"
    account = f"--serviceaccount={NAMESPACE}:{PREFIX}-controller-manager"
    kubectl("delete", "clusterrolebinding", binding, "--ignore-not-found")
    kubectl("create", "clusterrolebinding", binding, f"--clusterrole={PREFIX}-metrics-reader", account)
    try:
        assert "# HELP" in metrics()
    finally:
        kubectl("delete", "clusterrolebinding", binding)


def called(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The webhooks that a configuration or a CRD calls."""
    conversion = item.get("spec", {}).get("conversion", {}).get("webhook")
    return [*item.get("webhooks", ()), *([conversion] if conversion else [])]


def check_trust() -> None:
    """Fail for an object that calls a webhook of this operator without a CA bundle."""
    kinds = "mutatingwebhookconfigurations,validatingwebhookconfigurations,customresourcedefinitions"
    for item in json.loads(kubectl("get", kinds, "--output=json"))["items"]:
        for config in (each["clientConfig"] for each in called(item)):
            if config.get("service", {}).get("namespace") == NAMESPACE and not config.get("caBundle"):
                pytest.fail(f"{item['metadata']['name']}: no CA bundle")


def test_webhooks_are_trusted() -> None:
    """The CA bundle is set wherever the API server calls the operator."""
    in_time(check_trust)


def test_samples_are_accepted() -> None:
    """The API server accepts every sample."""
    if not (PROJECT / "config/samples/kustomization.yaml").exists():
        return  # before the first `pykb create api`
    in_time(lambda: kubectl("apply", "--kustomize=config/samples"))
    kubectl("delete", "--kustomize=config/samples", "--ignore-not-found", "--timeout=120s")
