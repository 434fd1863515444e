"""The webhook configurations of a project, as its manifest has them, and as a server on this machine needs them."""

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
from pykb.diagnostics.codes.local_webhooks import WEBHOOK_MANIFEST, WEBHOOK_UNLISTED, WEBHOOK_UNSERVED
from pykb.reading import yaml_text

MANIFEST = "config/webhook/manifests.yaml"
API_VERSION = "admissionregistration.k8s.io/v1"
COLLECTIONS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}


@dataclass(frozen=True, slots=True)
class Serving:
    """Where webhooks are served, and by which authority's certificate.

    Attributes:
        url: Scheme, host and port: ``https://127.0.0.1:9443``.
        authority: The authority's certificate, PEM.
    """

    url: str
    authority: bytes

    def client_config(self, path: str) -> dict[str, Any]:
        """How the API server calls a path, in the place of a service."""
        return {"url": f"{self.url}{path}", "caBundle": base64.b64encode(self.authority).decode("ascii")}

    @classmethod
    def at(cls, host: str, port: int, authority: bytes) -> Serving:
        """Serving at a host, which may be an address of either family."""
        return cls(f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}", authority)


@dataclass(frozen=True, slots=True)
class Entry:
    """One webhook of a manifest."""

    configuration: dict[str, Any]
    webhook: dict[str, Any]
    place: Span

    @property
    def path(self) -> str:
        """Its path at the project's own server; empty where the manifest names a URL of somebody else's."""
        service = (self.webhook.get("clientConfig") or {}).get("service")
        return str(service.get("path") or "/") if isinstance(service, dict) else ""


@dataclass(frozen=True, slots=True)
class WebhookManifest:
    """The webhooks of a project.

    Attributes:
        file: Where they are; it need not exist.
        entries: The webhooks, in order.
    """

    file: Path
    entries: tuple[Entry, ...] = field(default=())

    @classmethod
    def read(cls, file: Path) -> WebhookManifest:
        """Read a manifest; one that does not exist has no entries, as a project without webhook markers.

        Raises:
            EnvironmentProblem: It is no YAML, or has something else in it.
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
        """The paths that it lists."""
        return frozenset(entry.path for entry in self.entries if entry.path)

    def unlisted(self, served: Iterable[str]) -> Diagnostic | None:
        """That something is served and not listed, so that the API server would never call it."""
        missing = " and ".join(f"`{path}`" for path in sorted(set(served) - self.paths))
        if not missing:
            return None
        state = "does not list that" if self.file.exists() else "does not exist"
        return WEBHOOK_UNLISTED.at(
            None,
            f"the manager serves webhooks at {missing}, and `{self.file}` {state}",
            notes=("the API server calls only what a webhook configuration lists",),
            help=("pykb generate", "give the class a `+kubebuilder:webhook:path=...` marker, if it has none"),
        )

    def unserved(self, served: Collection[str]) -> list[Diagnostic]:
        """What is listed and not served, so that requests would fail."""
        return [
            WEBHOOK_UNSERVED.at(
                entry.place,
                f"nothing is served at `{entry.path}`, the path of the webhook `{entry.webhook.get('name')}`",
                notes=("requests that it would judge fail, unless its failurePolicy is Ignore",),
                help=(
                    "register it where the manager is put together: `setup_<kind>_webhook(manager)`",
                    f'if the path of its marker is its own, give it to the builder, too: `path="{entry.path}"`',
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
            prefix: What the names begin with; two users of one control plane need two.
            paths: Only the webhooks at these paths; all of the project's own when ``None``.
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
        raise EnvironmentProblem(_unusable(span, f"`webhooks` of `{metadata['name']}` is no list of webhooks"))
    places = _places(node, len(webhooks), span)
    return [Entry(document, webhook, place) for webhook, place in zip(webhooks, places, strict=True)]


def _places(node: yaml.Node, count: int, whole: Span) -> list[Span]:
    """Where each webhook says its name, else where it begins; all in one place where aliases put them together."""
    items = _value(node, "webhooks")
    if not isinstance(items, yaml.SequenceNode) or len(items.value) != count:
        return [whole] * count
    names = [_value(item, "name") or item for item in items.value]
    return [Span(whole.path, name.start_mark.line + 1, name.start_mark.column + 1) for name in names]


def _value(node: yaml.Node, key: str) -> yaml.Node | None:
    """What a key has; of two that are alike the last one counts."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((value for name, value in reversed(pairs) if name.value == key), None)


def _unusable(span: Span | None, message: str) -> Diagnostic:
    return WEBHOOK_MANIFEST.at(span, message, help=("pykb generate",))


def host_of(url: str) -> tuple[str, int]:
    """The host and the port of a URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or 443
