"""What an editor asks about the CRDs of a type.

:func:`ask` runs in the language server. :func:`answer` imports the project, so it runs in a process of its own, with
the pykb of the project. They speak JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from pykb._regular_file import read_bytes
from pykb.diagnostics import Diagnostics, Severity, Span
from pykb.reading import read_json, read_python, yaml_text
from pykb.tools.process import LimitError, Limits, run_bounded

if TYPE_CHECKING:
    from pykb.gen.ir import SchemaNode

_LIMITS = Limits(seconds=60, size=16 * 1024**2)


class NoAnswerError(Exception):
    """There is no answer. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Place:
    """The schema of a field or of a type.

    Attributes:
        file: The manifest, relative to the project.
        version: The version of the kind.
        path: The keys from the version's schema to it.
        column: The column where its name begins in the source, from 1.
        end_column: The column after the name.
    """

    file: str
    version: str
    path: tuple[str, ...]
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What the CRDs of a project have of a type.

    Attributes:
        manifests: The texts of those with a part of the type, by path.
        places: The schemas of what is declared on the line that was asked for.
    """

    manifests: Mapping[str, str]
    places: tuple[Place, ...]


def ask(program: Sequence[str], root: Path, *, path: str, text: str, line: int) -> Answer:
    """Ask for the type around a line of a file.

    Args:
        program: The command that answers.
        root: The project.
        path: The file, relative to the project.
        text: Its text, as the editor has it.
        line: The line, from 1.

    Raises:
        NoAnswerError: The project has errors, the program did not end in time, or it is another version of pykb.
    """
    question = json.dumps({"path": path, "text": text, "line": line}).encode()
    try:
        done = run_bounded(program, cwd=root, stdin=question, limits=_LIMITS)
    except (LimitError, OSError) as error:
        raise NoAnswerError(f"the CRD cannot be made: {error}") from error
    try:
        values = read_json(done.stdout)
        if values["error"]:
            raise NoAnswerError(f"the CRD cannot be made: {values['error']}")
        return Answer(
            {str(name): str(each) for name, each in values["manifests"].items()},
            tuple(Place(each[0], each[1], tuple(each[2]), each[3], each[4]) for each in values["places"]),
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["it gave no answer"]
        raise NoAnswerError(f"the pykb of the project does not answer: {said[-1]}") from error


def find(root: Path, file: str, places: Iterable[Place]) -> list[tuple[int, int]]:
    """Where a manifest on disk has schemas: line and column of their keys, from 0.

    Args:
        root: The project.
        file: The manifest.
        places: The schemas. Those that the manifest does not have are left out, unless it has none.

    Raises:
        NoAnswerError: The manifest is missing, broken, or older than the type.
    """
    remedy = "run `pykb generate`"
    try:
        top = yaml_text.compose(read_bytes(root / file).decode())
    except FileNotFoundError as error:
        raise NoAnswerError(f"there is no `{file}`: {remedy}") from error
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not encoded in UTF-8"
        raise NoAnswerError(f"`{file}` cannot be read: {reason}") from error
    except yaml.MarkedYAMLError as error:
        message = f"`{file}` {yaml_text.verdict(error)}: {yaml_text.reason(error)}: {remedy}"
        raise NoAnswerError(message) from error
    found = []
    for place in places:
        for schema in _schemas(top, place.version):
            keys = [key for key, _ in yaml_text.follow(schema, place.path)]
            if len(keys) == len(place.path):
                mark = keys[-1].start_mark if keys else schema.start_mark
                found.append((mark.line, mark.column))
    if found:
        return found
    raise NoAnswerError(f"`{file}` is older than this type: {remedy}")


def _schemas(top: yaml.Node | None, version: str) -> Iterator[yaml.Node]:
    """The schema of a version in a CRD."""
    steps = list(yaml_text.follow(top, ["spec", "versions"])) if top is not None else []
    if len(steps) == 2 and isinstance(steps[1][1], yaml.SequenceNode):
        for each in steps[1][1].value:
            if [node.value for _, node in yaml_text.follow(each, ["name"])] == [version]:
                below = list(yaml_text.follow(each, ["schema", "openAPIV3Schema"]))
                yield from (node for _, node in below[1:])


def answer(root: Path, question: bytes) -> str:
    """Generate the CRDs of a project, and answer a question about them.

    Args:
        root: The project.
        question: What :func:`ask` sends.

    Raises:
        KeyError, TypeError, ValueError: It is not a question.
    """
    asked: dict[str, Any] = read_json(question)
    return json.dumps(_answer(root, str(asked["path"]), str(asked["text"]), int(asked["line"])))


def _answer(root: Path, path: str, text: str, line: int) -> dict[str, object]:
    from dataclasses import replace

    from pykb.gen.output import texts
    from pykb.gen.request import Given, make_request
    from pykb.gen.run import generate

    diagnostics = Diagnostics()
    request = make_request(root, Given(("crd",)), diagnostics)
    result = generate(replace(request.options, unsaved={(root / path).resolve(): text}))
    made = result.artifacts.get("crd", ())
    errors = [each for each in (*diagnostics, *result.diagnostics) if each.severity is Severity.ERROR]
    if errors and not made:  # a sample that does not fit yet is no obstacle
        where = f"{errors[0].span.path}:{errors[0].span.line}: " if errors[0].span else ""
        return {"error": f"{where}{errors[0].message}", "manifests": {}, "places": []}
    lines = _declaration(text, line)
    manifests, places = {}, []
    for crd, artifact in zip(result.crds, made, strict=True):
        [(file, manifest)] = texts(root, {"crd": [artifact]}, request.rules).items()
        for version in crd.versions:
            for span, steps in _named(version.schema, version.span, ()):
                if span.path == path and span.line in lines:
                    manifests[file] = manifest
                    if span.line == line:
                        places.append([file, version.name, steps, span.column, span.end_column])
    return {"error": "", "manifests": manifests, "places": places}


def _declaration(text: str, line: int) -> range:
    """The lines of the statement at a line, with the comments above it."""
    start = 1
    for statement in read_python(text).body:
        end = statement.end_lineno or statement.lineno
        if line <= end:
            return range(start, end + 1)
        start = end + 1
    return range(0)


def _named(node: SchemaNode, span: Span | None, path: tuple[str, ...]) -> Iterator[tuple[Span, tuple[str, ...]]]:
    """The places in the source of a schema and of all below it, each with the keys that lead to it."""
    places = dict.fromkeys((span, node.origin.type.span if node.origin is not None else None))
    yield from ((each, path) for each in places if each is not None)
    for name, field in (node.properties or {}).items():
        yield from _named(field.schema, field.span, (*path, "properties", name))
    for key, below in (("items", node.items), ("additionalProperties", node.values)):
        if below is not None:
            yield from _named(below, None, (*path, key))
