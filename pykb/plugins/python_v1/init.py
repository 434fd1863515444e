"""The code of a new project and the files around it."""

from __future__ import annotations

from tokenize import TokenError

from pykb.plugins.kustomize_v1.init import FOLDER
from pykb.plugins.request import InitRequest
from pykb.python_source.layout import laid_out, line_length
from pykb.scaffold.plan import OnExists, PlanBuilder

YOURS = frozenset({"README.md", "LICENSE", "AGENTS.md"})
"""Files that a new repository often has before the project; they stay as they are."""

IGNORES = frozenset({".gitignore", ".dockerignore"})
"""Files of one rule a line: rules that are missing are added, none is taken away."""


def scaffold(request: InitRequest, plan: PlanBuilder) -> None:
    """Take what the template has, but for ``config``."""
    settings = request.files.get("pyproject.toml")
    width = line_length(settings.content if settings else None)
    for path, file in request.files.items():
        if path.startswith(FOLDER):
            continue
        present, content = plan.current(path), file.content
        if width and path.endswith(".py"):
            content = _formatted(content, width)
        if present is not None and path in IGNORES:
            plan.update(path, _joined(present, file.content))
        else:
            plan.create(path, content, on_exists=OnExists.KEEP if path in YOURS else OnExists.REFUSE, mode=file.mode)


def _formatted(content: bytes, width: int) -> bytes:
    """Python as the project's formatter writes it; a template of others may have something else there."""
    try:
        return laid_out(content.decode(), width).encode()
    except (UnicodeDecodeError, SyntaxError, TokenError):  # the plan says so
        return content


def _joined(present: bytes, wanted: bytes) -> bytes:
    """The rules that are there, and behind them those that are missing."""
    known = {line.strip() for line in present.splitlines()}
    missing = [line for line in wanted.splitlines() if line.strip() and line.strip() not in known]
    if not any(not line.startswith(b"#") for line in missing):
        return present
    separator = b"" if not present or present.endswith(b"\n") else b"\n"
    return present + separator + b"\n".join([b"", *missing, b""])
