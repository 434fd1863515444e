"""Errors and warnings of `pykb edit`."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

NOT_FOLLOWED = Code(
    "not-followed",
    "code cannot be followed to the new layout",
    "`pykb edit --multigroup` moves modules and rewrites their imports, also in your own files. It does not rewrite "
    "names of modules in texts, such as arguments of `importlib.import_module` or `monkeypatch.setattr`, and imports "
    "in unusual forms. Nothing is moved until the listed lines do without the old names.",
)

MOVED_MENTION = Code(
    "moved-mention",
    "a file mentions a module or folder that moves",
    "`pykb edit --multigroup` rewrites Python code, manifests and PROJECT. Other files may name a moved module or "
    "folder, such as a setting in pyproject.toml or a sentence in README.md. Change these lines yourself.",
    Severity.WARNING,
)

LEFT_AS_EDITED = Code(
    "left-as-edited",
    "a change was left out, since the line was edited",
    "`pykb edit` changes scaffolded lines as a new scaffold would have them. Lines that you edited stay. The message "
    "shows what the scaffold would have there.",
    Severity.WARNING,
)

GROUPS_FIXED = Code(
    "groups-fixed",
    "the groups of a project cannot be put together again",
    "`pykb edit --multigroup` gives each API group its own folders. There is no way back by command, since names that "
    "are unique in each group may clash. Use git to return to an earlier state.",
)

CLUSTER_WIDE = Code(
    "cluster-wide",
    "a marker gives a permission in the whole cluster",
    "In a project with `namespaced: true`, scaffolded markers have `namespace=`, which makes a Role of them. Your own "
    "markers without it make a ClusterRole. Keep those for cluster-scoped kinds such as nodes. Add `namespace=` to the "
    "others.",
    Severity.WARNING,
)
