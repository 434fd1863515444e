"""Prints findings and failures, and maps them to exit codes.

Exit codes: 0 success, 1 findings or a broken environment, 2 a mistake on the command line, 70 a bug
in pykb (EX_SOFTWARE in sysexits.h), 130 interrupted.
"""

from __future__ import annotations

import errno
import platform
import re
import shlex
import sys
import traceback
from collections.abc import Iterable
from typing import Any, NoReturn

import click
import typer

from pykb import __version__
from pykb._regular_file import UnsuitableFileError
from pykb.cli import console
from pykb.diagnostics import Code, Diagnostic, Diagnostics, EnvironmentProblem, Severity
from pykb.diagnostics.codes import cli as codes
from pykb.diagnostics.render import Format, document, entries, entries_of, render
from pykb.diagnostics.suggest import closest

EXIT_FINDINGS = 1
EXIT_USAGE = 2
EXIT_BUG = 70
EXIT_INTERRUPTED = 130


def report(diagnostics: Iterable[Diagnostic]) -> None:
    """Print findings to stderr in the format set by ``--format``.

    What is one document, such as JSON, is held back until :func:`flush`.
    """
    findings = list(diagnostics)
    if not findings:
        return
    style = console.settings.format
    if style.is_document:
        _held.extend(entries(findings, style))
    else:
        console.warn_raw(render(findings, style=style, colour=style is Format.FULL and console.colour_on_stderr()))


_held: list[dict[str, Any]] = []
"""The findings of this command so far, if the format has one document for all."""


def report_rendered(text: str) -> None:
    """Report findings that another pykb process has rendered in the same format."""
    style = console.settings.format
    if not style.is_document:
        console.warn_raw(text)
        return
    try:
        _held.extend(entries_of(text, style))
    except ValueError:  # it crashed and printed something else
        console.warn_raw(text)


def flush(*, last: bool = False) -> None:
    """Print findings held back. At the end of a command, print the document even if it is empty."""
    style = console.settings.format
    if _held or (last and style.is_document):
        text = document(_held, style)
        _held.clear()
        console.warn_raw(text)


def finish(diagnostics: Iterable[Diagnostic], *, code: int = EXIT_FINDINGS) -> None:
    """Print findings. If one is an error, end the command with ``code``."""
    findings = list(diagnostics)
    report(findings)
    if any(d.severity is Severity.ERROR for d in findings):
        raise typer.Exit(code)


def refuse(message: str, *helps: str, kind: Code = codes.USAGE) -> NoReturn:
    """End a command that was called in a wrong way: say so, and what to type."""
    report([kind.at(None, message, *helps)])
    raise typer.Exit(EXIT_USAGE)


def _from_usage_error(error: click.UsageError) -> Diagnostic:
    """Turn an error of the parser into a diagnostic."""
    command = error.ctx.command_path if error.ctx else "pykb"
    see = f"`{command} --help` shows its options"
    match error:
        case click.NoSuchOption():
            return _unknown_option(error, command, see)
        case click.MissingParameter() if error.param is not None:
            is_option = error.param.param_type_name == "option"
            name = error.param.opts[0] if is_option else str(error.param.name).upper()
            choices = " or ".join(f"`{each}`" for each in getattr(error.param.type, "choices", ()))
            helps = (f"{name} is {choices}", see) if choices else (see,)
            return codes.USAGE.at(None, f"`{command}` needs `{name}`", *helps)
        case click.BadOptionUsage() if "does not take a value" in error.message:
            name = error.option_name
            helps = (f"`{name}`, or `{name}=false`",)
            return codes.USAGE.at(None, f"`{name}` must be true or false, found another value", *helps)
        case click.BadParameter() if error.param is not None:
            return codes.USAGE.at(None, f"`{error.param.opts[0]}`: {_sentence(error.message)}", see)
    instead = _instead_of_argument(error.format_message(), command)
    return codes.USAGE.at(None, _sentence(error.format_message()), *instead, see)


def _instead_of_argument(message: str, command: str) -> tuple[str, ...]:
    """The option for which a word was probably meant that a command does not take."""
    match = _EXTRA.fullmatch(message)
    if match is None or match.group(1) == "help":
        return ()
    word = match.group(1)
    if command == "pykb init" and "." not in word:
        return (f"`pykb init` starts a project in this directory; for another one: `mkdir {word} && cd {word}`",)
    option = "--domain" if command == "pykb init" else "--kind" if command.endswith((" api", " webhook")) else ""
    return (f"`{option} {word}`",) if option else ()


