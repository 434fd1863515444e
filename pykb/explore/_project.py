"""What is explored: the `register`, CRDs, role and samples of a project."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import os
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

import yaml

from pykb._regular_file import read_bytes
from pykb.api.safe_text import error_text
from pykb.client.codec import gvk_of
from pykb.client.guard import is_end
from pykb.client.ranges import Ranges
from pykb.diagnostics import Diagnostic, EnvironmentProblem, Span
from pykb.diagnostics.codes.explore import NOT_EXPLORED, SETTING
from pykb.diagnostics.suggest import closest, did_you_mean
from pykb.envtest.crds import read_crds
from pykb.envtest.webhooks import MANIFEST, WebhookManifest
from pykb.explore._actors import Actor
from pykb.explore._earlier import Earlier
from pykb.explore._gate import place_in
from pykb.explore._history import Identity, Manifest
from pykb.explore._invariants import Check, Invariant, invariant_of
from pykb.explore._objects import Objects, group_kind_of, is_namespaced
from pykb.explore._replicas import ranges_of
from pykb.explore._settings import Settings, settings_of
from pykb.explore._watch import Interrupted
from pykb.files.plan import OutsideError, locate
from pykb.project.file import read as read_project
from pykb.project.settings import CONFIG, config_folder, config_path
from pykb.reading import yaml_text
from pykb.runtime import Client, Manager

CRDS = "crd/bases"
SAMPLES = "samples"
ROLE = "rbac/role.yaml"
FIXTURES = "tests/fixtures"
_MOST_FIXTURES = 200
"""Files of fixtures that are read."""

_NAMESPACE = "default"

T = TypeVar("T")


def _load_nothing() -> None:
    """What is explored is imported already."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is explored.

    Attributes:
        register: Registers controllers and webhooks with a manager: a project's own ``register``.
        crds: The CustomResourceDefinitions.
        samples: The objects that the operator works on, each with its namespace.
        rules: The rules of the operator's roles. ``None`` allows everything.
        root: The folder of the user's code, to name its lines.
        actors: What other controllers and people do, beside Kubernetes' own.
        once: Kinds that have an effect when they are created, beside Jobs and Pods.
        invariants: What must hold whenever everything is at rest.
        webhooks: The webhook configurations.
        places: Where the samples are written.
        neighbours: Samples that are there while another one is explored.
        background: Objects that are there before the operator starts, in all histories. They are stored as they are
            given, as if a cluster had recorded them: with uid and status, unchecked and without defaults.
        notes: What of the samples and fixtures is not there.
        settings: What the project says of its exploration.
        is_plain_kopf: Whether kopf runs the handlers without a manager of pykb.
        namespaces: The namespaces that kopf's handlers are restricted to; empty for all.
        load: Imports what is explored. It may fail as ``register`` does.
        earlier: An earlier version of the operator, whose work today's one continues.
        ranges: Those into which its replicas divide the objects; ``None`` if only one of them works.
    """

    register: Callable[[Manager], None]
    crds: Sequence[Manifest]
    samples: Sequence[Manifest]
    rules: Sequence[Mapping[str, Any]] | None = None
    root: Path | None = None
    actors: Sequence[Actor] = ()
    once: Sequence[str] = ()
    invariants: Sequence[Invariant | NamedInvariant] = ()
    webhooks: Sequence[Manifest] = ()
    places: Mapping[Identity, Span] = field(default_factory=dict)
    neighbours: Sequence[Manifest] = ()
    background: Sequence[Manifest] = ()
    notes: Sequence[Diagnostic] = ()
    settings: Settings = field(default_factory=Settings)
    is_plain_kopf: bool = False
    namespaces: tuple[str, ...] = ()
    load: Callable[[], object] = _load_nothing
    earlier: Earlier | None = None
    ranges: Ranges | None = None

    def around(self, sample: Manifest) -> tuple[Manifest, ...]:
        """The samples that can be there while one is explored, each in one version."""
        own = Identity.of(sample).key
        others = {Identity.of(other).key: other for other in self.neighbours}
        return tuple(other for key, other in others.items() if key != own)


def subject_of(
    root: Path,
    *,
    register: Callable[[Manager], None] | None = None,
    package: str = "",
    sample: str | None = None,
    kind: str = "",
    actors: Sequence[Actor] = (),
    once: Sequence[str] = (),
    invariants: Sequence[Check] = (),
    only_sample: bool = False,
) -> Subject:
    """Read a project.

    Args:
        root: The folder of PROJECT.
        register: Registers the controllers. Defaults to that of the package's ``__main__``.
        package: The import package.
        sample: The file of one sample, relative to the project. Defaults to all in ``config/samples``.
        kind: Only samples of this kind.
        actors: What other controllers and people do.
        once: Kinds that have an effect when they are created, beside Jobs and Pods.
        invariants: What must hold whenever everything is at rest, or more often.
        only_sample: Whether the other samples are not there while one is explored.

    Raises:
        EnvironmentProblem: There is no CRD or no sample, or the manager cannot be imported.
    """
    settings = settings_of(root)
    named, promises = named_functions(root, settings)
    crds = _definitions(root)
    every = sorted(config_path(root, SAMPLES).glob("*.yaml"))
    files = [root / sample] if sample else every
    written = _written(root, files)
    own = {group_kind_of(crd): crd for crd in crds}
    places: dict[Identity, Span] = {}
    of_kind = [(found, span) for found, span in written if not kind or found["kind"].lower() == kind.lower()]
    samples = samples_among(of_kind, own, places)
    objects = _objects(root, settings, crds, every)
    others = [*_written(root, every), *objects.own]
    neighbours = {} if only_sample else samples_among(others, own, places)
    if not samples:
        place = sample or f"{config_folder(root)}/{SAMPLES}"
        raise EnvironmentProblem(_no_sample(kind, place, own, [found["kind"] for found, _ in written]))
    roles = [role for role, _ in documents(root, [config_path(root, ROLE)])]
    rules = [rule for role in roles for rule in role.get("rules") or ()]
    is_namespaced = bool(roles) and all(role.get("kind") == "Role" for role in roles)
    entries = WebhookManifest.read(config_path(root, MANIFEST)).entries
    webhooks = {id(entry.configuration): entry.configuration for entry in entries}
    module = f"{package}.__main__"
    return Subject(
        register or _Registration(root, module),
        [*crds, *objects.definitions],
        list(samples.values()),
        rules or None,
        root.resolve(),
        actors=[*named, *actors],
        once=[*settings.once, *once],
        invariants=[*promises, *(invariant_of(each) for each in invariants)],
        webhooks=list(webhooks.values()),
        places={**objects.places, **places},
        background=list(objects.background.values()),
        notes=objects.notes,
        neighbours=list(neighbours.values()),
        namespaces=tuple(sorted({each.namespace for each in samples if each.namespace})) if is_namespaced else (),
        settings=settings,
        load=functools.partial(_load, root, "" if register else module, [*named, *promises]),
        ranges=ranges_of(root, read_project(root)[0]),
    )


def _objects(root: Path, settings: Settings, crds: Sequence[Manifest], samples: Sequence[Path]) -> Objects:
    """The objects of other kinds in the samples, in ``tests/fixtures``, and in the files that the settings name.

    Raises:
        EnvironmentProblem: A file that the settings name is not there, or has something else.
    """
    written = [*documents(root, list(samples))]
    named = {each["metadata"].get("namespace") for each, _ in written if isinstance(each.get("metadata"), dict)}
    objects = Objects(crds, {each for each in named if isinstance(each, str)})
    for each, span in written:
        objects.take(each, span, is_named=False)
    fixtures = sorted(path for path in (root / FIXTURES).glob("*") if path.suffix in (".yaml", ".yml"))
    for path in fixtures[:_MOST_FIXTURES]:
        try:
            found = list(documents(root, [path]))
        except (EnvironmentProblem, OSError):
            continue  # a test may need a file that is not right
        for each, span in found:
            objects.take(each, span, is_named=False)
    take_named(objects, root, settings)
    return objects


def take_named(objects: Objects, root: Path, settings: Settings) -> None:
    """Add the objects in the files that the settings name.

    Raises:
        EnvironmentProblem: A file is not there, or has something else.
    """
    for name in settings.objects:
        path = _inside(root, name, settings.place("objects"))
        for each, span in documents(root, [path]):
            objects.take(each, span, is_named=True)
    objects.sort()


def named_functions(root: Path, settings: Settings) -> tuple[list[NamedActor], list[NamedInvariant]]:
    """The actors and the invariants that the settings name. They are imported when the exploration starts."""
    actors = [NamedActor(root, name, settings.place("actors")) for name in settings.actors]
    return actors, [NamedInvariant(root, name, settings.place("invariants")) for name in settings.invariants]


def _inside(root: Path, name: str, place: Span | None) -> Path:
    """A file of the project that the settings name."""
    try:
        path = locate(root.resolve(), name)
    except (OutsideError, ValueError) as error:
        reason = error.diagnostic.message if isinstance(error, OutsideError) else "it is not a path"
        raise SETTING.problem(f"`objects` names no file of the project: {reason}", span=place) from error
    if not path.is_file():
        known = sorted(each.relative_to(root).as_posix() for each in (root / FIXTURES).glob("*.y*ml"))
        raise SETTING.problem(f"`objects` names `{name}`, which is no file", *did_you_mean(name, known), span=place)
    return path


def _written(root: Path, files: list[Path]) -> list[tuple[Manifest, Span]]:
    """The objects in files, each with its place."""
    return [
        (found, span)
        for found, span in documents(root, files)
        if isinstance(found.get("apiVersion"), str) and isinstance(found.get("kind"), str)
    ]


def samples_among(
    written: Iterable[tuple[Manifest, Span]], own: Mapping[tuple[str, str], Manifest], places: dict[Identity, Span]
) -> dict[Identity, Manifest]:
    """The objects of the project's own kinds. Notes where they are written."""
    samples: dict[Identity, Manifest] = {}
    for found, span in written:
        crd = own.get((found["apiVersion"].rpartition("/")[0], found["kind"]))
        if crd is not None:
            manifest = placed(found, span, crd)
            identity = Identity.of(manifest)
            samples[identity], places[identity] = manifest, span
    return samples


