"""Finds plugins by their keys: the built-in ones, and those that other packages register."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points

from pykb.diagnostics import Diagnostic, Diagnostics
from pykb.diagnostics.codes.scaffold import PLUGIN_BROKEN, PLUGIN_UNKNOWN
from pykb.diagnostics.suggest import closest
from pykb.plugins.kustomize_v1 import KustomizeV1
from pykb.plugins.plugin import Bundle, Plugin, PluginKey
from pykb.plugins.python_v1 import PythonV1

ENTRY_POINTS = "pykb.plugins"

DEFAULT = Bundle(
    PluginKey("python.pykb.dev", "v1"),
    "an operator in Python: kustomize manifests and the code",
    (KustomizeV1(), PythonV1()),
)
"""The default layout of a project."""


def built_in() -> tuple[Plugin, ...]:
    """The plugins of pykb itself."""
    return (DEFAULT, *DEFAULT.parts)


def resolve(keys: Iterable[str], found: Diagnostics) -> list[Plugin]:
    """The plugins for keys, in order. Reports keys that cannot be resolved."""
    chain: list[Plugin] = []
    for key in keys:
        plugin = _resolve(key, found)
        if plugin is not None and plugin not in chain:
            chain.append(plugin)
    return chain


def _resolve(key: str, found: Diagnostics) -> Plugin | None:
    candidates = [plugin for plugin in built_in() if plugin.key.answers_to(key)]
    points = () if candidates else entry_points(group=ENTRY_POINTS)
    registered = [point for point in points if PluginKey.parse(point.name).answers_to(key)]
    candidates += [plugin for point in registered if (plugin := _load(point, found)) is not None]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = ", ".join(f"`{plugin.key}`" for plugin in candidates)
        found.add(
            PLUGIN_UNKNOWN.at(None, f"`{key}` matches more than one plugin: {names}", help=("write the whole key",))
        )
    elif not registered:  # else they cannot be loaded, which is reported
        found.add(_unknown(key))
    return None


def _unknown(key: str) -> Diagnostic:
    registered = sorted(point.name for point in entry_points(group=ENTRY_POINTS))
    known = [*(str(plugin.key) for plugin in built_in()), *registered]
    name, slash, version = key.partition("/")
    near = closest(key, known) or closest(name, (k.partition(".")[0] for k in known))
    suggestion = f"{near}{slash}{version}" if near and "/" not in near else near
    helps = (f"a plugin with a similar name exists: `{suggestion}`",) if near else ("installed: " + ", ".join(known),)
    return PLUGIN_UNKNOWN.at(None, f"no plugin has the key `{key}`", help=helps)


def _load(point: EntryPoint, found: Diagnostics) -> Plugin | None:
    """Load a plugin of another package."""
    try:
        value = point.load()
    except Exception as error:  # noqa: BLE001 - code of another package, run at import
        message = f"the plugin `{point.name}` cannot be loaded: `{type(error).__name__}: {error}`"
        found.add(PLUGIN_BROKEN.at(None, message, help=("update or uninstall its package",)))
        return None
    plugin = value() if isinstance(value, type) else value
    if isinstance(plugin, Plugin):
        return plugin
    found.add(PLUGIN_BROKEN.at(None, f"`{point.value}`, registered as `{point.name}`, is not a plugin"))
    return None
