"""The objects of the cluster that the page shows, and what it does with them."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from typing import Any
from urllib.parse import quote

from pykb.dev.page.history import MOST_OBJECTS, History
from pykb.diagnostics import EnvironmentProblem
from pykb.envtest.rest import APPLY, MERGE, Answer, Rest
from pykb.reading import mapping
from pykb.runtime.records.causes import without_secrets

_PAGE = 500
PAUSE = timedelta(seconds=1)
"""How long to wait between two lists of the objects, at least."""

_READY = ("Ready", "Available", "Complete", "Established")
MANAGER = "pykb-dev"
"""The field manager of what the page applies."""

Manifest = Mapping[str, Any]


class Cluster:
    """The cluster behind the page. Its methods block."""

    def __init__(self, connect: Callable[[], Rest]) -> None:
        self._connect = connect
        self._rest: Rest | None = None
        self._plurals: dict[tuple[str, str], tuple[str, str, bool]] = {}

    def listed(self, api_version: str, kind: str) -> list[Manifest]:
        """All objects of a kind; none if the cluster does not know it, or does not let us list it.

        Raises:
            EnvironmentProblem: The server does not answer.
        """
        if (known := self._kind(api_version, kind)) is None:
            return []
        path = f"{known[0]}/{known[1]}"
        found: list[Manifest] = []
        more = ""
        while len(found) < MOST_OBJECTS:
            answer = self._call("GET", f"{path}?limit={_PAGE}" + (f"&continue={quote(more)}" if more else ""))
            if not answer.ok:
                break
            items = [{**each, "apiVersion": api_version, "kind": kind} for each in answer.body.get("items") or ()]
            found += items
            more = (answer.body.get("metadata") or {}).get("continue") or ""
            if not more:
                break
        return found

    def get(self, identity: Mapping[str, str]) -> dict[str, Any] | None:
        """An object without secret values; ``None`` if it is not there."""
        path = self._path_of(identity)
        answer = self._call("GET", path) if path is not None else None
        return without_secrets(answer.body) if answer is not None and answer.ok else None

    def apply(self, manifest: Manifest, *, is_dry_run: bool) -> list[dict[str, str]]:
        """Apply an object on the server's side. Returns what the server refuses, by field."""
        return self._patch(identity_of(manifest), manifest, APPLY, "&force=true", is_dry_run=is_dry_run)

    def edit(self, identity: Mapping[str, str], patch: Manifest, *, is_dry_run: bool) -> list[dict[str, str]]:
        """Change an object by a merge patch. Returns what the server refuses, by field."""
        return self._patch(identity, patch, MERGE, is_dry_run=is_dry_run)

    def _patch(
        self, identity: Mapping[str, str], patch: Manifest, content_type: str, more: str = "", *, is_dry_run: bool
    ) -> list[dict[str, str]]:
        if not all(identity[key] for key in ("apiVersion", "kind", "name")):
            return [{"field": "", "message": "an object needs `apiVersion`, `kind` and `metadata.name`"}]
        path = self._path_of(identity)
        if path is None:
            message = f"the cluster has no kind `{identity['kind']}` in `{identity['apiVersion']}`"
            return [{"field": "kind", "message": message}]
        query = f"?fieldManager={MANAGER}{more}&fieldValidation=Strict" + ("&dryRun=All" if is_dry_run else "")
        answer = self._call("PATCH", path + query, patch, content_type=content_type)
        if answer.ok:
            return []
        causes = (answer.body.get("details") or {}).get("causes") or [{}]
        return [{"field": each.get("field", ""), "message": each.get("message") or answer.message} for each in causes]

    def delete(self, identity: Mapping[str, str]) -> str:
        """Delete an object in the background. Returns what the server says against it."""
        path = self._path_of(identity)
        if path is None:
            return f"the cluster has no kind `{identity.get('kind', '')}`"
        answer = self._call("DELETE", path)
        return "" if answer.ok else answer.message

    def _call(self, method: Any, path: str, body: object | None = None, **options: Any) -> Answer:
        return self._connected().call(method, path, body, **options)

    def _connected(self) -> Rest:
        if self._rest is None:
            self._rest = self._connect()
        return self._rest

    def _path_of(self, identity: Mapping[str, str]) -> str | None:
        """The path of an object. A namespaced one without a namespace is in that of the kubeconfig, as with kubectl."""
        known, name = self._kind(identity.get("apiVersion", ""), identity.get("kind", "")), identity.get("name", "")
        if known is None or name in ("", ".", ".."):
            return None
        base, plural, is_namespaced = known
        within = ""
        if is_namespaced:
            namespace = identity.get("namespace") or self._connected().namespace or "default"
            within = f"/namespaces/{quote(namespace, safe='')}"
        return f"{base}{within}/{plural}/{quote(name, safe='')}"

    def _kind(self, api_version: str, kind: str) -> tuple[str, str, bool] | None:
        """The base path and the plural of a kind, and whether it is namespaced.

        Definitions come and go, so a kind that is not known is looked up each time.
        """
        base = f"/{'apis' if '/' in api_version else 'api'}/{quote(api_version)}"
        if (api_version, kind) not in self._plurals:
            answer = self._call("GET", base)
            for each in answer.body.get("resources") or () if answer.ok else ():
                if "/" not in each["name"]:
                    self._plurals[api_version, each["kind"]] = base, each["name"], bool(each["namespaced"])
        return self._plurals.get((api_version, kind))


