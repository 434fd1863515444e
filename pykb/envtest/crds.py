"""Applies CustomResourceDefinitions, and sets up their conversion at a server on this machine.

Applying a definition with a conversion service would merge it with the local address, and the API server refuses two
addresses: see :func:`keeping_local_conversion`.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import yaml

from pykb._regular_file import read_bytes
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.environment import (
    CONVERSION_WITHOUT_CRD,
    CRD_NOT_ESTABLISHED,
    CRD_REFUSED,
    DELETE_STUCK,
    WEBHOOK_NOT_IN_EFFECT,
)
from pykb.envtest.components import LOOPBACK
from pykb.envtest.rest import APPLY, FIELD_MANAGER, MERGE, Rest
from pykb.envtest.webhooks import POLL_SECONDS, TIMEOUT, Serving, host_of
from pykb.meta.gvk import CONVERT, GroupKind
from pykb.reading import yaml_text

COLLECTION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONVERSION_MANAGER = "pykb-conversion"
"""Owns ``spec.conversion``, so a later server-side apply of a definition without conversion keeps it."""
DELETION_NUDGED = "pykb.dev/deletion-nudged"
"""The annotation whose change makes an API server delete a definition that it has given up on.

The API server (1.36.1) fails to list the objects of a kind whose definition was changed a moment ago
("storage is (re)initializing"). It then does nothing until the definition changes again.
"""
NUDGE_AFTER = 5.0
"""Seconds after which a deletion is nudged. Without objects, it takes half a second."""
JSON_PATCH = "application/json-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
NONE: dict[str, Any] = {"strategy": "None"}


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
                documents = yaml_text.load_all(read_bytes(file, most=yaml_text.LONGEST))
            except yaml.MarkedYAMLError as error:
                span = yaml_text.place(error, str(file))
                raise CRD_REFUSED.problem(f"`{file}` is not YAML: {error.problem}", span=span) from error
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

    A definition that is being deleted is made again when it is gone.

    Args:
        rest: The cluster.
        paths: Files and folders.
        timeout: How long all of them together may take to be served.

    Returns:
        The names of the definitions.

    Raises:
        EnvironmentProblem: A definition was refused, or is not gone or served in time.
    """
    definitions = read_crds(paths)
    deadline = time.monotonic() + timeout.total_seconds()
    for file, definition in definitions:
        name = definition["metadata"]["name"]
        wait_until_deleted(rest, name, deadline)
        path = f"{COLLECTION}/{name}?fieldManager={FIELD_MANAGER}&force=true"
        answer = rest.call("PATCH", path, keeping_local_conversion(rest, definition), content_type=APPLY)
        if not answer.ok:
            raise CRD_REFUSED.problem(f"the API server refused `{name}` of `{file}`", notes=answer.message)
    for _, definition in definitions:
        _wait_until_served(rest, definition, deadline)
    return [definition["metadata"]["name"] for _, definition in definitions]


def wait_until_deleted(rest: Rest, name: str, deadline: float) -> None:
    """Wait while a definition is being deleted: a change of it would be lost with it.

    An API server that has given up the deletion is made to try again.

    Args:
        rest: The cluster.
        name: The definition's name.
        deadline: The time of ``time.monotonic`` until which to wait.

    Raises:
        EnvironmentProblem: The definition is not gone in time.
    """
    path = f"{COLLECTION}/{name}"

    def is_going() -> bool:
        return "deletionTimestamp" in (rest.call("GET", path).body.get("metadata") or {})

    def nudge(mark: str) -> None:
        rest.call("PATCH", path, {"metadata": {"annotations": {DELETION_NUDGED: mark}}}, content_type=MERGE)

    if not is_going():
        return
    with nudging(nudge):
        while is_going():
            if time.monotonic() > deadline:
                raise DELETE_STUCK.problem(
                    f"`{name}` is still being deleted",
                    f"kubectl get {name} --all-namespaces     # the objects whose finalizers keep it",
                )
            time.sleep(POLL_SECONDS)


