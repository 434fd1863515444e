"""Renders templates in memory: files of ``templates/files``, and project templates, which are cookiecutter trees.

Project templates can be users' own. They are rendered in a sandbox, and none of their hooks runs.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from pykb._regular_file import check_folder, is_bytecode, read_bytes, read_text
from pykb.diagnostics import Diagnostics, Span
from pykb.diagnostics.codes.scaffold import TEMPLATE_BROKEN, TEMPLATE_MISSING
from pykb.files.durable import temporary
from pykb.python_source import quoting
from pykb.reading import read_json
from pykb.scaffold.locate import templates

if TYPE_CHECKING:
    from types import CodeType

    from jinja2 import Environment
    from jinja2.sandbox import SandboxedEnvironment

Render = Callable[[str, Mapping[str, Any]], str]
"""Renders a text with the variables of a template."""

_SYNTAX = frozenset(
    {
        *("block_start_string", "block_end_string", "variable_start_string", "variable_end_string"),
        *("comment_start_string", "comment_end_string", "line_statement_prefix", "line_comment_prefix"),
        *("trim_blocks", "lstrip_blocks"),
    }
)


@cache
def environment() -> Environment:
    """The environment. Undefined names are errors, the last newline is kept, and no bytecode is written."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(templates() / "files", encoding="utf-8"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - source code, not HTML
    )
    made.filters["literal"] = quoting.string
    return made


def render_file(name: str, context: Mapping[str, Any]) -> str:
    """Render a file of ``templates/files``. Its ``name`` ends in ``.j2``."""
    return environment().get_template(name).render(context)


@dataclass(frozen=True, slots=True)
class RenderedFile:
    """One file of a rendered tree."""

    content: bytes
    mode: int


def render_tree(source: Path, variables: Mapping[str, Any], diagnostics: Diagnostics) -> dict[str, RenderedFile]:
    """Render a template folder. Returns files by path in the project; empty, with a finding, when it fails.

    Paths are as in the template. The code that writes the files checks that they stay in the project.

    Args:
        source: The folder with ``cookiecutter.json``.
        variables: The variables that pykb sets. Other variables of the template have their defaults.
        diagnostics: Gets what is wrong with the template.
    """
    declared = _declared(source, diagnostics)
    _check_links(source, diagnostics)
    if diagnostics.has_errors():
        return {}
    from cookiecutter.exceptions import NonTemplatedInputDirException
    from cookiecutter.find import find_template
    from jinja2 import FileSystemLoader

    at = "`cookiecutter.json`"
    files: dict[str, RenderedFile] = {}
    try:
        sandbox = _sandboxed(declared.get("_jinja2_env_vars", {}))
        render = partial(_render, sandbox, json.dumps(declared.get("_jinja2_env_vars", {}), sort_keys=True))
        folder = find_template(source, sandbox)
        places = [folder, source / "templates"]
        for place in places:
            check_folder(place)  # jinja reads included files itself
        sandbox.loader = FileSystemLoader(places)
        context: dict[str, Any] = {**variables}
        for key, default in declared.items():
            if key not in variables:
                at = f"the default of `{key}` in `cookiecutter.json`"
                context[key] = _default(key, default, context, render)
        for path in sorted(each for each in folder.rglob("*") if each.is_file() and not is_bytecode(each)):
            at = f"`{path.relative_to(source).as_posix()}`"
            files |= _file(path, PurePosixPath(path.relative_to(folder)), context, render)
    except NonTemplatedInputDirException:
        message = "the project template has no folder named `{{cookiecutter.project_name}}`"
        diagnostics.report(TEMPLATE_BROKEN, None, message, notes=f"looked in `{source}`")
    except Exception as error:  # noqa: BLE001 - whatever the expressions of a stranger come to
        what = " ".join(str(error).split())[:300] or type(error).__name__
        diagnostics.report(TEMPLATE_BROKEN, None, f"the project template cannot be rendered: {at}", notes=what)
    else:
        return files
    return {}


def _sandboxed(settings: Mapping[str, Any]) -> SandboxedEnvironment:
    """The environment for one template of a user, with cookiecutter's filters and without extensions of a template.

    Such templates cannot reach Python objects.

    Args:
        settings: Its ``_jinja2_env_vars``. Only settings of the syntax are allowed.

    Raises:
        ValueError: The settings include another one.
    """
    from cookiecutter.environment import StrictEnvironment
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandbox(StrictEnvironment, ImmutableSandboxedEnvironment):  # type: ignore[misc]
        """Python's internals are blocked."""

    unknown = sorted(set(settings) - _SYNTAX)
    if unknown:
        raise ValueError(f"`_jinja2_env_vars` may only change the syntax, not `{unknown[0]}`")
    return Sandbox(keep_trailing_newline=True, **settings)


def _render(sandbox: SandboxedEnvironment, settings: str, text: str, context: Mapping[str, Any]) -> str:
    """Render a text as a template of an environment with these settings, in JSON."""
    template = sandbox.template_class.from_code(sandbox, _compiled(settings, text), sandbox.make_globals(None))
    return template.render(cookiecutter=context)


