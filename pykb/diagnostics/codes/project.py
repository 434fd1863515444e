"""Mistakes in PROJECT, commands that conflict with it, and what is wrong with its plugins."""

from __future__ import annotations

from pykb.diagnostics.model import Code, note, warning

PROJECT_MISSING = Code(
    "project-missing",
    "no project was found",
    "The command looks for the file PROJECT in the working directory and its parent directories.",
)

PROJECT_OWNER = Code(
    "project-owner",
    "the project belongs to another user",
    "pykb uses a project in a parent directory only if you or root own its directory and its PROJECT. Otherwise, "
    "anyone who can create a file in a shared directory such as /tmp could make your commands run their code. pykb "
    "always uses a project in the working directory itself.",
)

PROJECT_EXISTS = Code(
    "project-exists",
    "the directory already contains a project",
    "`pykb init` starts a project only once. To start over, remove the files. To add a kind, use `pykb create api`.",
)

RESTORE = "correct the line, or go back to the last commit: `git checkout PROJECT`"
PROJECT_SYNTAX = Code(
    "project-syntax",
    "PROJECT is not YAML",
    "PROJECT is a YAML file that pykb writes. After a manual edit it can no longer be read.",
)

PROJECT_FIELD = Code(
    "project-field",
    "a field of PROJECT has an invalid value",
    "PROJECT follows kubebuilder's version 3: `version`, `domain`, `projectName`, `repo`, `layout`, `multigroup`,"
    " `namespaced`, `resources`, `plugins`. Other keys are kept and have no effect."
    " pykb warns of them, unless they begin with `x-`.",
)

PROJECT_VERSION = Code(
    "project-version",
    "PROJECT has a version that pykb does not know",
    'pykb reads and writes version "3" of the file, which kubebuilder v3 and v4 use.',
)

PROJECT_CLI_VERSION = warning(
    "project-cli-version",
    "the project was made by another version of pykb",
    "`cliVersion` in PROJECT is the version of pykb that created the project. What another version adds may need "
    "another runtime than the project pins. Use the project's own pykb, or bring the project to the version that you "
    "use: `pykb update`. The changelog lists the changes between the two.",
)

PROJECT_LAYOUT = Code(
    "project-layout",
    "the project was made by another tool",
    "The `layout` of PROJECT names the plugins that created the project. pykb only extends projects of its own "
    "layout. Use kubebuilder for a Go project. To continue in Python, run `pykb init` in a new directory. "
    "`pykb import crd` makes Python types from the CRDs of the Go project.",
)

RESOURCE_EXISTS = Code(
    "resource-exists",
    "the API is already in the project",
    "PROJECT lists a resource with the same group, version and kind. `--force` writes its files again and keeps the "
    "old ones in `.pykb/backup`.",
)

RESOURCE_CONFLICT = Code(
    "resource-conflict",
    "the API contradicts one that is already in the project",
    "Within a group, two kinds must not share a plural or differ only in upper and lower case. A kind has one plural "
    "in all versions. A kind `<Other>List` is the list of the kind `<Other>`.",
)

VERSION_SOURCE = Code(
    "version-source",
    "a new version cannot be a copy of this version",
    "`pykb create api --from VERSION` copies types and sample from a version of the same kind in this project. Its "
    "module of types must import `GROUP_VERSION` in the scaffolded form, because the copy must import that of the new "
    "version.",
)

MULTIGROUP_OFF = Code(
    "multigroup-off",
    "the project supports only one API group",
    "A project has one API group. `pykb edit --multigroup` gives each group its own folders and moves the files there, "
    "as `pykb init --multigroup` does from the start.",
)

CONTROLLER_EXISTS = Code(
    "controller-exists",
    "the resource already has a controller",
    "To add a second controller of the same resource, give it a name with `--controller-name`.",
)

NOTHING_TO_DO = Code(
    "nothing-to-do",
    "the command would scaffold nothing",
    "Without a resource and without a controller there is nothing to write.",
)

UNCHANGED = note(
    "unchanged",
    "the project is already up to date",
    "The project already has everything that the command would write. Nothing was changed.",
)


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

PLUGIN_NOTE = note(
    "plugin-note",
    "a plugin wrote a message",
    "An external plugin wrote to stderr, or changed a file that only pykb writes. Its other changes are used.",
)

CHART_EDITED = warning(
    "chart-edited",
    "a file of a chart or bundle was edited and is out of date",
    "A Helm chart or an OLM bundle is made of config/. pykb keeps what you edit in it. If config/ changes what such a "
    "file should have, pykb says so and leaves the file as it is. `--force` writes the current version and keeps yours "
    "in `.pykb/backup`. The values of a chart are different: your values.yaml gets new keys, and keeps your changes.",
)

CHART_LATER = note(
    "chart-later",
    "the chart was not written yet",
    "A chart is made of what kustomize renders of config/default. That needs `kustomize` or `kubectl`.",
)

BUNDLE_LEFT_OUT = warning(
    "bundle-left-out",
    "a bundle cannot have something that config/ has",
    "OLM installs only the kinds of objects that it knows, and a ClusterServiceVersion has fewer fields for webhooks "
    "than their configuration. pykb leaves out the rest and says so. Install it in another way.",
)

PLUGIN_KEPT = Code(
    "plugin-kept",
    "a plugin or its files cannot be removed",
    "`pykb edit --remove-plugins` removes plugins that PROJECT lists in `layout`, with the files that they wrote. The "
    "plugin that makes the project cannot be removed. The files of an external plugin stay, since PROJECT does not "
    "record which they are.",
)

KUBERNETES_VERSION = Code(
    "kubernetes-version",
    "the oldest Kubernetes of a project is not a version",
    'A project names the oldest Kubernetes that it supports: `kubernetes = ">=1.33"` in `[tool.pykb]` of '
    "pyproject.toml. `pykb init --kubernetes 1.33` writes it. The value is a string with `>=` and a minor version. "
    "TOML reads 1.30 without quotes as 1.3. A newest version cannot be named, since API servers accept what older ones "
    "accept. A pykb knows the features of the versions that it names in the message; a newer pykb knows newer ones.",
)
