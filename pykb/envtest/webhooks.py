"""A project's webhook configurations: reads them, installs them for a server on this machine, and removes them."""

from __future__ import annotations

import base64
import copy
import secrets
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from pykb._regular_file import read_bytes
from pykb.diagnostics import Diagnostic, EnvironmentProblem, Span
from pykb.diagnostics.codes.environment import (
    WEBHOOK_MANIFEST,
    WEBHOOK_NOT_IN_EFFECT,
    WEBHOOK_REFUSED,
    WEBHOOK_UNLISTED,
    WEBHOOK_UNREACHABLE,
    WEBHOOK_UNSERVED,
)
from pykb.envtest.rest import APPLY, FIELD_MANAGER, Rest
from pykb.reading import yaml_text

MANIFEST = "webhook/manifests.yaml"
"""The manifest of the webhooks, below `config/`."""
API_VERSION = "admissionregistration.k8s.io/v1"
COLLECTIONS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
GROUP = "/apis/admissionregistration.k8s.io/v1"
PROBE = "probe.webhooks.pykb.invalid"
POLL_SECONDS = 0.02
TIMEOUT = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Serving:
    """The server of the webhooks, and the authority of its certificate.

    Attributes:
        url: Scheme, host and port: ``https://127.0.0.1:9443``.
        authority: The authority's certificate, PEM.
    """

    url: str
    authority: bytes

    def client_config(self, path: str) -> dict[str, Any]:
        """The ``clientConfig`` for a path, with a URL in place of a service."""
        return {"url": f"{self.url}{path}", "caBundle": base64.b64encode(self.authority).decode("ascii")}

    @classmethod
    def at(cls, host: str, port: int, authority: bytes) -> Serving:
        """A server at a host name or an IPv4 or IPv6 address."""
        return cls(f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}", authority)


@dataclass(frozen=True, slots=True)
class Entry:
    """One webhook of a manifest."""

    configuration: dict[str, Any]
    webhook: dict[str, Any]
    place: Span

    @property
    def path(self) -> str:
        """Its path at the project's own server; empty when the manifest has a URL of another server."""
        service = (self.webhook.get("clientConfig") or {}).get("service")
        return str(service.get("path") or "/") if isinstance(service, dict) else ""


@dataclass(frozen=True, slots=True)
class WebhookManifest:
    """The webhooks of a project.

    Attributes:
        file: The path of the manifest, which need not exist.
        entries: The webhooks, in order.
    """

    file: Path
    entries: tuple[Entry, ...] = field(default=())

    @classmethod
    def read(cls, file: Path) -> WebhookManifest:
        """Read a manifest. A missing one has no entries, as in a project without webhook markers.

        Raises:
            EnvironmentProblem: The file is not YAML, or has objects of other kinds.
        """
        if not file.exists():
            return cls(file)
        try:
            documents = list(yaml_text.documents(read_bytes(file)))
        except yaml.MarkedYAMLError as error:
            span = yaml_text.place(error, str(file))
            raise EnvironmentProblem(_unusable(span, f"`{file}` is not YAML: {error.problem}")) from error
        entries: list[Entry] = []
        for document in documents:
            if document.content is not None:
                start = document.node.start_mark
                entries += _entries(document.content, document.node, Span(str(file), start.line + 1, start.column + 1))
        return cls(file, tuple(entries))

    @property
    def paths(self) -> frozenset[str]:
        """The paths in the manifest."""
        return frozenset(entry.path for entry in self.entries if entry.path)

    def unlisted(self, served: Iterable[str]) -> Diagnostic | None:
        """The finding for paths that are served and not in the manifest. The API server would never call them."""
        missing = " and ".join(f"`{path}`" for path in sorted(set(served) - self.paths))
        if not missing:
            return None
        state = "does not list that" if self.file.exists() else "does not exist"
        return WEBHOOK_UNLISTED.at(
            None,
            f"the manager serves webhooks at {missing}, and `{self.file}` {state}",
            "pykb generate",
            "if the class has no marker, add `+kubebuilder:webhook:path=...`",
            notes="the API server calls only what a webhook configuration lists",
        )

    def unserved(self, served: Collection[str]) -> list[Diagnostic]:
        """The findings for paths in the manifest that are not served. Requests would fail."""
        return [
            WEBHOOK_UNSERVED.at(
                entry.place,
                f"the manager serves nothing at `{entry.path}`, the path of the webhook `{entry.webhook.get('name')}`",
                "register it where the manager is set up: `setup_<kind>_webhook(manager)`",
                f'if its marker has a path of its own, give the builder the same path: `path="{entry.path}"`',
                notes="its requests fail, unless its failurePolicy is Ignore",
            )
            for entry in self.entries
            if entry.path and entry.path not in served
        ]

    def configurations(
        self, serving: Serving, *, prefix: str, paths: Collection[str] | None = None
    ) -> list[dict[str, Any]]:
        """The configurations for a server on this machine.

        Args:
            serving: The server.
            prefix: The prefix of their names. Two users of one control plane need different ones.
            paths: Only the webhooks at these paths. ``None`` means all of the project's own.
        """
        made: dict[int, dict[str, Any]] = {}
        for entry in self.entries:
            if not entry.path or (paths is not None and entry.path not in paths):
                continue
            whole = entry.configuration
            target = made.setdefault(
                id(whole),
                {
                    "apiVersion": API_VERSION,
                    "kind": whole["kind"],
                    "metadata": {"name": f"{prefix}{whole['metadata']['name']}"},
                    "webhooks": [],
                },
            )
            webhook = copy.deepcopy(entry.webhook)
            target["webhooks"].append({**webhook, "clientConfig": serving.client_config(entry.path)})
        return list(made.values())


