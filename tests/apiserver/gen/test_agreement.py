"""What a model accepts, the schema made from it accepts on a real API server, and the other way: for types made by chance."""

from __future__ import annotations

import importlib.util
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pydantic import ValidationError

from pykb.diagnostics import Diagnostics, Severity
from pykb.diagnostics.render import Format, render
from pykb.envtest import ControlPlane
from pykb.gen.options import GenerateOptions, SchemaOptions
from pykb.gen.run import generate

pytestmark = pytest.mark.apiserver

OBJECTS = "/apis/agreement.example.com/v1/namespaces/default/judges"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FIELD = re.compile(r"\bspec\.(f\d+)")
FIELDS, VALUES = 30, 40


def load(name: str, path: Path) -> Any:
    """A module from its file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Judges:
    """The kind of a generated module, installed, and its model."""

    def __init__(self, plane: ControlPlane, folder: Path, text: str) -> None:
        package = folder / "shop" / "api" / "v1"
        package.mkdir(parents=True)
        for parent in (package, package.parent, package.parent.parent):
            (parent / "__init__.py").touch()
        (package / "judge.py").write_text(text, encoding="utf-8")
        self.rest = plane.rest()
        result = generate(
            GenerateOptions(root=folder, generators=("crd",), schemas=SchemaOptions(allow_dangerous_types=True))
        )
        errors = Diagnostics(found for found in result.diagnostics if found.severity is Severity.ERROR)
        assert not len(errors), render(errors, style=Format.CONCISE)
        file = folder / "judges.yaml"
        file.write_text(result.artifacts["crd"][0].render(), encoding="utf-8")
        plane.install_crds(file)
        self.model = load(f"judge_{folder.name}", package / "judge.py").JudgeSpec

    def ask(self, spec: dict[str, Any]) -> tuple[set[str], set[str], str]:
        """The fields that the model refuses, those that the server refuses, and its words.

        The server looks at rules and list keys only once all types are right: it is asked again without what it refused.
        """
        theirs: set[str] = set()
        words = ""
        while refused := self._refused(spec, theirs):
            theirs |= refused[0]
            words += refused[1]
        ours: set[str] = set()
        try:
            self.model.from_wire(spec)
        except ValidationError as error:
            ours = {str(item["loc"][0]) for item in error.errors()}
        return ours, theirs, words

    def _refused(self, spec: dict[str, Any], known: set[str]) -> tuple[set[str], str] | None:
        rest = {name: value for name, value in spec.items() if name not in known}
        body = {"apiVersion": "agreement.example.com/v1", "kind": "Judge", "metadata": {"name": "x"}, "spec": rest}
        answer = self.rest.call("POST", f"{OBJECTS}?dryRun=All&fieldValidation=Ignore", body)
        if answer.ok:
            return None
        causes = answer.body.get("details", {}).get("causes", ())
        found = {name for cause in causes for name in FIELD.findall(f"{cause['field']} {cause['message']}")}
        assert found - known, answer.message
        return found, answer.message

    def remove(self) -> None:
        """The kind goes, for the next one of its name."""
        name = f"{CRDS}/judges.agreement.example.com"
        self.rest.call("DELETE", name)
        while self.rest.call("GET", name).ok:
            time.sleep(0.05)


@pytest.fixture
def judges(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Any]:
    """Makes judges; removes the last one."""
    made: list[Judges] = []

    def make(text: str) -> Judges:
        made.append(Judges(control_plane, tmp_path, text))
        return made[-1]

    yield make
    for judge in made:
        judge.remove()


@pytest.mark.parametrize("seed", [*range(3), *[pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 40)]])
def test_models_and_schemas_agree_on_generated_types(seed: int, judges: Any, tmp_path: Path) -> None:
    """Each field of a generated kind is judged alike, for values near its limits; differences have a reason."""
    kinds = load("generated_types", Path(__file__).with_name("generated_types.py"))
    text, made = kinds.make_module(seed, FIELDS)
    judge = judges(text)
    rng = Random(seed)
    for _ in range(VALUES):
        spec = {name: kinds.value_for(kind, rng) for name, kind in made.items()}
        spec = {name: value for name, value in spec.items() if value is not None}
        ours, theirs, message = judge.ask(spec)
        for name in ours ^ theirs:
            if not is_explained(made[name].text, spec[name], text, in_python=name not in ours):
                who = "only the server accepts" if name in ours else "only Python accepts"
                pytest.fail(f"{who} {spec[name]!r} for `{made[name].text}`\n{text}\n{message[:1500]}")


# Types whose schema is a plain string or has a format: what the server then does not check.
TEXTUAL = ("bytes", "date", "timedelta", "UUID", "IPv4", "IPv6", "Format(")


def is_explained(kind: str, value: Any, text: str, *, in_python: bool) -> bool:
    """Whether a difference is known, and why it stays so."""
    mentioned = types_within(kind, text)
    if in_python:
        if has(value, type(None)) and re.search(r"(Literal|Color|Level).*None", mentioned):
            return True  # the server finds no null in an enum; a warning says so
        if has(value, type(None)) and "Any" in mentioned:
            return True  # the server drops null for a field that holds anything, and then finds it missing
        if "discriminator" in mentioned and has(value, float):
            return True  # rules of the server do not take 5.0 for an integer; pykb writes 5
        # A number that the schema of a quantity does not take goes out as a text.
        return "Quantity" in mentioned and (has(value, float) or has(value, int))
    if "discriminator" in mentioned and re.search(r"of_\w: .*(Any|None)", mentioned):
        return True  # rules cannot see whether a field that holds anything, or null, is there
    if "timedelta" in mentioned and has(value, str):
        return True  # metav1.Duration is a string without a format, in all of Kubernetes
    if any(name in mentioned for name in TEXTUAL) and has(value, list):
        return True  # the server checks the type of a value with a format too leniently: lists pass as strings
    if "IPv4" in mentioned and has(value, str):
        return True  # Python's IPv4Address cannot hold ::ffff:1.2.3.4
    if "Quantity" in mentioned and has(value, str):
        return True  # the customary pattern lets fractions of an exponent pass
    return "multiple_of" in mentioned and has(value, float)  # the server divides floats with a tolerance


def types_within(kind: str, text: str) -> str:
    """The text of a type and of the structs below it."""
    found, todo = "", [kind]
    while todo:
        part = todo.pop()
        found += part
        for name in set(re.findall(r"Struct\d+", part)):
            (body,) = re.findall(rf"^class {name}\(Struct\):\n((?:    .*\n)+)", text, re.MULTILINE)
            todo.append(body)
    return found


def has(value: Any, kind: type) -> bool:
    """Whether a value of a type is anywhere in a value."""
    if isinstance(value, kind):
        return True
    if isinstance(value, dict):
        return any(has(item, kind) for item in value.values())
    return isinstance(value, list) and any(has(item, kind) for item in value)
