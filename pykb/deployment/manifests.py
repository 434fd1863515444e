"""Renders what is applied: the operator with its image, or its CRDs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.deployment import IMAGE_NAME, KUSTOMIZATION
from pykb.reading import yaml_text
from pykb.tools import kustomize

IMAGE = "controller:latest"
"""The image in config/manager. kustomize's `images` could replace it only by a change of a file."""

CRD = "CustomResourceDefinition"
_IMAGE_LINE = re.compile(rf"^( *(?:- )?image: ){re.escape(IMAGE)}$", re.MULTILINE)
_IMAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]*(?:@sha256:[0-9a-f]{64})?")


@dataclass(frozen=True, slots=True)
class Manifests:
    """Rendered manifests.

    Attributes:
        text: The manifests as YAML.
        objects: The objects in them, in order.
    """

    text: str
    objects: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, text: str) -> Manifests:
        """The manifests in a text."""
        try:
            return cls(text, tuple(each for each in yaml_text.load_all(text) if each))
        except yaml.MarkedYAMLError as error:
            raise EnvironmentProblem(
                KUSTOMIZATION.at(None, f"what kustomize rendered {yaml_text.verdict(error)}: {yaml_text.reason(error)}")
            ) from error

    def of_kind(self, kind: str) -> list[dict[str, Any]]:
        """The objects of a kind."""
        return [each for each in self.objects if each.get("kind") == kind]


def render_operator(root: Path, image: str, *, folders: Sequence[Path] = ()) -> Manifests:
    """Render config/default with an image. No file is changed.

    Raises:
        EnvironmentProblem: The image has no valid name, or config/default cannot be rendered.
    """
    if not _IMAGE_NAME.fullmatch(image):
        raise EnvironmentProblem(
            IMAGE_NAME.at(
                None, f"`{image}` is not the name of an image", help=("--image registry.example.com/operator:v1.0.0",)
            )
        )
    text = _IMAGE_LINE.sub(
        lambda found: f"{found[1]}{image}", kustomize.build(root / "config/default", folders=folders)
    )
    return Manifests.of(text)


def render_crds(root: Path, *, folders: Sequence[Path] = ()) -> Manifests:
    """Render config/crd.

    A CRD with a conversion webhook refers to the manager's Service, which has its full name only in config/default.
    Such CRDs are taken from there. Otherwise, the API server could no longer reach the deployed manager.

    Raises:
        EnvironmentProblem: A folder cannot be rendered.
    """
    manifests = Manifests.of(kustomize.build(root / "config/crd", folders=folders))
    if not any(is_converted(each) for each in manifests.of_kind(CRD)):
        return manifests
    whole = Manifests.of(kustomize.build(root / "config/default", folders=folders))
    names = {each["metadata"]["name"] for each in manifests.of_kind(CRD)}
    crds = [each for each in whole.of_kind(CRD) if each["metadata"]["name"] in names]
    return Manifests(yaml.dump_all(crds, Dumper=yaml.CSafeDumper, sort_keys=False), tuple(crds))


def installer(operator: Manifests) -> tuple[str, str]:
    """The text of a file for ``kubectl apply``, and what has to be in the cluster before."""
    if not any(each["apiVersion"].startswith("cert-manager.io/") for each in operator.objects):
        return operator.text, ""
    note = "Install cert-manager in the cluster first. Without it, the webhooks reject every object."
    return f"# {note}\n{operator.text}", note


def is_converted(crd: dict[str, Any]) -> bool:
    """Whether a webhook converts between the versions of a CRD."""
    return (crd["spec"].get("conversion") or {}).get("strategy") == "Webhook"


def title_of(obj: dict[str, Any]) -> str:
    """The name of an object for people, such as `Deployment a-system/a`."""
    metadata = obj.get("metadata") or {}
    namespace = metadata.get("namespace")
    return f"{obj.get('kind')} {f'{namespace}/' if namespace else ''}{metadata.get('name')}"


def names_of(objects: Iterable[dict[str, Any]]) -> list[str]:
    """The names of objects."""
    return [each["metadata"]["name"] for each in objects]
