"""Operators of kopf without a project: files with handlers, CustomResourceDefinitions and samples."""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pykb.api.builtin import find_class
from pykb.diagnostics import Span
from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.diagnostics.suggest import did_you_mean
from pykb.explore._actors import Actor
from pykb.explore._history import Identity, Manifest
from pykb.explore._invariants import Check, invariant_of
from pykb.explore._objects import Objects, group_kind_of
from pykb.explore._project import (
    NamedActor,
    NamedInvariant,
    Subject,
    check_definition,
    documents,
    importing,
    load_all,
    named_functions,
    placed,
    samples_among,
    take_named,
)
from pykb.explore._settings import settings_of
from pykb.meta.gvk import GroupVersion
from pykb.runtime import Manager

if TYPE_CHECKING:
    from pykb.runtime._kopf import OperatorRegistry

_INSTALL = "run pykb in the environment of the handlers: `python -m pip install pykubebuilder`, then `python -m pykb`"
_HELP = "pykb explore handlers.py --crd crd.yaml --sample cr.yaml"


def subject_of_files(
    files: Sequence[Path],
    *,
    crds: Sequence[Path] = (),
    samples: Sequence[Path] = (),
    root: Path | None = None,
    actors: Sequence[Actor] = (),
    once: Sequence[str] = (),
    invariants: Sequence[Check] = (),
) -> Subject:
    """Read an operator from its files, with ``[tool.pykb.explore]`` of a pyproject.toml in its folder.

    Args:
        files: The files with handlers.
        crds: The files with CustomResourceDefinitions.
        samples: The files with objects that the handlers work on.
        root: The folder of the user's code. Defaults to the working directory.
        actors: What other controllers and people do.
        once: Kinds that have an effect when they are created, beside Jobs and Pods.
        invariants: What must hold whenever everything is at rest, or more often.

    Raises:
        EnvironmentProblem: A file cannot be read, or the definitions and samples do not fit.
    """
    root = (root or Path.cwd()).resolve()
    settings = settings_of(root)
    named, promises = named_functions(root, settings)
    for file in files:
        if not file.is_file():
            raise NOT_EXPLORED.problem(f"there is no file `{file}`", _HELP)
    definitions = list(_definitions(root, crds))
    own = {group_kind_of(crd): crd for crd in definitions}
    found: dict[Identity, Manifest] = {}
    places: dict[Identity, Span] = {}
    for written, span in _written(root, samples, "--sample"):
        crd = _definition_of(written, span, own)
        manifest = placed(written, span, crd)
        identity = Identity.of(manifest)
        found[identity], places[identity] = manifest, span
    if not found:
        where = f"`{samples[0]}` has no object" if samples else "there is no sample"
        raise NOT_EXPLORED.problem(where, "name a file with an object that the handlers work on: `--sample cr.yaml`")
    objects = Objects(definitions, {identity.namespace for identity in found if identity.namespace})
    take_named(objects, root, settings)
    program = Program(files, root)
    return Subject(
        program,
        [*definitions, *objects.definitions],
        list(found.values()),
        None,
        root,
        actors=[*named, *actors],
        once=[*settings.once, *once],
        invariants=[*promises, *(invariant_of(each) for each in invariants)],
        places={**objects.places, **places},
        background=list(objects.background.values()),
        notes=objects.notes,
        neighbours=list(samples_among(objects.own, own, {}).values()),
        settings=settings,
        is_plain_kopf=True,
        load=functools.partial(_load, program, [*named, *promises]),
    )


def _load(program: Program, functions: Sequence[NamedActor | NamedInvariant]) -> None:
    program.load()
    load_all(functions)


@dataclass(eq=False)
class Program:
    """The files of an operator of kopf.

    Attributes:
        files: The files with handlers.
        root: The folder of the user's code.
    """

    files: Sequence[Path]
    root: Path
    _registry: OperatorRegistry | None = None

    def __reduce__(self) -> tuple[type[Program], tuple[Sequence[Path], Path]]:
        """Another process imports the files itself, when it has been told of its world."""
        return Program, (self.files, self.root)

    def __call__(self, manager: Manager) -> None:
        """Run their handlers."""
        manager.add_kopf_handlers(self.load())

    def load(self) -> OperatorRegistry:
        """Import the files, once, and give their handlers.

        Raises:
            EnvironmentProblem: A file cannot be imported, or there are no handlers.
        """
        from pykb.explore._kopf import collecting, has_handlers

        if self._registry is not None:
            return self._registry
        with collecting() as registry:
            for file in self.files:
                self._run(file)
        if not has_handlers(registry):
            names = ", ".join(f"`{self._name(file)}`" for file in self.files)
            message = f"{names} has no handlers: the explorer looks for functions with `@kopf.on...` and their like"
            raise NOT_EXPLORED.problem(message, span=Span(self._name(self.files[0]), 1, 1))
        self._registry = registry
        return registry

    def _run(self, file: Path) -> None:
        """Run a file as ``kopf run`` does: its folder is where it imports from."""
        folder = str(file.resolve().parent)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        spec = importlib.util.spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None:
            raise NOT_EXPLORED.problem(f"`{file}` is not a file of Python", _HELP)
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module
        with importing(self.root, f"`{self._name(file)}`", _INSTALL):
            spec.loader.exec_module(module)

    def _name(self, file: Path) -> str:
        return os.path.relpath(file.resolve(), self.root)


def _definitions(root: Path, files: Sequence[Path]) -> Iterator[Manifest]:
    for written, span in _written(root, files, "--crd"):
        if written.get("kind") == "CustomResourceDefinition":
            check_definition(written, span, "correct it: the API server would refuse it too")
            yield written


def _written(root: Path, files: Sequence[Path], option: str) -> Iterator[tuple[Manifest, Span]]:
    """Yield the objects of files and folders."""
    for path in files:
        if not path.exists():
            raise NOT_EXPLORED.problem(f"there is no file `{path}`", f"name another one: `{option} FILE`")
        found = sorted((*path.glob("*.yaml"), *path.glob("*.yml"))) if path.is_dir() else [path]
        yield from documents(root, [each.resolve() for each in found])


def _definition_of(sample: Manifest, span: Span, own: Mapping[tuple[str, str], Manifest]) -> Manifest | None:
    """The definition of a sample's kind; ``None`` if the kind is Kubernetes' own."""
    version, kind = sample.get("apiVersion"), sample.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        message = "this object has no `apiVersion` or no `kind`"
        raise NOT_EXPLORED.problem(message, "write both, as for `kubectl apply`", span=span)
    group_version = GroupVersion.parse(version)
    crd = own.get((group_version.group, kind))
    if crd is not None:
        served = [each["name"] for each in crd["spec"]["versions"] if each.get("served", True)]
        if group_version.version not in served:
            message = f"the definition of {kind} does not serve the version {group_version.version}"
            raise NOT_EXPLORED.problem(message, f"write one of: {', '.join(served)}", span=span)
        return crd
    if find_class(group_version.with_kind(kind)) is not None:
        return None
    kinds = sorted(name for _, name in own)
    helps = did_you_mean(kind, kinds) or ("name the file that defines it: `--crd crd.yaml`",)
    known = f" (defined: {', '.join(kinds)})" if kinds else ""
    raise NOT_EXPLORED.problem(f"no CustomResourceDefinition is given for {version} {kind}{known}", *helps, span=span)
