"""Finds plugins by their keys: the built-in ones, and those that other packages register."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from pykb.diagnostics import NOTHING_WRITTEN, Diagnostic, Diagnostics, Severity
from pykb.diagnostics.codes.project import PLUGIN_BROKEN, PLUGIN_UNKNOWN, PLUGIN_UNNAMED
from pykb.diagnostics.suggest import closest
from pykb.plugins.deploy_image_v1 import DeployImageV1
from pykb.plugins.external import ExternalPlugin, installed, trusted, usable
from pykb.plugins.grafana_v1 import GrafanaV1
from pykb.plugins.helm_v1 import HelmV1
from pykb.plugins.kustomize_v1 import KustomizeV1
from pykb.plugins.olm_v1 import OlmV1
from pykb.plugins.plugin import AnyPlugin, Bundle, Guarded, Plugin, PluginKey
from pykb.plugins.python_v1 import PythonV1
from pykb.project.file import is_of_kubebuilder

ENTRY_POINTS = "pykb.plugins"

DEFAULT = Bundle(
    PluginKey("python.pykb.dev", "v1"),
    "an operator in Python: kustomize manifests and the code",
    (KustomizeV1(), PythonV1()),
)
"""The default layout of a project."""

MAKERS: tuple[AnyPlugin, ...] = (DEFAULT, *DEFAULT.parts)
"""The plugins that make a project."""

ADDITIONS: tuple[Plugin, ...] = (DeployImageV1(), GrafanaV1(), HelmV1(), OlmV1())
"""Plugins that need another one, which makes the project."""


def built_in() -> tuple[AnyPlugin, ...]:
    """The plugins of pykb itself."""
    return (*MAKERS, *ADDITIONS)


def resolve(named: Sequence[str], layout: Sequence[str], root: Path, diagnostics: Diagnostics) -> list[AnyPlugin]:
    """The plugins of a command, in order: those that the command line names, else those of PROJECT.

    If the command line names only additions, they come after the plugins of PROJECT. Reports keys that cannot be
    resolved, and external plugins of PROJECT that the user never named.
    """
    chain: list[AnyPlugin] = []
    for key in named or layout:
        plugin = _resolve(key, diagnostics)
        if plugin is None or plugin in chain:
            continue
        if _is_external(plugin) and not named and str(plugin.key) not in trusted(root):
            diagnostics.add(_unnamed(plugin.key, layout))
        chain.append(plugin)
    if named and all(plugin in ADDITIONS for plugin in chain):
        project = resolve((), layout, root, diagnostics)
        return [*project, *(plugin for plugin in chain if plugin not in project)]
    return chain


def in_process(layout: Sequence[str], diagnostics: Diagnostics) -> list[AnyPlugin]:
    """The plugins in Python, in order. External ones are left out: PROJECT does not record their options."""
    plugins = (_resolve(key, diagnostics) for key in layout)
    return [plugin for plugin in plugins if plugin is not None and not _is_external(plugin)]


def external(layout: Sequence[str], root: Path, diagnostics: Diagnostics) -> list[AnyPlugin]:
    """The external plugins of PROJECT that the user has named. Says which others there are."""
    plugins = [plugin for key in layout if (plugin := _resolve(key, diagnostics)) is not None and _is_external(plugin)]
    allowed = trusted(root)
    for plugin in plugins:
        if str(plugin.key) not in allowed:
            message = f"PROJECT names the external plugin `{plugin.key}`, which you have not named: it was not run"
            diagnostics.report(PLUGIN_UNNAMED, None, message, severity=Severity.NOTE)
    return [plugin for plugin in plugins if str(plugin.key) in allowed]


def keys(chain: Iterable[AnyPlugin]) -> tuple[str, ...]:
    """The keys of plugins, each bundle followed by its parts, as kubebuilder tells them to external plugins."""
    return tuple(
        str(each.key) for plugin in chain for each in (plugin, *(plugin.parts if isinstance(plugin, Bundle) else ()))
    )


def _is_external(plugin: AnyPlugin) -> bool:
    return isinstance(plugin, Guarded) and isinstance(plugin.plugin, ExternalPlugin)


def _unnamed(key: PluginKey, layout: Sequence[str]) -> Diagnostic:
    message = f"PROJECT names the external plugin `{key}`, which you have not named in this copy of the project"
    helps = (f"if you trust this project: `--plugins {','.join(layout)}`, once",)
    return PLUGIN_UNNAMED.at(None, message, *helps, notes=("it was not run", NOTHING_WRITTEN))


def _resolve(key: str, diagnostics: Diagnostics) -> AnyPlugin | None:
    """The built-in plugin with a key, else that of a package, else an executable."""
    answering = _of_pykb(key) or _of_packages(key, diagnostics) or _of_programs(key, diagnostics)
    usable = [plugin for plugin in answering if plugin is not None]
    if len(usable) == 1:
        return usable[0]
    if usable:
        names = ", ".join(f"`{plugin.key}`" for plugin in usable)
        message = f"`{key}` matches more than one plugin: {names}"
        diagnostics.report(PLUGIN_UNKNOWN, None, message, "write the whole key")
    elif not answering:
        diagnostics.add(_unknown(key))
    return None


def _of_pykb(key: str) -> Sequence[AnyPlugin | None]:
    """The built-in plugins that answer to a key."""
    return [plugin for plugin in built_in() if plugin.key.answers_to(key)]


def _of_packages(key: str, diagnostics: Diagnostics) -> Sequence[AnyPlugin | None]:
    """The plugins of other packages that answer to a key. `None` for each that cannot be used, which is reported."""
    points = entry_points(group=ENTRY_POINTS)
    return [_load(point, diagnostics) for point in points if PluginKey.parse(point.name).answers_to(key)]


def _of_programs(key: str, diagnostics: Diagnostics) -> Sequence[AnyPlugin | None]:
    """The executables that answer to a key. `None` for each that cannot be used, which is reported."""
    programs = {each: program for each, program in installed().items() if each.answers_to(key)}
    return [
        Guarded(ExternalPlugin(each, program)) if usable(each, program, diagnostics) else None
        for each, program in programs.items()
    ]


def _unknown(key: str) -> Diagnostic:
    registered = sorted(point.name for point in entry_points(group=ENTRY_POINTS))
    known = [*(str(plugin.key) for plugin in built_in()), *registered, *map(str, installed())]
    shorts = {each.name.partition(".")[0]: each.version for each in map(PluginKey.parse, known)}
    near = closest(key, known)
    if near is None and (short := closest(PluginKey.parse(key).name.partition(".")[0], shorts)):
        near = f"{short}/{shorts[short]}"  # another version of it, or kubebuilder's
    if near is None and is_of_kubebuilder(key):
        helps = ("pykb writes Python: leave `--plugins` out, or name `python/v1`",)
        return PLUGIN_UNKNOWN.at(None, f"`{key}` is a plugin of kubebuilder, which writes Go", *helps)
    helps = (f"a plugin with a similar name exists: `{near}`",) if near else ("installed: " + ", ".join(known),)
    return PLUGIN_UNKNOWN.at(None, f"no plugin has the key `{key}`", *helps)


def _load(point: EntryPoint, diagnostics: Diagnostics) -> AnyPlugin | None:
    """Load a plugin of another package."""
    try:
        value = point.load()
        plugin = value() if isinstance(value, type) else value
    except Exception as error:  # noqa: BLE001 - code of another package, run at import
        message = f"the plugin `{point.name}` cannot be loaded: `{type(error).__name__}: {error}`"
        diagnostics.report(PLUGIN_BROKEN, None, message, "update or uninstall its package")
        return None
    if isinstance(plugin, Plugin | Bundle) and isinstance(plugin.key, PluginKey):
        return Guarded(plugin)
    diagnostics.report(PLUGIN_BROKEN, None, f"`{point.value}`, registered as `{point.name}`, is not a plugin")
    return None
