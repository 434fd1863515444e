"""Mistakes in controller-gen command lines (``pykb generate rbac:roleName=x crd paths=./...``)."""

from __future__ import annotations

from pykb.diagnostics.model import Code, Severity

COMMAND_LINE = Code(
    "generate-command-line",
    "a word of a controller-gen command line is not understood",
    "`pykb generate` understands controller-gen's command line: generators with their options (`crd`, "
    "`rbac:roleName=x`, `webhook`), `paths=./...`, and output rules "
    "(`output:dir=D`, `output:crd:artifacts:config=D`, `output:stdout`). "
    "Options of one generator are separated by commas; lists by semicolons.",
)
COMMAND_LINE_GO = Code(
    "generate-go-only",
    "a generator of Go code",
    "controller-gen's `object` and `applyconfiguration` generate Go code, which Python does not need. pykb accepts "
    "and ignores them, so that you can move a Makefile unchanged.",
    Severity.NOTE,
)