def _definitions(root: Path) -> list[Manifest]:
    folder = config_path(root, CRDS)
    crds = read_crds([folder]) if folder.is_dir() else []
    for file, crd in crds:
        check_definition(crd, Span(str(file.relative_to(root)), 1, 1), "pykb generate")
    return [crd for _, crd in crds]


def check_definition(crd: Manifest, span: Span, remedy: str) -> None:
    """Check that a definition has what the explorer needs.

    Raises:
        EnvironmentProblem: It has not.
    """
    try:
        fine = crd["spec"]["group"] and crd["spec"]["names"]["kind"] and crd["spec"]["names"]["plural"]
        fine = fine and any(version["storage"] for version in crd["spec"]["versions"])
    except (KeyError, TypeError):
        fine = False
    if not fine:
        message = "this CustomResourceDefinition lacks a group, names or a stored version"
        raise NOT_EXPLORED.problem(message, remedy, span=span)


def documents(root: Path, files: list[Path]) -> Iterator[tuple[Manifest, Span]]:
    """Yield the documents of files, each with its place."""
    for path in files:
        if not path.is_file() or path.name == "kustomization.yaml":
            continue
        name = os.path.relpath(path, root)
        try:
            for document in yaml_text.documents(read_bytes(path)):
                if isinstance(document.content, dict):
                    start = document.node.start_mark
                    yield document.content, Span(name, start.line + 1, start.column + 1)
        except yaml.MarkedYAMLError as error:
            message = f"`{name}` {yaml_text.verdict(error)}: {error.problem}"
            raise NOT_EXPLORED.problem(message, span=yaml_text.place(error, name)) from error


