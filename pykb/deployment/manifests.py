"""Renders what is applied: the operator with its image, or its CRDs."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import yaml

from pykb.deployment import IMAGE
from pykb.deployment.cluster import program_folders
from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.cli import IMAGE_NAME
from pykb.diagnostics.codes.environment import KUSTOMIZATION
from pykb.meta.names import is_image
from pykb.project.settings import config_path
from pykb.reading import yaml_text
from pykb.tools.kubectl import build_kustomization

Object = dict[str, Any]

CRD = "CustomResourceDefinition"
WEBHOOK_KINDS = frozenset({"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"})
"""The kinds that make the API server call webhooks."""
POLICY_VERSION = "admissionregistration.k8s.io/v1"
POLICY_KINDS = frozenset({"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"})
"""The kinds that limit what is written. kustomize does not know that they have no namespace."""
INJECTED_CA = "cert-manager.io/inject-ca-from"
"""The annotation by which cert-manager sets a caBundle."""
_IMAGE_LINE = re.compile(rf"^( *(?:- )?image: ){re.escape(IMAGE)}$", re.MULTILINE)


def render_operator(root: Path, image: str) -> str:
    """Render config/default with an image. No file is changed.

    Raises:
        EnvironmentProblem: The image has no valid name, or config/default cannot be rendered.
    """
    if not is_image(image):
        raise IMAGE_NAME.problem(
            f"`{image}` is not the name of an image", "--image registry.example.com/operator:v1.0.0"
        )
    return _IMAGE_LINE.sub(lambda found: f"{found[1]}{image}", _render(root, "default"))


def render_crds(root: Path) -> list[Object]:
    """Render config/crd. CRDs with a conversion webhook are as :func:`as_deployed`.

    Raises:
        EnvironmentProblem: A folder cannot be rendered.
    """
    objects = objects_of(_render(root, "crd"))
    crds = of_kind(objects, CRD)
    return as_deployed(root, names_of(crds)) if any(map(is_converted, crds)) else objects


def render_samples(root: Path) -> list[Object]:
    """Render config/samples. Without it, or if it cannot be rendered, there are no samples."""
    folder = config_path(root, "samples")
    try:
        return objects_of(_render(root, "samples")) if (folder / "kustomization.yaml").is_file() else []
    except EnvironmentProblem:
        return []


def as_deployed(root: Path, names: Collection[str]) -> list[Object]:
    """The CRDs of these names in config/default.

    Only there, a conversion webhook refers to the manager's Service by its full name. By another one, the API server
    could no longer reach the deployed manager, which other users of the cluster need.

    Raises:
        EnvironmentProblem: config/default cannot be rendered.
    """
    crds = of_kind(objects_of(_render(root, "default")), CRD)
    return [each for each in crds if each["metadata"]["name"] in names]


def _render(root: Path, name: str) -> str:
    return build_kustomization(config_path(root, name), root=root, folders=program_folders())


def objects_of(text: str) -> list[Object]:
    """The objects in rendered manifests, in order.

    Raises:
        EnvironmentProblem: The text cannot be read.
    """
    try:
        found: list[Object] = [each for each in yaml_text.load_all(text) if each]
    except yaml.MarkedYAMLError as error:
        raise KUSTOMIZATION.problem(
            f"what kustomize rendered {yaml_text.verdict(error)}: {yaml_text.reason(error)}"
        ) from error
    for each in found:
        if each.get("kind") in POLICY_KINDS:
            (each.get("metadata") or {}).pop("namespace", None)
    return found


def of_kind(objects: Iterable[Object], kind: str) -> list[Object]:
    """The objects of a kind."""
    return [each for each in objects if each.get("kind") == kind]


def installer(operator: str) -> tuple[str, list[str]]:
    """The text of a file for ``kubectl apply``, and what the cluster needs for it."""
    objects = objects_of(operator)
    notes = []
    if any(map(is_of_cert_manager, objects)):
        notes.append("Install cert-manager in the cluster first. Without it, the webhooks reject every object.")
    if any(each["kind"] in POLICY_KINDS for each in objects):
        notes.append("The cluster needs Kubernetes 1.30. Before, nothing limits what the manager's account may patch.")
    return "".join(f"# {note}\n" for note in notes) + operator, notes


def is_of_cert_manager(obj: Object) -> bool:
    """Whether cert-manager defines the kind of an object."""
    return str(obj["apiVersion"]).startswith("cert-manager.io/")


def is_converted(crd: Object) -> bool:
    """Whether a webhook converts between the versions of a CRD."""
    return (crd["spec"].get("conversion") or {}).get("strategy") == "Webhook"


def title_of(obj: Object) -> str:
    """The name of an object for people, such as `Deployment a-system/a`."""
    metadata = obj.get("metadata") or {}
    namespace = metadata.get("namespace")
    return f"{obj.get('kind')} {f'{namespace}/' if namespace else ''}{metadata.get('name')}"


def names_of(objects: Iterable[Object]) -> list[str]:
    """The names of objects."""
    return [each["metadata"]["name"] for each in objects]


def counted(number: int) -> str:
    """A number of objects in words."""
    return f"{number} object{'s' * (number != 1)}"


def as_list(objects: Iterable[Object]) -> str:
    """Objects as one document for kubectl."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
