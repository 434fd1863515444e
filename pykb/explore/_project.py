"""What is explored in a generated project: its `register`, CRDs, role and samples."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pykb.diagnostics import EnvironmentProblem
from pykb.diagnostics.codes.explore import NOT_EXPLORED
from pykb.explore._actors import Actor
from pykb.explore._history import Manifest
from pykb.explore._world import Subject
from pykb.reading import yaml_text
from pykb.runtime import Manager

CRDS = "config/crd/bases"
SAMPLES = "config/samples"
ROLE = "config/rbac/role.yaml"
WEBHOOKS = "config/webhook/manifests.yaml"
_NAMESPACE = "default"


def subject_of(
    root: Path,
    *,
    register: Callable[[Manager], None] | None = None,
    package: str = "",
    sample: str | None = None,
    kind: str = "",
    actors: Sequence[Actor] = (),
) -> Subject:
    """Read a project.

    Args:
        root: The folder of PROJECT.
        register: Registers the controllers. Defaults to that of the package's ``__main__``.
        package: The import package.
        sample: The file of one sample, relative to the project. Defaults to all in ``config/samples``.
        kind: Only samples of this kind.
        actors: What other controllers and people do.

    Raises:
        EnvironmentProblem: There is no CRD or no sample, or the manager cannot be imported.
    """
    crds = list(_documents(sorted((root / CRDS).glob("*.yaml"))))
    files = [root / sample] if sample else sorted((root / SAMPLES).glob("*.yaml"))
    if not crds:
        helps = ("run `pykb generate`",)
        raise EnvironmentProblem(NOT_EXPLORED.at(None, f"`{CRDS}` has no CustomResourceDefinition", help=helps))
    own = {(crd["spec"]["group"], crd["spec"]["names"]["kind"]): crd for crd in crds}
    samples = []
    for manifest in _documents(files):
        group = manifest["apiVersion"].rpartition("/")[0]
        crd = own.get((group, manifest["kind"]))
        if crd is not None and (not kind or manifest["kind"].lower() == kind.lower()):
            samples.append(_placed(manifest, crd))
    if not samples:
        raise EnvironmentProblem(_no_sample(kind, files))
    rules = [rule for role in _documents([root / ROLE]) for rule in role.get("rules") or ()]
    webhooks = list(_documents([root / WEBHOOKS]))
    called = register or _register_of(root, package)
    return Subject(called, crds, samples, rules or None, root.resolve(), actors, webhooks)


def _documents(files: list[Path]) -> Iterator[dict[str, Any]]:
    for path in files:
        if path.is_file() and path.name != "kustomization.yaml":
            yield from (each for each in yaml_text.load_all(path.read_bytes()) if isinstance(each, dict))


def _placed(manifest: Manifest, crd: dict[str, Any]) -> Manifest:
    metadata = dict(manifest["metadata"])
    if crd["spec"].get("scope") == "Namespaced":
        metadata["namespace"] = _NAMESPACE
    return {**manifest, "metadata": metadata}


def _register_of(root: Path, package: str) -> Callable[[Manager], None]:
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    module = f"{package}.__main__"

    def register(manager: Manager) -> None:
        try:
            found: Callable[[Manager], None] = importlib.import_module(module).register
        except (ImportError, AttributeError) as error:
            message = f"`{module}` has no `register` that can be used: {error}"
            helps = ("the explorer calls `register(manager)`, as `pykb init` scaffolds it",)
            raise EnvironmentProblem(NOT_EXPLORED.at(None, message, help=helps)) from error
        found(manager)

    return register  # imports on the first call: each worker does it, and may have threads then


def _no_sample(kind: str, files: list[Path]) -> Any:
    what = f"of the kind `{kind}`" if kind else "of a kind of this project"
    where = f"`{files[0]}`" if len(files) == 1 else f"`{SAMPLES}`"
    return NOT_EXPLORED.at(
        None, f"there is no sample {what} in {where}", help=("write one: the explorer begins with its creation",)
    )
