"""Diagnostics: immutable values that describe a mistake. Only ``pykb.cli`` prints them.

A user's mistake is a value, not an exception. Functions return ``(value, Diagnostics)``, or take a
:class:`~pykb.diagnostics.Diagnostics` to add to. One run can then report all mistakes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

NOTHING_WRITTEN = "nothing was written"
"""The note of an error that stops a command before it changes a file."""


class Severity(StrEnum):
    """The severity of a finding. Only an error makes a command fail."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A range in a file. Lines and columns are 1-based, columns count characters (not UTF-8 bytes).

    ``end_column`` is exclusive: a one-character span at column 3 ends at column 4.
    """

    path: str
    line: int
    column: int
    end_line: int = 0
    end_column: int = 0

    def __post_init__(self) -> None:
        if self.end_line == 0:
            object.__setattr__(self, "end_line", self.line)
        if self.end_column == 0:
            object.__setattr__(self, "end_column", self.column + 1)


@dataclass(frozen=True, slots=True)
class Label:
    """A secondary place, with a text about it (the other side of a conflict)."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change in a file.

    Attributes:
        span: The text to replace. It can be empty.
        old: That text. If the file has another one there, it changed since it was read.
        new: What to put there.
    """

    span: Span
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Code:
    """A kind of mistake: a slug that is never reused, a title, and the text of ``pykb explain <slug>``."""

    slug: str
    title: str
    explanation: str
    severity: Severity = Severity.ERROR

    def at(
        self,
        span: Span | None,
        message: str,
        *help: str,  # noqa: A002 - the word the output uses
        label: str = "",
        labels: tuple[Label, ...] = (),
        notes: str | tuple[str, ...] = (),
        fix: tuple[Edit, ...] = (),
        severity: Severity | None = None,
    ) -> Diagnostic:
        """Make a diagnostic of this kind. The arguments are those of :class:`Diagnostic`; an empty text is left out."""
        return Diagnostic(
            code=self,
            message=message,
            span=span,
            label=label,
            labels=labels,
            notes=tuple(filter(None, (notes,) if isinstance(notes, str) else notes)),
            help=tuple(filter(None, help)),
            fix=fix,
            severity=severity or self.severity,
        )

    def problem(
        self,
        message: str,
        *help: str,  # noqa: A002
        span: Span | None = None,
        notes: str | tuple[str, ...] = (),
    ) -> EnvironmentProblem:
        """Make the exception for a problem of this kind, most often one outside of the project's files."""
        return EnvironmentProblem(self.at(span, message, *help, notes=notes))


def warning(slug: str, title: str, explanation: str) -> Code:
    """A kind of mistake that is reported and does not make a command fail."""
    return Code(slug, title, explanation, Severity.WARNING)


def note(slug: str, title: str, explanation: str) -> Code:
    """Something that the user should know and that is not a mistake."""
    return Code(slug, title, explanation, Severity.NOTE)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding.

    Attributes:
        code: The kind of mistake.
        message: The headline: one line without a full stop, literals in back-ticks, what was found
            and what was expected.
        span: The text to change (the marker, not its field). ``None`` if no file is involved.
        label: A few words about ``span``.
        labels: Other places involved.
        notes: The reason, or the state afterwards (:data:`NOTHING_WRITTEN`).
        help: Exactly what to type. A help with line breaks is shown as an indented block.
        fix: The edits that correct it. Empty unless the text can have only one meaning.
        severity: Error, warning or note.
    """

    code: Code
    message: str
    span: Span | None = None
    label: str = ""
    labels: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    help: tuple[str, ...] = field(default=())
    fix: tuple[Edit, ...] = ()
    severity: Severity = Severity.ERROR

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        """The sort key for output: path and position. Findings without a place come first."""
        if self.span is None:
            return ("", 0, 0, self.code.slug, self.message)
        return (self.span.path, self.span.line, self.span.column, self.code.slug, self.message)


class Diagnostics:
    """Collects findings. Iterates over them sorted by place, without duplicates."""

    __slots__ = ("_findings",)

    def __init__(self, findings: Iterable[Diagnostic] = ()) -> None:
        self._findings: dict[Diagnostic, None] = dict.fromkeys(findings)

    def add(self, diagnostic: Diagnostic) -> None:
        """Add one finding. A duplicate has no effect."""
        self._findings[diagnostic] = None

    def extend(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Add several findings."""
        self._findings.update(dict.fromkeys(diagnostics))

    def report(
        self,
        code: Code,
        span: Span | None,
        message: str,
        *help: str,  # noqa: A002 - the word the output uses
        label: str = "",
        labels: tuple[Label, ...] = (),
        notes: str | tuple[str, ...] = (),
        fix: tuple[Edit, ...] = (),
        severity: Severity | None = None,
    ) -> None:
        """Add a finding of a kind, with what to type. The other arguments are those of :meth:`Code.at`."""
        self.add(code.at(span, message, *help, label=label, labels=labels, notes=notes, fix=fix, severity=severity))

    def take(self) -> tuple[Diagnostic, ...]:
        """Remove all findings and return them."""
        findings = tuple(self._findings)
        self._findings.clear()
        return findings

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(sorted(self._findings, key=lambda d: d.sort_key))

    def __len__(self) -> int:
        return len(self._findings)

    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(d.severity is Severity.ERROR for d in self._findings)


class PykbError(Exception):
    """The base class of all exceptions that pykb raises on purpose."""


class EnvironmentProblem(PykbError):  # noqa: N818 - not every problem is an error of the program
    """A problem outside the project: a tool is missing, a cluster cannot be reached.

    The command line prints its diagnostic and exits with 1.
    """

    def __init__(self, diagnostic: Diagnostic) -> None:
        super().__init__(diagnostic.message)
        self.diagnostic = diagnostic
        for note in diagnostic.notes:  # a traceback, for example of a test, shows them
            self.add_note(note)


class InternalError(PykbError):
    """A bug in pykb. The command line asks the user to report it and exits with 70."""
