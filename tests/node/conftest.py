"""Operators as pods of a real node. These tests run only in a cluster that their environment names.

PYKB_NODE_LOAD is the command that loads images into the node, such as `kind load docker-image`. The cluster is that of
KUBECONFIG, the builder of the images that of DOCKER_HOST. The tests create and delete what they like there.
PYKB_NODE_AUDIT is the file of the API server's audit log, with the level Metadata or above for service accounts.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.audit import AuditLog
from tests.node.operator import Node, Operator, copied, deployed

ROOT = Path(__file__).parents[2]
BASE = "pykb-node-base"

collect_ignore_glob = [] if "PYKB_NODE_LOAD" in os.environ else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder. Images are built, and pods start: that takes its time."""
    for item in items:
        if item.nodeid.startswith("tests/node/"):  # paths would take seconds
            item.add_marker(pytest.mark.node)
            item.add_marker(pytest.mark.timeout(900))


def _base_image(folder: Path) -> str:
    """The base image with the packages of every operator, so that each image is built in half a minute."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (folder / "requirements.txt").write_text("\n".join(sorted(project["dependencies"])), encoding="utf-8")
    (folder / "Dockerfile").write_text(
        "FROM python:3.13-slim\n"
        "COPY requirements.txt /wheels/\n"
        "RUN pip download --quiet --only-binary :all: --dest /wheels --requirement /wheels/requirements.txt\n"
        "ENV PIP_NO_INDEX=1 PIP_FIND_LINKS=/wheels\n",
        encoding="utf-8",
    )
    subprocess.run(["docker", "build", "--quiet", "--tag", BASE, folder], check=True, capture_output=True)
    return BASE


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Node:
    """The node and how to bring images to it."""
    kubectl = shutil.which("kubectl")
    if kubectl is None or "KUBECONFIG" not in os.environ:
        pytest.fail("the tests on a node need KUBECONFIG and kubectl", pytrace=False)
    base = _base_image(tmp_path_factory.mktemp("base"))
    return Node(Path(kubectl), tuple(shlex.split(os.environ["PYKB_NODE_LOAD"])), base)


@pytest.fixture(scope="session")
def audit_log() -> AuditLog:
    """What the API server wrote about the requests of service accounts."""
    return AuditLog(Path(os.environ["PYKB_NODE_AUDIT"]))


@pytest.fixture(scope="module")
def machines(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """The sample with webhooks of its own certificates, deployed once for the tests of a module."""
    with deployed(node, copied("virtulmachine", tmp_path_factory.mktemp("node"))) as operator:
        yield operator
