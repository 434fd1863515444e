"""Reads the webhook configurations of a project, and adapts them to a server on this machine."""

from __future__ import annotations

import base64
import copy
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from pykb.diagnostics import Diagnostic, EnvironmentProblem, Span
from pykb.diagnostics.codes.environment import WEBHOOK_MANIFEST, WEBHOOK_UNLISTED, WEBHOOK_UNSERVED
from pykb.reading import yaml_text

MANIFEST = "config/webhook/manifests.yaml"
API_VERSION = "admissionregistration.k8s.io/v1"
COLLECTIONS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


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
            documents = list(yaml_text.documents(file.read_bytes()))
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
            notes=("the API server calls only what a webhook configuration lists",),
            help=("pykb generate", "if the class has no marker, add `+kubebuilder:webhook:path=...`"),
        )

    def unserved(self, served: Collection[str]) -> list[Diagnostic]:
        """The findings for paths in the manifest that are not served. Requests would fail."""
        return [
            WEBHOOK_UNSERVED.at(
                entry.place,
                f"the manager serves nothing at `{entry.path}`, the path of the webhook `{entry.webhook.get('name')}`",
                notes=("its requests fail, unless its failurePolicy is Ignore",),
                help=(
                    "register it where the manager is set up: `setup_<kind>_webhook(manager)`",
                    f'if its marker has a path of its own, give the builder the same path: `path="{entry.path}"`',
                ),
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
    return WEBHOOK_MANIFEST.at(span, message, help=("pykb generate",))


def host_of(url: str) -> tuple[str, int]:
    """The host and the port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 443
