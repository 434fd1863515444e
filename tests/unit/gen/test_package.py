"""What a module says about its package holds for all modules of the folder, whichever of them a run reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from pykb.diagnostics.render import Format, render
from pykb.gen.options import GenerateOptions
from pykb.gen.run import GenerateResult, generate

IMPORTS = "from pykb.api import CustomResource, GroupVersion, Struct\n"
GROUP_VERSION = 'GV = GroupVersion("example.com", "v1")\n'
KIND = "class Thing(CustomResource, group_version=GV):\n    a: str\n"
PATHS = [(), ("shop/api/v1",), ("shop/api/v1/things.py",)]


def run(root: Path, files: dict[str, str], *paths: str) -> GenerateResult:
    """Generate CRDs from the modules of one package, and from others by their paths."""
    for folder in ("shop", "shop/api", "shop/api/v1"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "__init__.py").touch()
    for name, text in files.items():
        path = root / "shop" / "api" / "v1" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return generate(GenerateOptions(root=root, generators=("crd",), paths=paths))


def required(result: GenerateResult) -> list[str]:
    """The required fields of the kind."""
    text = result.artifacts["crd"][0].render()
    return text.partition("        required:\n")[2].partition("        type:")[0].replace("-", " ").split()


@pytest.mark.parametrize("paths", PATHS)
@pytest.mark.parametrize("name", ["__init__.py", "groupversion.py", "other.py"])
def test_all_fields_of_a_package_are_optional(name: str, paths: tuple[str, ...], tmp_path: Path):
    """The marker counts in any module of the folder, as in any file of a Go package."""
    types = IMPORTS + GROUP_VERSION + KIND
    files = {"things.py": types, name: '"""The package."""\n\n# +kubebuilder:validation:Optional\n'}
    result = run(tmp_path, files, *paths)
    assert not len(result.diagnostics), render(result.diagnostics, style=Format.CONCISE)
    assert required(result) == []


def test_a_package_is_one_folder(tmp_path: Path):
    """Packages above, below and beside are other packages."""
    marker = "# +kubebuilder:validation:Optional\n"
    files = {"things.py": IMPORTS + GROUP_VERSION + KIND, "../__init__.py": marker, "../v2/__init__.py": marker}
    assert required(run(tmp_path, {**files, "inner/__init__.py": marker})) == ["a"]


def test_a_type_goes_by_its_own_package(tmp_path: Path):
    """A struct of another package is as that one says."""
    used = IMPORTS + "from shop.api.common.parts import Part\n" + GROUP_VERSION
    files = {
        "things.py": used + KIND.replace("str", "Part"),
        "../common/__init__.py": "# +kubebuilder:validation:Optional\n",
        "../common/parts.py": IMPORTS + "class Part(Struct):\n    b: str\n",
    }
    text = run(tmp_path, files).artifacts["crd"][0].render()
    assert "required:\n            - b" not in text
    assert required(run(tmp_path, files)) == ["a"]


@pytest.mark.parametrize("paths", PATHS)
def test_group_and_version_may_stand_in_another_module(paths: tuple[str, ...], tmp_path: Path):
    """Also where only the module of types is asked for."""
    kind = IMPORTS + KIND.replace(", group_version=GV", "")
    result = run(tmp_path, {"things.py": kind, "__init__.py": "# +groupName=example.com\n"}, *paths)
    assert not result.diagnostics.has_errors(), render(result.diagnostics, style=Format.CONCISE)
    assert result.groups == {"example.com"}


def test_a_package_that_is_left_out_is_left_out_whole(tmp_path: Path):
    """Nothing is said of the markers in its modules."""
    types = IMPORTS + GROUP_VERSION + "# +kubebuilder:resource:path=stuff\n" + KIND
    result = run(tmp_path, {"things.py": types, "__init__.py": "# +kubebuilder:skip\n"})
    assert not result.artifacts["crd"]
    assert [found.code.slug for found in result.diagnostics] == ["nothing-to-generate"]


def test_modules_that_contradict_each_other_are_said(tmp_path: Path):
    """One package has one default."""
    files = {
        "things.py": "# +kubebuilder:validation:Required\n\n" + IMPORTS + GROUP_VERSION + KIND,
        "__init__.py": "# +kubebuilder:validation:Optional\n",
    }
    result = run(tmp_path, files)
    assert [found.code.slug for found in result.diagnostics] == ["marker-conflict"]


def test_a_broken_module_beside_the_one_asked_for_says_nothing(tmp_path: Path):
    """Its markers are looked at, and that is all."""
    files = {"things.py": IMPORTS + GROUP_VERSION + KIND, "broken.py": "# +kubebuilder:nonsense\ndef\n"}
    assert not len(run(tmp_path, files, "shop/api/v1/things.py").diagnostics)
