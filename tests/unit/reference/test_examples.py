"""The examples in docstrings of public names, and those in the pages, are what type checkers accept, and hold."""

from __future__ import annotations

import doctest
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from enum import Enum
from importlib import import_module
from pathlib import Path

from pykb.diagnostics.render import Format, render
from pykb.gen.options import GenerateOptions
from pykb.gen.run import generate
from tests.examples import MODULES, examples, examples_of, public, write
from tests.pages import EXCERPTS, FOLLOWED, PAGES, PARTS, PROGRAMS, blocks
from tests.sources import ROOT, files_of

WITHOUT = {
    "Field",  # Pydantic's
    # A class whose attributes say everything, and which another example uses.
    *("ControllerOptions", "LeaderElectionOptions", "ResourceInfo", "UserInfo", "WatchEvent"),
    *("FieldChange", "ObjectId", "ReconcileCause", "ReconcileId", "SentRequest"),
    # Made by a manager or a builder, or chosen by default.
    *("Lister", "SystemClock", "Transport", "WebhookServer", "default_rate_limiter"),
    # A type for annotations, with classes of its own, or a constant.
    *("ALL_NAMESPACES", "AnyCondition", "CleanUp", "ConditionT", "Patch", "Source"),
    # The default, or what a type implies.
    *("MapGranular", "XIntOrString"),
}
"""Public names without an example. Enums need none, and errors only if one catches them to do something."""

OF_HANDLERS = "# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-decorators\n"
"""Handlers of kopf operators seldom have types."""


def parts_of_projects(folder: Path) -> Iterator[Path]:
    """Writes the modules of `PARTS` into a folder."""
    shutil.copytree(ROOT / "testdata/virtulmachine/sealvm", folder / "sealvm")
    shutil.copytree(ROOT / "testdata/multigroup/fleet", folder / "fleet")
    for page, modules in PARTS.items():
        for name, block in zip(modules, blocks(page), strict=True):
            module = folder / f"{name}.py"
            module.parent.mkdir(exist_ok=True)
            module.write_text(OF_HANDLERS * (name == "handlers") + block, encoding="utf-8")
            yield module


def test_each_page_with_code_is_checked() -> None:
    """No page is twice in the lists, none in a list has gone, and the tests that follow pages are there."""
    listed = [*PARTS, *EXCERPTS, *FOLLOWED]
    assert len(set(listed)) == len(listed)
    assert set(listed) < set(PAGES)
    for test in FOLLOWED.values():
        assert (ROOT / "tests" / test).exists()


def test_each_public_name_has_an_example() -> None:
    """But for those that need none."""
    names = [(module, name) for module in MODULES for name in public(module) if not examples_of(module, name)]
    found = {name: getattr(import_module(module), name) for module, name in names}
    needless = {name for name, each in found.items() if isinstance(each, type) and issubclass(each, (Enum, Exception))}
    doctests = {name for name, each in found.items() if ">>> " in (each.__doc__ or "")}
    assert found.keys() - needless - doctests == WITHOUT


def test_type_checkers_accept_each_example(tmp_path, mypy):
    """Each in a function of its own, which has what an example may suppose. A page is a module, in the same run."""
    found = list(dict.fromkeys([*examples(), *(block for page in EXCERPTS for block in blocks(page))]))
    assert len(found) > 60
    pages = [tmp_path / f"{re.sub(r'[^a-z]', '_', page)}.py" for page in PROGRAMS]
    for page, module in zip(PROGRAMS, pages, strict=True):
        module.write_text("\n".join(blocks(page)), encoding="utf-8")
    parts = list(parts_of_projects(tmp_path))
    write(tmp_path / "examples.py", found)
    done = mypy(tmp_path / "examples.py", *pages, *parts)
    assert done.returncode == 0, done.stdout


def test_examples_that_assert_something_hold(tmp_path):
    """They run over an API server in memory, each over its own."""
    write(tmp_path / "examples.py", examples())
    done = subprocess.run([sys.executable, "examples.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_generator_accepts_annotations(tmp_path):
    """Each example with a struct is the spec of a kind."""
    imports = (
        "from datetime import timedelta\nfrom typing import Annotated, Any\nfrom pykb.api.core.v1 import PodSpec\n"
    )
    names_of_api = f"from pykb.api import {', '.join(public('pykb.api'))}\n"
    structs = [
        (code, names)
        for code in examples("pykb.api")
        if (names := re.findall(r"^class (\w+)\(Struct", code, re.MULTILINE))
    ]
    assert len(structs) > 15
    for number, (code, names) in enumerate(structs):
        kind = f"class Kind{number}(CustomResource, group_version=GroupVersion('example.com', 'v1')):"
        text = f"{imports}{names_of_api}\n{code}\n\n{kind}\n    spec: {names[-1]}\n"
        (tmp_path / f"kind{number}_types.py").write_text(text, encoding="utf-8")
    paths = tuple(path.name for path in tmp_path.iterdir())
    result = generate(GenerateOptions(root=tmp_path, generators=("crd",), paths=paths))
    assert not list(result.diagnostics), render(result.diagnostics, style=Format.CONCISE)


def test_doctests_hold():
    """Also those in modules that are not public."""
    files = [ROOT / path for path in files_of(ROOT) if path.startswith("pykb/") and path.endswith(".py")]
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in files
        if ">>> " in path.read_text(encoding="utf-8")
    ]
    assert len(modules) > 20
    assert [name for name in modules if doctest.testmod(import_module(name)).failed] == []
