"""Applies CustomResourceDefinitions to a cluster and waits until they are served."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import CRD_NOT_ESTABLISHED, CRD_REFUSED
from pykb.envtest.conversions import COLLECTION, keeping_local_conversion
from pykb.envtest.rest import APPLY, Rest
from pykb.reading import yaml_text

FIELD_MANAGER = "pykb"
POLL_SECONDS = 0.05


def read_crds(paths: Iterable[Path]) -> list[tuple[Path, dict[str, Any]]]:
    """Read the CRDs in files and folders (``*.yaml``, ``*.yml``, without subfolders). Skips other kinds.

    Raises:
        EnvironmentProblem: A file is not YAML.
    """
    found = []
    for path in paths:
        files = sorted(f for f in path.iterdir() if f.suffix in {".yaml", ".yml"}) if path.is_dir() else [path]
        for file in files:
            try:
                documents = yaml_text.load_all(file.read_bytes())
            except yaml.MarkedYAMLError as error:
                span = yaml_text.place(error, str(file))
                raise EnvironmentProblem(CRD_REFUSED.at(span, f"`{file}` is not YAML: {error.problem}")) from error
            found += [
                (file, d) for d in documents if isinstance(d, dict) and d.get("kind") == "CustomResourceDefinition"
            ]
    return found


def has_conversion(path: Path) -> bool:
    """Whether a definition in a file or folder has a conversion service. Local control planes have no services."""
    conversions = (definition["spec"].get("conversion") or {} for _, definition in read_crds([path]))
    return any("service" in ((each.get("webhook") or {}).get("clientConfig") or {}) for each in conversions)


def install_crds(rest: Rest, paths: Sequence[Path], *, timeout: timedelta = timedelta(minutes=1)) -> list[str]:
    """Apply definitions by server-side apply, without a size limit, and wait until their resources are served.

    Args:
        rest: The cluster.
        paths: Files and folders.
        timeout: How long all of them together may take to be served.

    Returns:
        The names of the definitions.

    Raises:
        EnvironmentProblem: A definition was refused or is not served in time.
    """
    definitions = read_crds(paths)
    for file, definition in definitions:
        name = definition["metadata"]["name"]
        path = f"{COLLECTION}/{name}?fieldManager={FIELD_MANAGER}&force=true"
        answer = rest.call("PATCH", path, keeping_local_conversion(rest, definition), content_type=APPLY)
        if not answer.ok:
            raise EnvironmentProblem(
                CRD_REFUSED.at(None, f"the API server refused `{name}` of `{file}`", notes=(answer.message,))
            )
    deadline = time.monotonic() + timeout.total_seconds()
    for _, definition in definitions:
        _wait_until_served(rest, definition, deadline)
    return [definition["metadata"]["name"] for _, definition in definitions]


def _wait_until_served(rest: Rest, definition: dict[str, Any], deadline: float) -> None:
    name = definition["metadata"]["name"]
    conditions: dict[str, dict[str, Any]] = {}
    while True:
        current = rest.call("GET", f"{COLLECTION}/{name}").body
        conditions = {c["type"]: c for c in (current.get("status") or {}).get("conditions") or []}
        established = conditions.get("Established", {}).get("status") == "True"
        if established and _is_discovered(rest, definition):
            return
        if time.monotonic() > deadline:
            break
        time.sleep(POLL_SECONDS)
    notes = tuple(f"{c['type']}: {c.get('message', '')}" for c in conditions.values() if c["status"] != "True")
    raise EnvironmentProblem(CRD_NOT_ESTABLISHED.at(None, f"`{name}` was accepted but is not served", notes=notes))


def _is_discovered(rest: Rest, definition: dict[str, Any]) -> bool:
    """Whether discovery has the resource. Clients need that, and it comes shortly after Established."""
    spec = definition["spec"]
    for version in spec["versions"]:
        if version.get("served"):
            answer = rest.call("GET", f"/apis/{spec['group']}/{version['name']}")
            resources = answer.body.get("resources", []) if answer.ok else []
            if not any(resource["name"] == spec["names"]["plural"] for resource in resources):
                return False
    return True