def _entries(document: Any, node: yaml.Node, span: Span) -> list[Entry]:
    kind = document.get("kind") if isinstance(document, dict) else None
    version = document.get("apiVersion") if isinstance(document, dict) else None
    if kind not in COLLECTIONS or version != API_VERSION:
        found = f"`{kind}` of `{version}`" if kind else f"a {type(document).__name__} without a kind"
        raise EnvironmentProblem(
            _unusable(span, f"found {found}, expected {' or '.join(f'`{k}`' for k in COLLECTIONS)}")
        )
    metadata, webhooks = document.get("metadata"), document.get("webhooks") or []
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise EnvironmentProblem(_unusable(span, f"the `{kind}` has no `metadata.name`"))
    if not isinstance(webhooks, list) or not all(isinstance(webhook, dict) for webhook in webhooks):
        raise EnvironmentProblem(_unusable(span, f"`webhooks` of `{metadata['name']}` is not a list of webhooks"))
    places = _places(node, len(webhooks), span)
    return [Entry(document, webhook, place) for webhook, place in zip(webhooks, places, strict=True)]


def _places(node: yaml.Node, count: int, whole: Span) -> list[Span]:
    """The place of each webhook's name, or of its start. With YAML aliases, several may share a place."""
    items = _value(node, "webhooks")
    if not isinstance(items, yaml.SequenceNode) or len(items.value) != count:
        return [whole] * count
    names = [_value(item, "name") or item for item in items.value]
    return [Span(whole.path, name.start_mark.line + 1, name.start_mark.column + 1) for name in names]


def _value(node: yaml.Node, key: str) -> yaml.Node | None:
    """The value of a key. The last one counts if the key is repeated."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in reversed(pairs) if name.value == key), None)


def _unusable(span: Span | None, message: str) -> Diagnostic:
    return WEBHOOK_MANIFEST.at(span, message, "pykb generate")


def host_of(url: str) -> tuple[str, int]:
    """The host and the port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 443


def install_webhooks(rest: Rest, configurations: Iterable[dict[str, Any]]) -> list[str]:
    """Apply configurations and replace old ones with the same names. :func:`settle` waits until they are in effect.

    Returns:
        The names, each with its collection: ``mutatingwebhookconfigurations/...``.

    Raises:
        EnvironmentProblem: The server refused one.
    """
    names = []
    for configuration in configurations:
        name = f"{COLLECTIONS[configuration['kind']]}/{configuration['metadata']['name']}"
        path = f"{GROUP}/{name}?fieldManager={FIELD_MANAGER}&force=true"
        answer = rest.call("PATCH", path, configuration, content_type=APPLY)
        if not answer.ok:
            raise WEBHOOK_REFUSED.problem(f"the API server refused `{name}`", notes=answer.message)
        names.append(name)
    return names


