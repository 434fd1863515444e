"""Project templates: a cookiecutter tree, rendered into a temporary folder and read back. No hook of it is run."""

from __future__ import annotations

import json
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.scaffold import TEMPLATE_BROKEN, TEMPLATE_MISSING
from pykb.scaffold.locate import templates


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """One file of a rendered tree."""

    content: bytes
    mode: int


def render(source: Path, variables: Mapping[str, Any], found: Diagnostics) -> dict[str, RenderedFile]:
    """Render a template folder; the files by their path in the project. Empty with a finding when it cannot be done.

    Args:
        source: The folder with ``cookiecutter.json``.
        variables: What pykb knows; other variables of the template take their defaults.
        found: Takes what is wrong with the template.
    """
    context = _context(source, variables, found)
    _check_links(source, found)
    if found.has_errors:
        return {}
    from cookiecutter.exceptions import CookiecutterException, NonTemplatedInputDirException
    from cookiecutter.generate import generate_files
    from jinja2.exceptions import TemplateError

    with tempfile.TemporaryDirectory(prefix="pykb-") as folder:
        try:
            made = generate_files(source, {"cookiecutter": context}, output_dir=folder, accept_hooks=False)
        except NonTemplatedInputDirException:
            message = "the project template has no folder named `{{cookiecutter.project_name}}`"
            found.add(TEMPLATE_BROKEN.at(None, message, notes=(f"looked in `{source}`",)))
            return {}
        except (CookiecutterException, TemplateError, UnicodeDecodeError) as error:
            found.add(TEMPLATE_BROKEN.at(None, "the project template cannot be rendered", notes=(_one_line(error),)))
            return {}
        return dict(_read(Path(made)))


def built_in() -> Path:
    """The template of a project that comes with pykb."""
    return templates() / "project"


@contextmanager
def opened(source: str | None, found: Diagnostics) -> Iterator[Path | None]:
    """The folder of a template: pykb's own, a folder of the user's, or a git repository cloned for the moment."""
    if source is None:
        yield built_in()
        return
    if Path(source).is_dir():
        yield Path(source)
        return
    if not _looks_like_git(source):
        found.add(
            TEMPLATE_MISSING.at(
                None,
                f"`--template {source}` is neither a folder nor the address of a git repository",
                help=("give a folder with a `cookiecutter.json`, or an address such as `https://example.com/t.git`",),
            )
        )
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="pykb-") as folder:
        yield Path(folder) / "template" if _clone(source, Path(folder) / "template", found) else None


def _looks_like_git(source: str) -> bool:
    schemes = ("https://", "http://", "ssh://", "git://", "file://", "git@")
    return source.startswith(schemes) or source.endswith(".git")


def _check_links(source: Path, found: Diagnostics) -> None:
    """A link that leads out of the template would carry files of this machine into the project."""
    root = source.resolve()
    for path in sorted(source.rglob("*")):
        if path.is_symlink() and not path.resolve().is_relative_to(root):
            message = f"the project template has a symbolic link that leads out of it: `{path.relative_to(source)}`"
            found.add(TEMPLATE_BROKEN.at(None, message, help=("put the file itself into the template",)))


def _clone(source: str, target: Path, found: Diagnostics) -> bool:
    from pykb.tools.process import find_program, run

    if find_program("git") is None:
        helps = ("give a folder instead: `--template DIR`",)
        found.add(TEMPLATE_MISSING.at(None, f"`--template {source}` needs git, which is not installed", help=helps))
        return False
    # `--` ends the options, so that an address can never be one; `ext::` transports, which run programs, are refused.
    done = run(
        ("git", "clone", "--quiet", "--depth=1", "--", source, target),
        env={"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"},
    )
    if done.ok:
        return True
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    fatal = [line for line in said if line.startswith(("fatal: ", "error: "))]
    helps = (f"try it alone: `git clone {source}`",)
    found.add(
        TEMPLATE_MISSING.at(
            None, f"`--template {source}` cannot be cloned", notes=tuple(fatal or said[-3:]), help=helps
        )
    )
    return False


def _context(source: Path, variables: Mapping[str, Any], found: Diagnostics) -> dict[str, Any]:
    """The variables of a template: its defaults, rendered in order as cookiecutter does, ours on top."""
    path = source / "cookiecutter.json"
    try:
        declared = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        message = "the project template has no `cookiecutter.json`"
        found.add(TEMPLATE_BROKEN.at(None, message, notes=(f"looked in `{source}`",)))
        return {}
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        line, column = (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else (1, 1)
        found.add(TEMPLATE_BROKEN.at(Span(str(path), line, column), "`cookiecutter.json` is no JSON"))
        return {}
    from jinja2 import Environment, StrictUndefined
    from jinja2.exceptions import TemplateError

    environment = Environment(undefined=StrictUndefined, autoescape=False)  # noqa: S701 - names, not HTML
    context: dict[str, Any] = {**variables}
    for key, default in declared.items():
        if key in variables or key in {"_extensions", "__prompts__"}:
            continue
        value = default[0] if isinstance(default, list) and default and not key.startswith("_") else default
        try:
            rendered = isinstance(value, str) and not (key.startswith("_") and not key.startswith("__"))
            context[key] = environment.from_string(value).render(cookiecutter=context) if rendered else value
        except TemplateError as error:
            message = f"the default of `{key}` in `cookiecutter.json` cannot be rendered"
            found.add(TEMPLATE_BROKEN.at(None, message, notes=(_one_line(error),)))
    return context


def _read(folder: Path) -> Iterator[tuple[str, RenderedFile]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            executable = path.stat().st_mode & stat.S_IXUSR
            yield path.relative_to(folder).as_posix(), RenderedFile(path.read_bytes(), 0o755 if executable else 0o644)


def _one_line(error: Exception) -> str:
    """What went wrong, without the whole context that cookiecutter puts behind it."""
    what = getattr(error, "message", None)
    cause = getattr(error, "error", None)
    text = f"{what}: {getattr(cause, 'message', cause)}" if what and cause else str(error)
    return " ".join(text.split())[:300]