_EXTRA = re.compile(r"Got unexpected extra argument \(([\w.-]+)\)")


_SYNONYMS = {"--mutating": "--defaulting", "--validating": "--programmatic-validation"}
"""Kubernetes' words for what kubebuilder's options call otherwise."""


def _unknown_option(error: click.NoSuchOption, command: str, see: str) -> Diagnostic:
    known = [name for p in error.ctx.command.params for name in p.opts] if error.ctx else []
    near = closest(error.option_name, known)
    word = error.option_name.strip("-")
    synonym = _SYNONYMS.get(error.option_name)
    longer = ", ".join(f"`{name}`" for name in known if (len(word) > 3 and word in name) or name == synonym)
    helps: tuple[str, ...] = (f"there is {longer}", see) if longer else (see,)
    if near:
        helps = (f"an option with a similar name exists: `{near}`",)
    return codes.UNKNOWN_OPTION.at(None, f"`{command}` has no option `{error.option_name}`", *helps)


def unknown_command(words: str, known: Iterable[str], *, see: str) -> Diagnostic:
    """The diagnostic for a command that does not exist."""
    if words.partition(" ")[0] == "alpha":
        what = "`pykb update` brings a project to the scaffold of this version; `pykb edit` changes its options"
        return codes.UNKNOWN_COMMAND.at(None, f"no command `pykb {words}`", what)
    names = [*known, "help"]
    near = closest(words, names)
    longer = ", ".join(f"`pykb {name}`" for name in names if words in name.split())
    what = f"`{see} --help` lists the commands"
    if near:
        what = f"a command with a similar name exists: `pykb {near}`"
    elif longer:
        what = f"there is {longer}"
    return codes.UNKNOWN_COMMAND.at(None, f"no command `pykb {words}`", what)


def _sentence(text: str) -> str:
    text = " ".join(text.split()).rstrip(".").replace("'", "`")
    return text[:1].lower() + text[1:]


def _placed(diagnostic: Diagnostic) -> Diagnostic:
    """The finding, with the name of the folder where the project has its manifests."""
    from pykb.project import find_root
    from pykb.project.settings import config_folder, reworded

    try:
        root = find_root()
        return diagnostic if root is None else reworded(diagnostic, config_folder(root))
    except (EnvironmentProblem, OSError):  # it is what is reported
        return diagnostic


def _from_exception(error: BaseException) -> tuple[Diagnostic, int]:
    """The diagnostic and the exit code for an exception that no command handled."""
    match error:
        case EnvironmentProblem():
            return _placed(error.diagnostic), EXIT_FINDINGS
        case click.UsageError():
            return _from_usage_error(error), EXIT_USAGE
        case click.ClickException():
            return codes.USAGE.at(None, _sentence(error.format_message())), EXIT_USAGE
        case UnicodeDecodeError():
            return codes.NOT_ENCODED.at(None, "a file is not encoded in UTF-8", notes=str(error)), EXIT_FINDINGS
        case OSError() if error.errno in _SYSTEM or isinstance(error, UnsuitableFileError):
            where = f"`{error.filename}`: " if error.filename is not None else ""
            return codes.SYSTEM_ERROR.at(None, f"{where}{error.strerror}"), EXIT_FINDINGS
    return _bug(error), EXIT_BUG


_SYSTEM = frozenset(
    {
        *(errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT),
        *(errno.ENAMETOOLONG, errno.ELOOP, errno.EMFILE, errno.ENOTDIR, errno.EISDIR),
    }
)
"""Errors with causes outside pykb. Any other OSError (a missing file, say) is a bug in pykb."""


def _bug(error: BaseException) -> Diagnostic:
    argv = shlex.join(("pykb", *console.settings.argv))
    versions = f"pykb {__version__}, Python {platform.python_version()}, {platform.platform()}"
    helps = ("report it to pykb's issue tracker with these lines",)
    if not console.settings.verbose:
        helps = ("run the command again with `--verbose`, and report what it prints to pykb's issue tracker",)
    text = " ".join(str(error).split())[:300]
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return codes.INTERNAL_ERROR.at(
        None, f"this is a bug in pykb: `{what}`", *helps, notes=(versions, f"command: {argv}")
    )


def handle(error: BaseException) -> int:
    """Report an exception that ends the run. Returns the exit code."""
    diagnostic, code = _from_exception(error)
    if console.settings.verbose and not isinstance(error, click.ClickException):
        traceback.print_exception(error, file=sys.stderr)
    report(Diagnostics([diagnostic]))
    return code
