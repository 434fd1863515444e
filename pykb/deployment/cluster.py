"""Chooses the cluster, and makes sure that it answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pykb.client.login import listed_kubeconfigs, none_exists
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import (
    CLUSTER_OLD,
    CLUSTER_UNREACHABLE,
    CLUSTER_WITHOUT_NODES,
    KUBECONFIG_UNUSABLE,
)
from pykb.diagnostics.suggest import closest
from pykb.envtest.assets import find_assets
from pykb.project.settings import OLDEST, Minor, minor_of, setting, shown
from pykb.tools.kubectl import NAME, Kubectl
from pykb.tools.process import find_program, quote

_OWN = ("cluster", "dev")
_PATIENCE = "--request-timeout=10s"


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster.

    Attributes:
        kubectl: Sends requests to it.
        own: The kubeconfig of the project's own control plane, relative to the project, if this is it.
        interval: Seconds between two looks at what is awaited in it.
    """

    kubectl: Kubectl
    own: str = ""
    interval: float = 1.0


def program_folders() -> tuple[Path, ...]:
    """Where else than on PATH a kubectl is: in the cache of control planes."""
    if find_program(NAME):
        return ()
    assets = find_assets()
    return (assets.folder,) if assets is not None else ()


def choose(root: Path, *, kubeconfig: Path | None, context: str, environment: Mapping[str, str]) -> Cluster:
    """Choose the cluster: by option, KUBECONFIG, the project's own control plane, ~/.kube/config.

    Raises:
        EnvironmentProblem: kubectl is not installed, or KUBECONFIG names no file that exists. kubectl would ask a
            server on this machine then.
    """
    listed = listed_kubeconfigs(environment)
    if kubeconfig is None and listed and not any(path.exists() for path in listed):
        raise EnvironmentProblem(none_exists(listed))
    kubectl = Kubectl.find(kubeconfig=kubeconfig, context=context, folders=program_folders())
    if kubeconfig is not None or context or environment.get("KUBECONFIG"):
        return Cluster(kubectl)
    for name in _OWN:
        place = Path(".pykb", name, "kubeconfig")
        if (root / place).is_file():
            return Cluster(replace(kubectl, kubeconfig=root / place), place.as_posix())
    return Cluster(kubectl)


def check_answers(cluster: Cluster, oldest: Minor | None = None) -> None:
    """Make sure that the cluster answers, and that the project supports its version.

    Args:
        cluster: The cluster.
        oldest: The oldest Kubernetes that the project supports, if it names one.

    Raises:
        EnvironmentProblem: It does not, or the kubeconfig does not have the context.
    """
    answer = cluster.kubectl.attempt("get", "--raw=/version", _PATIENCE)  # `kubectl version` leaves out what is newer
    if answer.ok:
        if oldest is not None:
            check_version(json.loads(answer.stdout), oldest)
        return
    _check_context(cluster.kubectl)
    if cluster.own:
        message = f"the project's own control plane (`{cluster.own}`) does not answer"
        helps: tuple[str, ...] = ("pykb cluster up         # starts it again", "pykb cluster down       # deletes it")
    else:
        message = "no cluster answers"
        helps = (
            'eval "$(pykb cluster up)"   # a local control plane, without Docker',
            "--kubeconfig FILE           # another cluster",
        )
    raise CLUSTER_UNREACHABLE.problem(message, *helps, notes=quote(answer.stderr, source="kubectl wrote"))


def check_version(server: Mapping[str, str], oldest: Minor) -> None:
    """Refuse a server that is older than the project supports.

    A server can behave like an older one (``--emulated-version``). Since 1.33, it says like which.

    Args:
        server: What it says of its version.
        oldest: The oldest version that the project supports.

    Raises:
        EnvironmentProblem: It is older.
    """
    named = server.get("gitVersion", "")
    emulated = f"{server.get('emulationMajor', '')}.{server.get('emulationMinor', '')}"
    version = minor_of(emulated) or minor_of(named)
    if version is None or version >= oldest:
        return
    behaves = f" and behaves like {shown(version)}" if minor_of(named) != version else ""
    raise CLUSTER_OLD.problem(
        f"the cluster has Kubernetes {named.removeprefix('v')}{behaves}, but the project supports {shown(oldest)} "
        "and newer",
        "upgrade the cluster, or name another one: `--kubeconfig FILE`, `--context NAME`",
        f"or support it: `{setting(version)}` in [tool.pykb] of pyproject.toml, then `pykb generate`"
        if version >= OLDEST
        else f"pykb supports {shown(OLDEST)} and newer",
        notes="nothing was applied",
    )


def _check_context(kubectl: Kubectl) -> None:
    found = kubectl.attempt("config", "get-contexts", "--output=name")
    contexts = sorted(found.stdout.split())
    if not found.ok or not contexts or kubectl.context in ("", *contexts):
        return
    near, names = closest(kubectl.context, contexts), ", ".join(f"`{name}`" for name in contexts)
    what = f"a context with a similar name exists: `{near}`" if near else f"it has {names}"
    raise KUBECONFIG_UNUSABLE.problem(f"the kubeconfig has no context `{kubectl.context}`", what)


def check_can_have_nodes(cluster: Cluster) -> None:
    """Refuse to deploy to the project's own control plane, unless it was chosen.

    Raises:
        EnvironmentProblem: The cluster is that one.
    """
    if cluster.own:
        raise CLUSTER_WITHOUT_NODES.problem(
            f"no cluster was chosen, and the project's own control plane (`{cluster.own}`) has no nodes",
            "pykb deploy --kubeconfig ~/.kube/config",
            "make run     # runs the manager on this machine",
            notes="nothing was applied",
        )


def has_nodes(cluster: Cluster) -> bool:
    """Whether pods can run there. True if the user may not see the nodes."""
    answer = cluster.kubectl.attempt("get", "nodes", "--output=name")
    return not answer.ok or bool(answer.stdout.strip())