def placed(sample: Manifest, span: Span, crd: Manifest | None) -> Manifest:
    """A sample with its namespace. Without a definition, it is of a kind of Kubernetes.

    Raises:
        EnvironmentProblem: It has no name.
    """
    metadata = sample.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        message = f"the sample of {sample['kind']} has no `metadata.name`"
        raise NOT_EXPLORED.problem(message, "give it a name", span=span)
    namespace = {"namespace": _NAMESPACE} if is_namespaced(gvk_of(sample), crd) else {}
    return {**sample, "metadata": {**metadata, **namespace}}


@dataclass(frozen=True, slots=True)
class _Registration:
    """The ``register`` of a module. It is imported on the first call: each worker does it, and may have threads then.

    Attributes:
        root: The folder of the project.
        module: The name of the module.
    """

    root: Path
    module: str

    def __call__(self, manager: Manager) -> None:
        """Call it."""
        _find_modules_in(self.root)
        found = _imported(self.root, self.module)
        if not hasattr(found, "register"):
            helps = ("the explorer calls `register(manager)`, as `pykb init` scaffolds it",)
            raise NOT_EXPLORED.problem(f"`{self.module}` has no `register`", *helps)
        found.register(manager)


def _find_modules_in(root: Path) -> None:
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))


def _load(root: Path, module: str, functions: Sequence[NamedActor | NamedInvariant]) -> None:
    _find_modules_in(root)
    if module:
        _imported(root, module)
    load_all(functions)


def load_all(functions: Sequence[NamedActor | NamedInvariant]) -> None:
    """Import functions that settings name.

    Raises:
        EnvironmentProblem: One cannot be imported, or is no such function.
    """
    for function in functions:
        function.load()


