"""The ClusterServiceVersion of a bundle.

Source: https://olm.operatorframework.io/docs/concepts/crds/clusterserviceversion/
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any

from pykb.deployment.manifests import Object
from pykb.diagnostics import Diagnostics
from pykb.diagnostics.codes.plugin import BUNDLE_LEFT_OUT
from pykb.plugins.olm_v1._bundle import WEBHOOKS, Bundle
from pykb.plugins.rendered import container_of, pod_of

_IMAGE = "RELATED_IMAGE_"
_TAKEN = frozenset(
    {
        *("admissionReviewVersions", "failurePolicy", "matchPolicy", "objectSelector", "reinvocationPolicy", "rules"),
        *("sideEffects", "timeoutSeconds"),
    }
)
"""The fields of a webhook that a definition has as well."""
_REPLACED = frozenset({"clientConfig", "name"})
_MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")


def cluster_service_version(
    name: str, base: Mapping[str, Any], bundle: Bundle, samples: Sequence[Object], found: Diagnostics
) -> Object:
    """The whole object.

    Args:
        name: The name of the package.
        base: The part that belongs to the user. Its fields win.
        bundle: The objects of the project.
        samples: The samples of config/samples.
        found: Takes what a bundle cannot have.
    """
    metadata, spec = dict(base.get("metadata") or {}), dict(base.get("spec") or {})
    owned = list(_owned(bundle))
    known = {(each["name"].partition(".")[2], each["version"], each["kind"]) for each in owned}
    examples = [each for each in samples if _identity(each) in known]
    image = container_of(bundle.manager)["image"]
    annotations = {
        "alm-examples": json.dumps(examples, indent=2, sort_keys=True),
        "containerImage": image,
        **(metadata.get("annotations") or {}),
    }
    made = {
        "apiservicedefinitions": {},
        "customresourcedefinitions": {"owned": owned},
        "install": {"spec": _strategy(bundle), "strategy": "deployment"},
        "installModes": [{"supported": mode in _supported(bundle), "type": mode} for mode in _MODES],
        "relatedImages": list(_images(bundle)),
        "webhookdefinitions": list(_webhooks(bundle, found)),
    }
    for each in bundle.left_out:
        message = f"the bundle does not have the {each['kind']} `{each['metadata']['name']}`: OLM does not install it"
        found.add(BUNDLE_LEFT_OUT.at(None, message))
    version = str(spec.get("version") or "0.0.1")
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {**metadata, "annotations": annotations, "name": f"{name}.v{version}"},
        "spec": {key: value for key, value in {**made, **spec, "version": version}.items() if value != []},
    }


def _identity(obj: Object) -> tuple[str, str, str]:
    group, _, version = str(obj.get("apiVersion")).rpartition("/")
    return group, version, str(obj.get("kind"))


def _owned(bundle: Bundle) -> Iterator[Object]:
    """The kinds, in each version that is served."""
    for crd in bundle.crds:
        kind = crd["spec"]["names"]["kind"]
        for version in crd["spec"]["versions"]:
            if version["served"]:
                schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
                title = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", kind)
                yield {
                    "description": schema.get("description") or title,
                    "displayName": title,
                    "kind": kind,
                    "name": crd["metadata"]["name"],
                    "version": version["name"],
                }


def _strategy(bundle: Bundle) -> Object:
    manager = bundle.manager
    deployment = {
        "label": manager["metadata"].get("labels") or {},
        "name": manager["metadata"]["name"],
        "spec": manager["spec"],
    }
    rules = {
        field: [{"rules": deepcopy(rules), "serviceAccountName": bundle.account}]
        for field, rules in bundle.permissions.items()
        if rules
    }
    return {**rules, "deployments": [deployment]}


def _supported(bundle: Bundle) -> frozenset[str]:
    """A manager of one namespace watches its own. Conversion webhooks serve the whole cluster."""
    variables = {each["name"] for each in container_of(bundle.manager).get("env") or ()}
    if "WATCH_NAMESPACE" in variables and not bundle.converted:
        return frozenset({"OwnNamespace"})
    return frozenset({"AllNamespaces"})


def _images(bundle: Bundle) -> Iterator[Object]:
    """The images that have to be copied for a cluster without a network."""
    for container in pod_of(bundle.manager)["containers"]:
        yield {"image": container["image"], "name": container["name"]}
        for each in container.get("env") or ():
            if each["name"].startswith(_IMAGE) and each.get("value"):
                name = each["name"].removeprefix(_IMAGE).lower().replace("_", "-")
                yield {"image": each["value"], "name": name}


def _webhooks(bundle: Bundle, found: Diagnostics) -> Iterator[Object]:
    for configuration in bundle.webhooks:
        for webhook in configuration["webhooks"]:
            lost = sorted(set(webhook) - _TAKEN - _REPLACED)
            if lost:
                fields = ", ".join(f"`{each}`" for each in lost)
                message = f"the webhook `{webhook['name']}` of the bundle does not have {fields}"
                found.add(BUNDLE_LEFT_OUT.at(None, message))
            yield {
                **{key: deepcopy(webhook[key]) for key in _TAKEN if key in webhook},
                **_place(bundle),
                "generateName": webhook["name"],
                "type": WEBHOOKS[configuration["kind"]],
                "webhookPath": webhook["clientConfig"]["service"].get("path") or "/",
            }
    for crd in bundle.converted:
        webhook = crd["spec"]["conversion"]["webhook"]
        yield {
            **_place(bundle),
            "admissionReviewVersions": webhook["conversionReviewVersions"],
            "conversionCRDs": [crd["metadata"]["name"]],
            "generateName": f"c{crd['spec']['names']['singular']}.kb.io",
            "sideEffects": "None",
            "type": "ConversionWebhook",
            "webhookPath": webhook["clientConfig"]["service"].get("path") or "/convert",
        }


def _place(bundle: Bundle) -> Object:
    """Where OLM reaches the webhooks: its Service listens on 443 and forwards to the manager."""
    return {"containerPort": 443, "deploymentName": bundle.manager["metadata"]["name"], "targetPort": 9443}
