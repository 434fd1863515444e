"""What is wrong with a plugin, or with its answer."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

PLUGIN_UNKNOWN = Code(
    "plugin-unknown",
    "no plugin has this name",
    "A plugin key is `name.domain/version`. `name` or `name/version` is enough if only one plugin matches. Plugins of "
    "other packages register under the entry point group `pykb.plugins`. Executables are found in the folder of "
    "`EXTERNAL_PLUGINS_PATH` as `<name>/<version>/<name>`, by default in kubebuilder's folder of plugins.",
)

PLUGIN_BROKEN = Code(
    "plugin-broken",
    "a plugin cannot be loaded",
    "The package that registers the plugin is installed, but its module cannot be imported or is not a plugin. An "
    "external plugin must be an executable file of yours or of root, which nobody else can write.",
)

PLUGIN_FAULT = Code(
    "plugin-fault",
    "a plugin failed or gave a wrong answer",
    "The mistake is in the plugin, not in pykb or in your project. Nothing is written. A plugin in Python raised an "
    "exception or gave pykb a value of the wrong type. An external plugin answers with one JSON object on stdout: "
    '`apiVersion` is `"v1alpha1"`, `universe` maps paths in the project to texts, `error` is true or false, '
    "`errorMsgs` is a list of strings. It ends with exit code 0, within a minute, and writes at most 64 MiB.",
)

PLUGIN_ERROR = Code(
    "plugin-error",
    "a plugin reports an error",
    "An external plugin refused the command, with its own words. Nothing is written. See the documentation of the "
    "plugin.",
)

PLUGIN_UNNAMED = Code(
    "plugin-unnamed",
    "PROJECT names an external plugin that you have not named",
    "A repository must not choose which programs of yours run. So pykb runs an external plugin only if you named it "
    "with `--plugins`, once in each copy of the project. pykb remembers that in `.pykb/plugins`.",
)

PLUGIN_NOTE = Code(
    "plugin-note",
    "a plugin wrote a message",
    "An external plugin wrote to stderr, or changed a file that only pykb writes. Its other changes are used.",
    Severity.NOTE,
)

CHART_EDITED = Code(
    "chart-edited",
    "a file of a chart or bundle was edited and is out of date",
    "A Helm chart or an OLM bundle is made of config/. pykb keeps what you edit in it. If config/ changes what such a "
    "file should have, pykb says so and leaves the file as it is. `--force` writes the current version and keeps yours "
    "in `.pykb/backup`. The values of a chart are different: your values.yaml gets new keys, and keeps your changes.",
    Severity.WARNING,
)

CHART_LATER = Code(
    "chart-later",
    "the chart was not written yet",
    "A chart is made of what kustomize renders of config/default. That needs `kustomize` or `kubectl`.",
    Severity.NOTE,
)

BUNDLE_LEFT_OUT = Code(
    "bundle-left-out",
    "a bundle cannot have something that config/ has",
    "OLM installs only the kinds of objects that it knows, and a ClusterServiceVersion has fewer fields for webhooks "
    "than their configuration. pykb leaves out the rest and says so. Install it in another way.",
    Severity.WARNING,
)

PLUGIN_KEPT = Code(
    "plugin-kept",
    "a plugin or its files cannot be removed",
    "`pykb edit --remove-plugins` removes plugins that PROJECT lists in `layout`, with the files that they wrote. The "
    "plugin that makes the project cannot be removed. The files of an external plugin stay, since PROJECT does not "
    "record which they are.",
)