def identity_of(manifest: Manifest) -> dict[str, str]:
    """What names an object. A part that is missing is empty."""
    named = mapping(manifest.get("metadata"))
    return {
        **{key: str(manifest.get(key, "")) for key in ("apiVersion", "kind")},
        **{key: str(named.get(key, "")) for key in ("namespace", "name")},
    }


async def follow_objects(
    history: History, cluster: Cluster, own: Callable[[], Iterable[tuple[str, str]]], pause: timedelta = PAUSE
) -> None:
    """Show the objects of the project's kinds and of those that its records name, while somebody looks."""
    shown: dict[str, str] = {}
    while True:
        began = time.monotonic()
        if history.is_followed:
            with contextlib.suppress(EnvironmentProblem):  # it is starting, or ends
                mine = [*own()]
                others = [each for each in history.kinds if each not in mine]
                found = await asyncio.to_thread(_all, cluster, mine)
                found |= _of_project(await asyncio.to_thread(_all, cluster, others), found, history.named)
                _show(history, shown, found)
        await asyncio.sleep(max(pause.total_seconds(), 5 * (time.monotonic() - began)))


def _all(cluster: Cluster, kinds: Iterable[tuple[str, str]]) -> dict[str, Manifest]:
    found: dict[str, Manifest] = {}
    for api_version, kind in kinds:
        for each in cluster.listed(api_version, kind):
            if len(found) < MOST_OBJECTS:
                found[each["metadata"]["uid"]] = each
    return found


def _of_project(
    others: Mapping[str, Manifest], own: Mapping[str, Manifest], named: Collection[tuple[str, str, str]]
) -> dict[str, Manifest]:
    """The objects of other kinds that objects of the project own, or that records name. The rest is the cluster's."""
    owners = {uid: [each["uid"] for each in obj["metadata"].get("ownerReferences", ())] for uid, obj in others.items()}
    found = {*own}
    while more := {uid for uid, by in owners.items() if uid not in found and not found.isdisjoint(by)}:
        found |= more
    return {
        uid: obj
        for uid, obj in others.items()
        if uid in found or (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"]) in named
    }


def _show(history: History, shown: dict[str, str], found: Mapping[str, Manifest]) -> None:
    for uid in [uid for uid in shown if uid not in found]:
        del shown[uid]
        history.add("gone", {"uid": uid})
    for uid, each in found.items():
        version = each["metadata"].get("resourceVersion", "")
        if shown.get(uid) != version:
            shown[uid] = version
            history.add("object", summary(each))


def summary(obj: Manifest) -> dict[str, Any]:
    """What the page shows of an object: nothing of its data."""
    metadata, status = obj["metadata"], mapping(obj.get("status"))
    conditions = [
        {
            "type": str(each.get("type", "")),
            "status": str(each.get("status", "")),
            "reason": str(each.get("reason", "")),
            "message": str(each.get("message", ""))[:1000],
            "since": each.get("lastTransitionTime"),
        }
        for each in (status.get("conditions") or ())[:20]
        if isinstance(each, dict)
    ]
    return {
        "uid": metadata["uid"],
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "createdAt": metadata.get("creationTimestamp"),
        "deletingSince": metadata.get("deletionTimestamp"),
        "finalizers": metadata.get("finalizers", []),
        "owners": [each["uid"] for each in metadata.get("ownerReferences", ())],
        "generation": metadata.get("generation"),
        "observedGeneration": status.get("observedGeneration"),
        "conditions": conditions,
        "phase": str(status["phase"]) if isinstance(status.get("phase"), str) else "",
        "ready": _is_ready(obj, status, conditions),
        "resourceVersion": metadata.get("resourceVersion", ""),
    }


def _is_ready(obj: Manifest, status: Mapping[str, Any], conditions: list[dict[str, Any]]) -> bool | None:
    """By its conditions, or by its replicas. ``None`` if nothing says so."""
    told = {each["type"]: each["status"] == "True" for each in conditions if each["type"] in _READY}
    if told:
        return all(told.values())
    wanted = (obj.get("spec") or {}).get("replicas")
    if isinstance(wanted, int) and isinstance(status.get("replicas", 0), int):
        return (status.get("readyReplicas") or 0) >= wanted
    return None