def remove_webhooks(rest: Rest, names: Iterable[str]) -> None:
    """Delete configurations. A missing one is not an error.

    Raises:
        EnvironmentProblem: The server refused to delete one. The others are deleted anyway.
    """
    failed = []
    for name in names:
        answer = rest.call("DELETE", f"{GROUP}/{name}")
        if not answer.ok and answer.status != HTTPStatus.NOT_FOUND:
            failed.append(f"`{name}`: {answer.message}")
    if failed:
        raise WEBHOOK_REFUSED.problem("the API server did not delete webhook configurations", notes=tuple(failed))


def installed_with(rest: Rest, prefix: str, *, url: str = "") -> list[str]:
    """The names of the installed configurations with a prefix, each with its collection.

    Args:
        rest: The cluster.
        prefix: The prefix of the names.
        url: Only configurations whose webhooks are served there.
    """
    found = []
    for collection in COLLECTIONS.values():
        for item in rest.call("GET", f"{GROUP}/{collection}").body.get("items") or []:
            urls = [str(webhook["clientConfig"].get("url") or "") for webhook in item.get("webhooks") or ()]
            if item["metadata"]["name"].startswith(prefix) and all(each.startswith(url) for each in urls):
                found.append(f"{collection}/{item['metadata']['name']}")
    return found


def settle(rest: Rest, serving: Serving) -> str:
    """Wait until all earlier changes of webhook configurations are in effect.

    The API server sees changes in their order. This function adds a configuration with a webhook that fails for one
    marked object only, at a path that is not served. When a dry run of creating that object fails, all earlier changes
    are in effect. The server watches mutating and validating configurations separately, so each kind has its own.

    Args:
        rest: The cluster.
        serving: The server of the webhooks. The dry run shows whether the API server can reach it.

    Returns:
        Why the API server cannot reach the server; empty when it can.

    Raises:
        EnvironmentProblem: It took longer, or the configurations are refused.
    """
    deadline = time.monotonic() + TIMEOUT.total_seconds()
    token = secrets.token_hex(8)
    probes = {kind: _probe(kind, f"{token}-{number}", serving) for number, kind in enumerate(COLLECTIONS)}
    names: Sequence[str] = ()
    unreached = ""
    try:
        names = install_webhooks(rest, probes.values())
        for probe in probes.values():
            unreached = _noticed(rest, probe, deadline) or unreached
    finally:
        remove_webhooks(rest, names)
    return unreached


def unreachable(serving: Serving, reason: str) -> Diagnostic:
    """The finding that the API server cannot reach the webhooks, with help."""
    return WEBHOOK_UNREACHABLE.at(
        None,
        f"the API server cannot call webhooks at `{serving.url}`",
        "PYKB_WEBHOOK_HOST=<a name or an address at which the cluster reaches this machine>",
        notes=reason,
    )


def _probe(kind: str, token: str, serving: Serving) -> dict[str, Any]:
    webhook = {
        "name": PROBE,
        "clientConfig": serving.client_config(f"/{token}"),
        "rules": [
            {
                "apiGroups": ["scheduling.k8s.io"],  # a kind that few other webhooks match
                "apiVersions": ["v1"],
                "operations": ["CREATE"],
                "resources": ["priorityclasses"],
            },
        ],
        "objectSelector": {"matchLabels": {PROBE: token}},
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    }
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": f"pykb-probe-{token}"}, "webhooks": [webhook]}


def _noticed(rest: Rest, probe: dict[str, Any], deadline: float) -> str:
    labels = probe["webhooks"][0]["objectSelector"]["matchLabels"]
    metadata = {"name": "pykb-probe", "labels": labels}
    marked = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": metadata, "value": 0}
    while True:
        answer = rest.call("POST", "/apis/scheduling.k8s.io/v1/priorityclasses?dryRun=All", marked)
        if PROBE in answer.message:
            # `Post "https://...": dial tcp ...: connection refused`, unlike an answer with status 404.
            return answer.message if 'Post "' in answer.message else ""
        if not answer.ok or time.monotonic() > deadline:
            why = (
                f"a dry run of creating a PriorityClass said: {answer.message}"
                if not answer.ok
                else "the configuration has no effect yet"
            )
            raise WEBHOOK_NOT_IN_EFFECT.problem("the API server did not notice the webhook configurations", notes=why)
        time.sleep(POLL_SECONDS)