@contextlib.contextmanager
def nudging(nudge: Callable[[str], object]) -> Iterator[None]:
    """Meanwhile, make the API server try again to delete definitions whose deletion it may have given up.

    Args:
        nudge: Sets :data:`DELETION_NUDGED` of those that are being deleted. It gets the value, and runs in a thread.
    """
    is_over = threading.Event()

    def nudge_again() -> None:
        while not is_over.wait(NUDGE_AFTER):
            with contextlib.suppress(EnvironmentProblem):  # whoever waits for the deletion finds out as well
                nudge(f"{time.monotonic():.0f}")

    nudger = threading.Thread(target=nudge_again, daemon=True)
    nudger.start()
    try:
        yield
    finally:
        is_over.set()
        nudger.join()


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
    raise CRD_NOT_ESTABLISHED.problem(f"`{name}` was accepted but is not served", notes=notes)


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


@dataclass(frozen=True, slots=True)
class Converted:
    """A definition whose conversion was set up here.

    Attributes:
        name: The definition's name.
        url: The URL of the conversion webhook.
        before: Its ``spec.conversion`` before.
        is_renewed: Whether it was already converted on this machine.
    """

    name: str
    url: str
    before: dict[str, Any]
    is_renewed: bool = False


def install_conversions(rest: Rest, kinds: Iterable[GroupKind], serving: Serving) -> list[Converted]:
    """Make the API server convert kinds at a server on this machine.

    Raises:
        EnvironmentProblem: A kind has no definition, or the API server refuses the change.
    """
    return [_install(rest, definition, serving) for definition in _definitions(rest, kinds)]


def remove_conversions(rest: Rest, converted: Iterable[Converted]) -> None:
    """Restore the old conversion, unless somebody has changed it since.

    An old address on a local port without a listener is not restored: a killed session left it.
    """
    for each in converted:
        back = NONE if _is_dead(each.before) else each.before
        patch = [
            {"op": "test", "path": "/spec/conversion/webhook/clientConfig/url", "value": each.url},
            {"op": "replace", "path": "/spec/conversion", "value": back},
        ]
        path = f"{COLLECTION}/{each.name}?fieldManager={CONVERSION_MANAGER}"
        rest.call("PATCH", path, patch, content_type=JSON_PATCH)


def keeping_local_conversion(rest: Rest, definition: dict[str, Any]) -> dict[str, Any]:
    """Prepare a definition for server-side apply, so that a kind converted on this machine stays converted there.

    Removes what a killed session left. Also removes a restored conversion from a definition that no longer has one:
    server-side apply would remove only the part that it owns, and the API server would refuse the rest.
    """
    name = definition["metadata"]["name"]
    live = rest.call("GET", f"{COLLECTION}/{name}").body
    current = (live.get("spec") or {}).get("conversion") or NONE
    wanted = (definition.get("spec") or {}).get("conversion")
    if _is_local(current) and not _is_dead(current):
        return {**definition, "spec": {**definition["spec"], "conversion": current}}
    managers = {entry.get("manager") for entry in (live.get("metadata") or {}).get("managedFields") or ()}
    if _is_local(current) or (current != NONE and not wanted and CONVERSION_MANAGER in managers):
        patch = [{"op": "replace", "path": "/spec/conversion", "value": NONE}]
        rest.call("PATCH", f"{COLLECTION}/{name}?fieldManager={CONVERSION_MANAGER}", patch, content_type=JSON_PATCH)
    return definition


def clear_conversions(rest: Rest, *, but: Iterable[Converted]) -> list[str]:
    """Set the strategy ``None`` for kinds whose conversion is at a local port without a listener.

    Args:
        rest: The cluster, which must run on this machine.
        but: Definitions to skip, since their server has not started yet.

    Returns:
        The names of those definitions.
    """
    cleared, ours = [], {each.url for each in but}
    for item in rest.call("GET", COLLECTION).body.get("items") or []:
        name, conversion = item["metadata"]["name"], item["spec"].get("conversion") or NONE
        url = _url(conversion)
        if url not in ours and _is_dead(conversion):
            remove_conversions(rest, [Converted(name, url, NONE)])
            cleared.append(name)
    return cleared


