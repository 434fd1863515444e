"""Annotations that Python evaluates when somebody asks for them: 3.14 by default, earlier ones if a module wants it."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from pykb.diagnostics.render import Format, render
from pykb.gen.options import GenerateOptions
from pykb.gen.run import GenerateResult, generate

LAZY = "" if sys.version_info >= (3, 14) else "from __future__ import annotations\n"
HEADER = """\
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal
from datetime import timedelta
from pykb.api import CustomResource, Field, GroupVersion, Struct
if TYPE_CHECKING:
    from elsewhere import Sail
"""
KIND = """
class Frigate(CustomResource, group_version=GroupVersion("example.com", "v1")):
    spec: FrigateSpec
"""


def generated(root: Path, source: str) -> GenerateResult:
    """What a module of types gives."""
    package = root / "fleet/api/v1"
    package.mkdir(parents=True)
    for folder in (package, package.parent, package.parent.parent):
        (folder / "__init__.py").touch()
    (package / "types.py").write_text(LAZY + HEADER + dedent(source) + KIND, encoding="utf-8")
    return generate(GenerateOptions(root=root, generators=("crd",)))


def test_names_for_type_checkers_only_are_no_obstacle_outside_of_fields(tmp_path: Path) -> None:
    """In attributes that are not part of the schema, in plain classes, and in methods. A later class is no obstacle."""
    source = '''
        class Plain:
            registry: ClassVar[Sail]

        class Rigged(Struct, Plain):
            # +kubebuilder:validation:MinLength=3
            name: str
            """What the crew calls it."""
            _cache: Sail | None = None
            known: ClassVar[dict[str, Sail]] = {}
            def sail(self) -> Sail: ...

        class FrigateSpec(Rigged):
            # +kubebuilder:validation:MaxItems=9
            masts: list[Mast]
            best: Annotated[Mast | None, Field(title="Best")] = None

        # +kubebuilder:validation:MaxLength=7
        Wood = Annotated[str, Field(min_length=1)]

        class Mast(Struct):
            height: Annotated[int, Field(ge=3)]
            wood: (
                Wood
                | None
            ) = None
    '''
    result = generated(tmp_path, source)
    assert not len(result.diagnostics), render(result.diagnostics, style=Format.CONCISE)
    ((crd,),) = result.artifacts.values()
    for expected in (
        "minLength: 3",
        "description: What the crew calls it.",
        "maxItems: 9",
        "title: Best",
        "maxLength: 7",
    ):
        assert expected in crd.render()


UNKNOWN = [
    "Sail",
    "list[Sail]",
    "Sail | None",
    "timedelta | Sail",
    "dict[str, Sail | timedelta]",
    'Literal["a"] | Sail',
    "Annotated[Sail | None, Field(max_length=2)]",
    "(\n        Sail\n        | None\n    )",
    "FrigateSpec[Sail]",
]


@pytest.mark.parametrize("annotation", UNKNOWN)
def test_a_name_for_type_checkers_only_is_one_finding_with_the_annotation_as_written(
    annotation: str, tmp_path: Path
) -> None:
    """Python 3.14 evaluates the rest of it and gives what is known names of its own."""
    result = generated(tmp_path, f"class FrigateSpec(Struct):\n    rig: {annotation}\n")
    (finding,) = result.diagnostics
    shown = " ".join(annotation.strip("()").split())
    assert finding.message.startswith(f"the annotation `{shown}` of the field `rig` cannot be evaluated: ")