class _Named(ABC, Generic[T]):
    """A function that the settings name. It is imported when the exploration starts.

    Args:
        root: The folder of the project.
        name: Where it is: ``package.module:function``.
        place: Where that is written.
    """

    def __init__(self, root: Path, name: str, place: Span | None) -> None:
        self._root = root
        self._place = place
        self._function: T | None = None
        self.__name__ = name
        self.__module__ = name.partition(":")[0]  # whose variables outlive a process of the operator

    def load(self) -> T:
        """Import it, once.

        Raises:
            EnvironmentProblem: It cannot be imported, or cannot be called.
        """
        if self._function is None:
            self._function = self._checked(self._import())
        return self._function

    def _import(self) -> object:
        module, _, path = self.__name__.partition(":")
        try:
            found: Any = _imported(self._root, module)
        except EnvironmentProblem as problem:
            named = problem.diagnostic
            raise EnvironmentProblem(replace(named, span=named.span or self._place)) from problem
        for name in path.split("."):
            if not hasattr(found, name):
                known = [each for each, value in vars(found).items() if self._is_fit(value)]
                raise SETTING.problem(f"`{module}` has no `{path}`", *did_you_mean(path, known), span=self._place)
            found = getattr(found, name)
        return found

    @abstractmethod
    def _is_fit(self, value: object) -> bool:
        """Whether a value of a module may be meant."""

    @abstractmethod
    def _checked(self, value: Any) -> T:
        """What can be called."""


class NamedActor(_Named[Actor]):
    """An actor that the settings name."""

    async def __call__(self, client: Client) -> None:
        """Take the next step."""
        await self.load()(client)

    def _is_fit(self, value: object) -> bool:
        return inspect.iscoroutinefunction(value)

    def _checked(self, value: Any) -> Actor:
        if not (inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(type(value).__call__)):
            message = f"the actor `{self.__name__}` is no coroutine function"
            raise SETTING.problem(message, "define it as `async def act(cluster: Client)`", span=self._place)
        actor: Actor = value
        return actor


class NamedInvariant(_Named[Invariant]):
    """An invariant that the settings name."""

    def _is_fit(self, value: object) -> bool:
        return isinstance(value, Invariant) or (inspect.isfunction(value) and not inspect.iscoroutinefunction(value))

    def _checked(self, value: Any) -> Invariant:
        if not callable(value) or inspect.isclass(value) or inspect.iscoroutinefunction(value):
            message = f"the invariant `{self.__name__}` is no plain function"
            raise SETTING.problem(message, "define it as `def holds(cluster: ClusterView) -> bool`", span=self._place)
        return invariant_of(value)


def _imported(root: Path, module: str) -> ModuleType:
    with importing(root, f"`{module}`"):
        return importlib.import_module(module)


@contextlib.contextmanager
def importing(root: Path, what: str, *helps: str) -> Iterator[None]:
    """Tell what fails while the user's code is imported. The helps are for what is not installed.

    Raises:
        EnvironmentProblem: It cannot be imported.
    """
    try:
        yield
    except BaseException as error:
        if is_end(error) or isinstance(error, Interrupted):
            raise
        frames = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
        if isinstance(error, SyntaxError) and error.filename:
            frames.append((error.filename, error.lineno or 0))
        place = place_in(root, reversed(frames))
        message = f"{what} cannot be imported: {error_text(error)}"
        shown = helps if isinstance(error, ImportError) else ()
        raise NOT_EXPLORED.problem(message, *shown, span=place) from error


def _no_sample(kind: str, where: str, own: Iterable[tuple[str, str]], written: list[str]) -> Diagnostic:
    """Why there is nothing to explore: no kind, no CRD, or no sample."""
    kinds = sorted({name for _, name in own})
    asked = [name for name in written if not kind or name.lower() == kind.lower()]
    if kind and not asked and (near := closest(kind, [*kinds, *written])):
        return NOT_EXPLORED.at(None, f"there is no sample of the kind `{kind}`", f"did you mean `{near}`?")
    if asked:
        message = f"there is no CustomResourceDefinition of {asked[0]} in `{CONFIG}/{CRDS}`"
        return NOT_EXPLORED.at(None, message, "pykb generate")
    if not kinds:
        first = ("for the first kind: `pykb create api --help`", "for the CRDs of present kinds: `pykb generate`")
        return NOT_EXPLORED.at(None, "this project has no kind of its own to explore", *first)
    what = f"of the kind `{kind}`" if kind else f"of {', '.join(kinds)}"
    helps = ("write one: the explorer begins with its creation",)
    return NOT_EXPLORED.at(None, f"there is no sample {what} in `{where}`", *helps)
