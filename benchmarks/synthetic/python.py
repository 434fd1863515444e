"""The synthetic kinds in Python: one package per group, one module per kind."""

from __future__ import annotations

import textwrap
from pathlib import Path

from benchmarks.synthetic.fields import KINDS_PER_GROUP, ON_KIND, Field, fields_of

_MODULE = '''\
"""The {kind} API."""

from datetime import timedelta

from pykb.api import CustomResource, Int32, Int64, IntOrString, Quantity, Struct
from pykb.api.core.v1 import LocalObjectReference, PodTemplateSpec, ResourceRequirements, Toleration
from pykb.api.meta.v1 import Condition, LabelSelector

from api.{group}.v1.groupversion import GROUP_VERSION


class {kind}Network(Struct):
    """A network and an address in it."""

    # +kubebuilder:validation:MinLength=1
    network: str
    """Network by its name."""

    # +optional
    # +kubebuilder:validation:Format=ipv4
    address: str | None = None
    """Address in it."""

    # +optional
    weight: Int32 | None = None
    """Weight among others."""


class {kind}Port(Struct):
    """A port with a name."""

    name: str
    """Name of it."""

    # +kubebuilder:validation:Minimum=1
    # +kubebuilder:validation:Maximum=65535
    port: Int32
    """Number of it."""


class {kind}Spec(Struct):
    """Desired state of {kind}."""

{fields}

class {kind}Status(Struct):
    """Observed state of {kind}."""

    # +optional
    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] | None = None
    """Conditions of it, one of a type."""

    # +optional
    ready_replicas: Int32 | None = None
    """Number of those that are ready."""


{markers}
class {kind}(CustomResource, group_version=GROUP_VERSION):
    """{kind} is made up."""

    spec: {kind}Spec
    # +optional
    status: {kind}Status | None = None
'''


def write_python(folder: Path, kinds: int) -> None:
    """Write the kinds into a project in a folder."""
    (folder / "api").mkdir(parents=True)
    (folder / "api/__init__.py").write_text("", encoding="utf-8")
    (folder / "pyproject.toml").write_text('[project]\nname = "synthetic"\nversion = "0"\n', encoding="utf-8")
    for number in range(kinds):
        group, kind = f"g{number // KINDS_PER_GROUP}", f"Kind{number}"
        package = folder / "api" / group / "v1"
        if not package.exists():
            package.mkdir(parents=True)
            (package.parent / "__init__.py").write_text("", encoding="utf-8")
            (package / "__init__.py").write_text("", encoding="utf-8")
            (package / "groupversion.py").write_text(
                f'from pykb.api import GroupVersion\n\nGROUP_VERSION = GroupVersion("{group}.example.com", "v1")\n',
                encoding="utf-8",
            )
        text = _MODULE.format(
            kind=kind,
            group=group,
            fields="\n".join(_field(field, kind) for field in fields_of(number)),
            markers="\n".join(f"# +{marker}" for marker in ON_KIND),
        )
        (package / f"kind{number}_types.py").write_text(text, encoding="utf-8")


def _field(field: Field, kind: str) -> str:
    lines = [*(f"# +{marker}" for marker in field.markers), field.python.format(kind=kind), f'"""{field.text}"""', ""]
    return textwrap.indent("\n".join(lines), "    ")
