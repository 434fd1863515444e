"""A kubeconfig as data: reads files, merges them and resolves a context. It runs no program and connects nowhere.

Source: https://kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig/#merging-kubeconfig-files
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostic, EnvironmentProblem
from pykb.diagnostics.codes.environment import KUBECONFIG
from pykb.diagnostics.suggest import did_you_mean


@dataclass(frozen=True, slots=True)
class Entry:
    """A named cluster, user or context, and its file, which relative paths in it are relative to."""

    name: str
    values: Mapping[str, Any]
    file: Path

    @property
    def base(self) -> Path:
        """The directory that paths in this entry are relative to."""
        return self.file.parent


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """One kubeconfig, or several merged. Of two entries with the same name, the first file's whole entry counts."""

    files: tuple[Path, ...]
    current_context: str = ""
    clusters: Mapping[str, Entry] = field(default_factory=dict)
    users: Mapping[str, Entry] = field(default_factory=dict)
    contexts: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The files, for messages."""
        return ", ".join(map(str, self.files))


@dataclass(frozen=True, slots=True)
class ResolvedContext:
    """The cluster, the user and the namespace of a context."""

    name: str
    namespace: str
    cluster: Entry
    user: Entry | None


def read_kubeconfig(paths: Sequence[Path], *, missing_ok: bool) -> Kubeconfig:
    """Read and merge kubeconfigs. The first one takes precedence.

    Args:
        paths: The files.
        missing_ok: Whether a missing file counts as empty (KUBECONFIG) or is an error
            (``--kubeconfig``).

    Raises:
        EnvironmentProblem: A file cannot be read, is not YAML, or has the wrong shape.
    """
    read: list[Path] = []
    current = ""
    sections: dict[str, dict[str, Entry]] = {"clusters": {}, "users": {}, "contexts": {}}
    for path in paths:
        if missing_ok and not path.exists():
            continue
        document = _load(path)
        read.append(path)
        current = current or str(document.get("current-context") or "")
        for section, entries in sections.items():
            for name, values in _named(document, section, path):
                entries.setdefault(name, Entry(name, values, path))
    return Kubeconfig(tuple(read), current, **sections)


def resolve_context(config: Kubeconfig, name: str | None = None) -> ResolvedContext:
    """The cluster, the user and the namespace of a context.

    Args:
        config: The kubeconfig.
        name: The context. Defaults to the current one.

    Raises:
        EnvironmentProblem: The context does not exist, or its cluster or user does not exist.
    """
    chosen = name or config.current_context
    if not chosen:
        raise EnvironmentProblem(_no_context(config))
    context = _entry(config, "contexts", "context", chosen)
    cluster = _entry(config, "clusters", "cluster", str(context.values.get("cluster") or ""), by=context)
    user = context.values.get("user")
    return ResolvedContext(
        name=chosen,
        namespace=str(context.values.get("namespace") or ""),
        cluster=cluster,
        user=_entry(config, "users", "user", str(user), by=context) if user else None,
    )


def _load(path: Path) -> Mapping[str, Any]:
    import yaml

    from pykb.reading import yaml_text

    try:
        document = yaml_text.load(path.read_bytes())
    except OSError as error:
        raise KUBECONFIG.problem(
            f"kubeconfig `{path}` cannot be read: {error.strerror or error}",
            "name another with `--kubeconfig` or KUBECONFIG, or start a control plane: `pykb cluster up`",
        ) from error
    except yaml.MarkedYAMLError as error:
        message = f"kubeconfig `{path}` {yaml_text.verdict(error)}"
        raise KUBECONFIG.problem(message, notes=yaml_text.reason(error)) from error
    if document is None:
        return {}
    if not isinstance(document, dict):
        found = type(document).__name__
        raise KUBECONFIG.problem(f"kubeconfig `{path}` holds a {found}, expected a mapping")
    return document


def _named(document: Mapping[str, Any], section: str, path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    inner = section.removesuffix("s")
    found: list[tuple[str, Mapping[str, Any]]] = []
    items = document.get(section) or ()
    if not isinstance(items, list | tuple):
        raise KUBECONFIG.problem(f"`{section}` of kubeconfig `{path}` is not a list")
    for item in items:
        values = item.get(inner) if isinstance(item, dict) else None
        if not isinstance(item, dict) or not item.get("name") or not isinstance(values or {}, dict):
            message = f"`{section}` of kubeconfig `{path}` has an entry that is not a `name` with a `{inner}`"
            raise KUBECONFIG.problem(message)
        _check_shape(values or {}, f"{inner} `{item['name']}` of kubeconfig `{path}`")
        found.append((str(item["name"]), values or {}))
    return found


def _check_shape(values: Mapping[str, Any], owner: str) -> None:
    """Check the shape of mappings and lists. Single values are read as text."""
    for key, (fits, expected) in _SHAPES.items():
        if values.get(key) is not None and not fits(values[key]):
            raise KUBECONFIG.problem(f"`{key}` of {owner} must be {expected}")


def _is_mapping(value: object) -> bool:
    return isinstance(value, dict)


def _is_list_of_mappings(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


_SHAPES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "exec": (_is_mapping, "a mapping"),
    "auth-provider": (_is_mapping, "a mapping"),
    "extensions": (_is_list_of_mappings, "a list of mappings"),
    "as-groups": (lambda value: isinstance(value, list), "a list"),
    "as-user-extra": (
        lambda value: isinstance(value, dict) and all(isinstance(each, list) for each in value.values()),
        "a mapping to lists",
    ),
}


def _entry(config: Kubeconfig, section: str, noun: str, name: str, by: Entry | None = None) -> Entry:
    entries: Mapping[str, Entry] = getattr(config, section)
    if name in entries:
        return entries[name]
    wanted_by = f", which context `{by.name}` names" if by else ""
    message = f"there is no {noun} `{name}` in kubeconfig {config.where}{wanted_by}"
    helps = did_you_mean(name, entries) or (f"known {noun}s: {', '.join(sorted(entries)) or 'none'}",)
    raise KUBECONFIG.problem(message, *helps)


def _no_context(config: Kubeconfig) -> Diagnostic:
    names = ", ".join(sorted(config.contexts))
    return KUBECONFIG.at(
        None,
        f"kubeconfig {config.where} has no `current-context`",
        f"choose one of {names}: `kubectl config use-context <name>`" if names else "",
    )