def settle_conversions(rest: Rest, converted: Iterable[Converted]) -> None:
    """Wait until the API server uses the current definitions.

    The API server serves a kind from a cached copy of its definition. This function adds a printer column to the
    definition. When a list shows the column, the copy is new and so is its conversion. Then the column is removed.

    Raises:
        EnvironmentProblem: It took longer.
    """
    deadline = time.monotonic() + TIMEOUT.total_seconds()
    for each in converted:
        answer = rest.call("GET", f"{COLLECTION}/{each.name}")
        if answer.ok:
            _settle(rest, answer.body, deadline)


def _definitions(rest: Rest, kinds: Iterable[GroupKind]) -> list[dict[str, Any]]:
    items = rest.call("GET", COLLECTION).body.get("items") or []
    by_kind = {GroupKind(item["spec"]["group"], item["spec"]["names"]["kind"]): item for item in items}
    wanted = sorted(kinds, key=str)
    for kind in wanted:
        if kind not in by_kind:
            raise CONVERSION_WITHOUT_CRD.problem(
                f"`{kind}` has a converter, but its CustomResourceDefinition is not installed",
                "in a test, use the fixture `crds`",
                "pykb generate",
            )
    return [by_kind[kind] for kind in wanted]


def _install(rest: Rest, definition: dict[str, Any], serving: Serving) -> Converted:
    name = definition["metadata"]["name"]
    before = definition["spec"].get("conversion") or NONE
    config = {**serving.client_config(CONVERT), "service": None}  # a merge patch keeps an existing service otherwise
    is_renewed = _url(before) == config["url"]
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": config, "conversionReviewVersions": ["v1"]},
    }
    path = f"{COLLECTION}/{name}?fieldManager={CONVERSION_MANAGER}"
    answer = rest.call("PATCH", path, {"spec": {"conversion": conversion}}, content_type=MERGE)
    if not answer.ok:
        raise CRD_REFUSED.problem(f"the API server refused the conversion of `{name}`", notes=answer.message)
    return Converted(name, config["url"], NONE if is_renewed else before, is_renewed)


def _is_local(conversion: dict[str, Any]) -> bool:
    """Whether a kind is converted at a local port."""
    return host_of(_url(conversion))[0] == LOOPBACK


def _is_dead(conversion: dict[str, Any]) -> bool:
    """Whether nobody listens at that port."""
    if not _is_local(conversion):
        return False
    with contextlib.suppress(OSError), socket.create_connection(host_of(_url(conversion)), timeout=1):
        return False
    return True


def _url(conversion: dict[str, Any]) -> str:
    return str(((conversion.get("webhook") or {}).get("clientConfig") or {}).get("url") or "")


def _settle(rest: Rest, definition: dict[str, Any], deadline: float) -> None:
    name, spec = definition["metadata"]["name"], definition["spec"]
    index, version = next((i, v) for i, v in enumerate(spec["versions"]) if v.get("served"))
    column = {"name": f"pykb-{secrets.token_hex(8)}", "type": "string", "jsonPath": ".metadata.name"}
    columns = version.get("additionalPrinterColumns")
    place = f"/spec/versions/{index}/additionalPrinterColumns"
    path = f"{COLLECTION}/{name}?fieldManager={CONVERSION_MANAGER}"
    more = [{"op": "add", "path": place, "value": [*(columns or ()), column]}]
    answer = rest.call("PATCH", path, more, content_type=JSON_PATCH)
    try:
        while not _shows(rest, spec, version["name"], column["name"]):
            if not answer.ok or time.monotonic() > deadline:
                raise WEBHOOK_NOT_IN_EFFECT.problem(
                    f"the API server did not notice changes of `{name}`", notes=answer.message
                )
            time.sleep(POLL_SECONDS)
    finally:
        # Only the added column: somebody may have installed the definition again in the meantime.
        at = len(columns or ())
        less: list[dict[str, Any]] = [{"op": "test", "path": f"{place}/{at}/name", "value": column["name"]}]
        less.append({"op": "remove", "path": f"{place}/{at}" if columns else place})
        rest.call("PATCH", path, less, content_type=JSON_PATCH)


def _shows(rest: Rest, spec: dict[str, Any], version: str, column: str) -> bool:
    path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1&includeObject=None"
    answer = rest.call("GET", path, accept=TABLE)
    if "conversion webhook" in answer.message:
        return True  # the webhook was called and failed
    return any(each.get("name") == column for each in answer.body.get("columnDefinitions") or ())