@lru_cache(maxsize=512)
def _compiled(settings: str, text: str) -> CodeType:
    """Compiled once: a change of a project renders its template before and after, and most parts of paths are alike."""
    return _sandboxed(json.loads(settings)).compile(text)


def _default(key: str, default: Any, context: Mapping[str, Any], render: Render) -> Any:
    """The default of a variable that pykb does not set, as in cookiecutter without prompts."""
    is_private = key.startswith("_")
    value = default[0] if isinstance(default, list) and default and not is_private else default
    if not isinstance(value, str) or (is_private and not key.startswith("__")):
        return value
    return render(value, context)


def _file(path: Path, name: PurePosixPath, context: Mapping[str, Any], render: Render) -> dict[str, RenderedFile]:
    """A file by its rendered path; empty when a part of the path renders to nothing."""
    from cookiecutter.generate import is_copy_only_path

    copied = [place for place in (name, *name.parents[:-1]) if is_copy_only_path(str(place), {"cookiecutter": context})]
    rendered = copied[-1] if copied else name  # names in a folder that is only copied are not rendered
    parts = [render(part, context) for part in rendered.parts]
    if not all(parts):
        return {}
    target = "/".join((*parts, *name.parts[len(parts) :]))
    content = read_bytes(path)
    text = None if copied else _text(content)
    if text is not None:
        newline = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
        content = render(text, context).replace("\n", newline).encode()
    return {target: RenderedFile(content, 0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)}


def _text(content: bytes) -> str | None:
    """The text of a file; ``None`` for binary content, which is copied unchanged."""
    try:
        return None if b"\0" in content else content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def built_in() -> Path:
    """The project template of pykb."""
    return templates() / "project"


@contextmanager
def opened(source: str | None, diagnostics: Diagnostics) -> Iterator[Path | None]:
    """The folder of a template: pykb's own, the user's, or a temporary clone of a git repository."""
    if source is None:
        yield built_in()
        return
    if Path(source).is_dir():
        yield Path(source)
        return
    if not _looks_like_git(source):
        message = f"`--template {source}` is neither a folder nor the address of a git repository"
        helps = ("give a folder with a `cookiecutter.json`, or an address such as `https://example.com/t.git`",)
        diagnostics.report(TEMPLATE_MISSING, None, message, *helps)
        yield None
        return
    with temporary("template") as folder:
        yield folder / "template" if _clone(source, folder / "template", diagnostics) else None


def _looks_like_git(source: str) -> bool:
    schemes = ("https://", "http://", "ssh://", "git://", "file://", "git@")
    return source.startswith(schemes) or source.endswith(".git")


def _check_links(source: Path, diagnostics: Diagnostics) -> None:
    """Refuse links that lead out of the template, or nowhere, and all that is neither a file nor a folder.

    The former would copy files of this machine into the project. pykb would wait for the latter for ever.
    """
    root = os.path.realpath(source)
    for path in sorted(source.rglob("*")):
        shown = path.relative_to(source).as_posix()
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
            message = f"the project template has a symbolic link that leads out of it: `{shown}`"
            diagnostics.report(TEMPLATE_BROKEN, None, message, "put the file itself into the template")
        elif not path.is_file() and not path.is_dir():
            message = f"the project template has something that is neither a file nor a folder: `{shown}`"
            diagnostics.report(TEMPLATE_BROKEN, None, message, "delete it from the template")


def _clone(source: str, target: Path, diagnostics: Diagnostics) -> bool:
    from pykb.tools.process import find_program, run

    if find_program("git") is None:
        helps = ("give a folder instead: `--template DIR`",)
        diagnostics.report(TEMPLATE_MISSING, None, f"`--template {source}` needs git, which is not installed", *helps)
        return False
    # After `--`, a URL cannot be read as an option. Transports with `ext::` run programs and are refused.
    done = run(
        ("git", "clone", "--quiet", "--depth=1", "--", source, target),
        env={"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"},
    )
    if done.ok:
        return True
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    fatal = [line for line in said if line.startswith(("fatal: ", "error: "))]
    helps = (f"try it alone: `git clone {source}`",)
    message = f"`--template {source}` cannot be cloned"
    diagnostics.report(TEMPLATE_MISSING, None, message, *helps, notes=tuple(fatal or said[-3:]))
    return False


def _declared(source: Path, diagnostics: Diagnostics) -> dict[str, Any]:
    """The variables of a template with their defaults."""
    path = source / "cookiecutter.json"
    message, line, column = "`cookiecutter.json` is not JSON", 1, 1
    try:
        declared = read_json(read_text(path))
        if isinstance(declared, dict):
            return declared
        message = "`cookiecutter.json` must be an object of names and defaults"
    except FileNotFoundError:
        message = "the project template has no `cookiecutter.json`"
        diagnostics.report(TEMPLATE_BROKEN, None, message, notes=f"looked in `{source}`")
        return {}
    except OSError as error:
        message = f"`cookiecutter.json` cannot be read: {error.strerror}"
    except json.JSONDecodeError as error:
        line, column = error.lineno, error.colno
    except ValueError as error:  # not UTF-8, a number with too many digits, too deep nesting
        message = f"`cookiecutter.json` is not JSON: {error}"
    diagnostics.report(TEMPLATE_BROKEN, Span(str(path), line, column), message)
    return {}
