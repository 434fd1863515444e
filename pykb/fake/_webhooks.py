"""Calls admission webhooks as the API server does, without a network.

Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/. No webhook is
called again because of a later one. Unless somebody evaluates them, ``matchConditions`` count as met.
"""

from __future__ import annotations

import base64
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from pykb.client.errors import ApiError
from pykb.client.selectors import LabelSelector
from pykb.fake._http import refuse
from pykb.fake._merge import json_patch
from pykb.fake._resources import Request, Resource, Resources
from pykb.fake._storage import Storage
from pykb.fake._versions import Versions
from pykb.meta.gvk import rule_concerns

Call = Callable[[str, bytes], Awaitable[bytes]]
"""Posts a review to a path of the webhook server. An error means that the call has failed."""

ConditionCheck = Callable[[str, Mapping[str, Any]], bool]
"""Evaluates a condition with its variables. A ``ValueError`` has the message of an evaluation that fails."""

_MUTATING, _VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
_USER = {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]}
_NAMESPACE = ("", "namespaces")
_NAME_LABEL = "kubernetes.io/metadata.name"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client wants to do.

    Attributes:
        operation: CREATE, UPDATE or DELETE.
        request: The request.
        new: The object to store; ``None`` for DELETE.
        old: The stored object; ``None`` for CREATE.
    """

    operation: str
    request: Request
    new: dict[str, Any] | None
    old: dict[str, Any] | None


class Webhooks:
    """The webhooks of a cluster. At first there are none."""

    def __init__(self, resources: Resources, storage: Storage, versions: Versions) -> None:
        self.warnings: list[str] = []
        """The warnings of all webhooks so far."""
        self.remade: Counter[str] = Counter()
        """How often a webhook changed the spec in an update that did not, by path."""
        self._resources = resources
        self._storage = storage
        self._versions = versions
        self._hooks: dict[str, list[Mapping[str, Any]]] = {}
        self._call: Call | None = None
        self._check: ConditionCheck | None = None

    def use(self, configurations: Iterable[Mapping[str, Any]], call: Call, check: ConditionCheck | None = None) -> None:
        """Call the webhooks of these configurations in place of all before."""
        self._call, self._check = call, check
        self._hooks = {_MUTATING: [], _VALIDATING: []}
        for configuration in sorted(configurations, key=lambda each: str(each["metadata"]["name"])):
            self._hooks[configuration["kind"]] += configuration.get("webhooks") or ()

    def concern(self, asked: Asked) -> bool:
        """Whether there are webhooks for a request."""
        return any(True for kind in self._hooks for _ in self._matching(kind, asked))

    async def mutate(self, asked: Asked) -> dict[str, Any] | None:
        """The new object after all mutating webhooks.

        Raises:
            ApiError: A webhook refuses the request, or fails and must not.
        """
        for hook, resource in self._matching(_MUTATING, asked):
            response = await self._ask(hook, resource, asked)
            if asked.new is not None and response.get("patch"):
                changes = orjson.loads(base64.b64decode(response["patch"]))
                changed = json_patch(self._versions.read(resource, asked.new), changes)
                before, asked = asked, replace(asked, new=self._versions.read(asked.request.resource, changed))
                if before.old is not None and _spec(before.old) == _spec(before.new) != _spec(asked.new):
                    self.remade[hook["clientConfig"]["service"].get("path") or "/"] += 1
        return asked.new

    async def validate(self, asked: Asked) -> None:
        """Ask all validating webhooks.

        Raises:
            ApiError: A webhook refuses the request, or fails and must not.
        """
        for hook, resource in self._matching(_VALIDATING, asked):
            await self._ask(hook, resource, asked)

    def _matching(self, kind: str, asked: Asked) -> Iterator[tuple[Mapping[str, Any], Resource]]:
        """The webhooks for a request, each with the resource in the version that it expects."""
        for hook in self._hooks.get(kind, ()):
            if "service" not in (hook.get("clientConfig") or {}):
                continue  # a server that is not the project's
            others = () if hook.get("matchPolicy") == "Exact" else self._resources.versions_of(asked.request.resource)
            for resource in (asked.request.resource, *others):
                rules = hook.get("rules") or ()
                if any(_is_ruled(rule, asked, resource) for rule in rules) and self._is_selected(hook, asked):
                    yield hook, resource
                    break

    def _is_selected(self, hook: Mapping[str, Any], asked: Asked) -> bool:
        objects = [each for each in (asked.new, asked.old) if each is not None]
        by_object = LabelSelector.from_wire(hook.get("objectSelector") or {})
        if not any(by_object.matches(each["metadata"].get("labels")) for each in objects):
            return False
        name = asked.request.route.namespace
        if not name:
            return True
        namespace = self._storage.get(_NAMESPACE, ("", name)) or {"metadata": {}}
        labels = {_NAME_LABEL: name, **(namespace["metadata"].get("labels") or {})}
        return LabelSelector.from_wire(hook.get("namespaceSelector") or {}).matches(labels)

    async def _ask(self, hook: Mapping[str, Any], resource: Resource, asked: Asked) -> Mapping[str, Any]:
        if self._call is None or not self._is_met(hook, resource, asked):
            return {}
        path = hook["clientConfig"]["service"].get("path") or "/"
        try:
            answer = await self._call(path, orjson.dumps(self._review(resource, asked)))
            response: dict[str, Any] = orjson.loads(answer)["response"]
        except ApiError:
            raise
        except Exception as error:
            if hook.get("failurePolicy") == "Ignore":
                return {}
            message = f'Internal error occurred: failed calling webhook "{hook["name"]}": {error}'
            raise refuse(500, "InternalError", message) from error
        self.warnings += response.get("warnings") or ()
        if not response.get("allowed"):
            raise _denied(hook["name"], response.get("status") or {})
        return response

    def _is_met(self, hook: Mapping[str, Any], resource: Resource, asked: Asked) -> bool:
        """Whether the conditions of a webhook are met. One that is not decides, even if others fail.

        Raises:
            ApiError: One fails, and the webhook must not.
        """
        conditions = hook.get("matchConditions") or ()
        if self._check is None or not conditions:
            return True
        request = self._review(resource, asked)["request"]
        names = {"object": request.pop("object"), "oldObject": request.pop("oldObject")}
        names["request"] = {name: value for name, value in request.items() if value != ""}
        errors = []
        for condition in conditions:
            try:
                if not self._check(condition["expression"], names):
                    return False
            except ValueError as error:
                errors.append(str(error))
        if errors and hook.get("failurePolicy") != "Ignore":
            what = f"{asked.request.resource.plural}.{asked.request.resource.gvk.group}".rstrip(".")
            message = f'{what} "{request.get("name", "")}" is forbidden: {", ".join(errors)}'
            raise refuse(403, "Forbidden", message)
        return not errors

    def _review(self, resource: Resource, asked: Asked) -> dict[str, Any]:
        def shown(obj: dict[str, Any] | None) -> dict[str, Any] | None:
            return None if obj is None else self._versions.read(resource, obj)

        kinds = {"kind": _kind(resource), "requestKind": _kind(asked.request.resource)}
        resources = {"resource": _plural(resource), "requestResource": _plural(asked.request.resource)}
        obj = asked.new or asked.old or {"metadata": {}}
        request = {
            "uid": str(uuid.uuid4()),
            **kinds,
            **resources,
            "subResource": asked.request.route.subresource,
            "requestSubResource": asked.request.route.subresource,
            "name": asked.request.route.name or obj["metadata"].get("name", ""),
            "namespace": asked.request.route.namespace,
            "operation": asked.operation,
            "userInfo": _USER,
            "object": shown(asked.new),
            "oldObject": shown(asked.old),
            "dryRun": asked.request.is_dry_run,
        }
        request = {name: value for name, value in request.items() if value != ""}  # as the API server leaves them out
        return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}


def _spec(obj: Mapping[str, Any] | None) -> Any:
    return (obj or {}).get("spec")


def _is_ruled(rule: Mapping[str, Any], asked: Asked, resource: Resource) -> bool:
    return (
        _has(rule.get("operations"), asked.operation)
        and _has(rule.get("apiVersions"), resource.gvk.version)
        and _has([rule.get("scope") or "*"], "Namespaced" if resource.namespaced else "Cluster")
        and rule_concerns(rule, resource.gvk.group, resource.plural, asked.request.route.subresource)
    )


def _has(values: Iterable[str] | None, value: str) -> bool:
    return any(each in ("*", value) for each in values or ())


def _kind(resource: Resource) -> dict[str, str]:
    return {"group": resource.gvk.group, "version": resource.gvk.version, "kind": resource.gvk.kind}


def _plural(resource: Resource) -> dict[str, str]:
    return {"group": resource.gvk.group, "version": resource.gvk.version, "resource": resource.plural}


def _denied(name: str, status: Mapping[str, Any]) -> ApiError:
    denied = f'admission webhook "{name}" denied the request'
    why = status.get("message") or status.get("reason")
    code = max(int(status.get("code") or 0), 400)
    message = f"{denied}: {why}" if why else f"{denied} without explanation"
    return refuse(code, status.get("reason") or "", message, status.get("details"))
