"""The language server: answers an editor over stdin and stdout (https://microsoft.github.io/language-server-protocol).

What is asked while a user types is answered from the text alone. The whole project is checked when a file is saved, by
a process of its own with a limit of time, and only if the user trusts it: that imports its modules.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.uris import from_fs_path, to_fs_path
from pygls.workspace import TextDocument

from pykb import __version__
from pykb.diagnostics import Diagnostic, Edit, Severity, Span
from pykb.diagnostics.codes import all_codes
from pykb.files.durable import temporary
from pykb.lsp import _document as document
from pykb.lsp._access import Access
from pykb.lsp._kinds import Answer, NoAnswerError, Place, ask, find
from pykb.project import FILE_NAME
from pykb.tools.process import LimitError, Limits, run_bounded


class _Protocol(LanguageServerProtocol):
    def structure_message(self, data: dict[str, Any]) -> Any:
        """Read a message. pygls leaves a request that it cannot read without an answer."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if {"id", "method"} <= data.keys():
                self._send_response(data["id"], error=error.to_response_error())
            raise


Program = Callable[[Path], Sequence[str]]
"""The command that runs the pykb of a project."""

PREVIEW = "pykb.previewCrd"
"""The command that shows the CRD of a type. Its arguments are the URI of a file and a line, from 0."""

_PREVIEW_TITLE = "pykb: preview CRD"
_PAUSE_SECONDS = 0.2
"""In which nobody types. A file of 400 kB takes more than half a second."""

_LIMITS = Limits(seconds=60, size=16 * 1024**2)
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.NOTE: types.DiagnosticSeverity.Information,
}


class Server:
    """Answers one editor.

    Args:
        program: The command that runs the pykb of a project.
        is_trusted: Whether projects may be checked as a whole, which runs their code. An editor can say so, too, by
            the initialization option ``trusted``.
    """

    def __init__(self, program: Program, *, is_trusted: bool) -> None:
        self._program = program
        self._is_trusted = is_trusted
        self._of_project: dict[Path, dict[str, list[Diagnostic]]] = {}
        self._checks: dict[Path, asyncio.Task[None]] = {}
        self._publishing: dict[str, asyncio.Task[None]] = {}
        self._access = Access()
        self._found: dict[str, tuple[str, list[Diagnostic]]] = {}
        self._at_end = ExitStack()
        self._folder: Path | None = None
        self.protocol = LanguageServer("pykb", __version__, protocol_cls=_Protocol)
        self._answer(types.INITIALIZE, self._initialize)
        self._answer(types.TEXT_DOCUMENT_DID_OPEN, self._opened)
        self._answer(types.TEXT_DOCUMENT_DID_CHANGE, self._changed)
        self._answer(types.TEXT_DOCUMENT_DID_CLOSE, self._closed)
        self._answer(types.TEXT_DOCUMENT_DID_SAVE, self._saved)
        self._answer(types.TEXT_DOCUMENT_COMPLETION, self._complete, types.CompletionOptions(list("+:=,;")))
        self._answer(types.TEXT_DOCUMENT_HOVER, self._hover)
        kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix, types.CodeActionKind.Source])
        self._answer(types.TEXT_DOCUMENT_CODE_ACTION, self._actions, kinds)
        self._answer(types.TEXT_DOCUMENT_CODE_LENS, self._lenses, types.CodeLensOptions())
        self._answer(types.TEXT_DOCUMENT_IMPLEMENTATION, self._in_manifests)
        self.protocol.command(PREVIEW)(partial(self._preview))

    def _answer(self, what: str, method: Callable[[Any], object], options: object = None) -> None:
        self.protocol.feature(what, options)(partial(method))  # pygls sets attributes, which methods do not have

    def run(self) -> None:
        """Answer until the editor ends the connection. What is printed meanwhile goes to stderr."""
        with os.fdopen(os.dup(0), "rb") as stdin, os.fdopen(os.dup(1), "wb") as stdout, ExitStack() as self._at_end:
            os.dup2(2, 1)
            self.protocol.start_io(stdin, stdout)

    def _initialize(self, params: types.InitializeParams) -> None:
        options = params.initialization_options
        if isinstance(options, dict) and options.get("trusted") is True:
            self._is_trusted = True

    # -- mistakes

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        self._publish(params.text_document.uri)

    def _changed(self, params: types.DidChangeTextDocumentParams) -> None:
        self._publish(params.text_document.uri, after=_PAUSE_SECONDS)

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget the file: only what is open is checked."""
        self._stop(params.text_document.uri)
        self._found.pop(params.text_document.uri, None)
        self._show(params.text_document.uri, [])

    def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        root = _root_of(to_fs_path(params.text_document.uri) or "")
        if root is not None and self._is_trusted:
            if check := self._checks.get(root):
                check.cancel()  # its result is no longer wanted; the process ends by itself
            self._checks[root] = asyncio.create_task(self._check(root))

    async def _check(self, root: Path) -> None:
        """Check a whole project, and publish what is wrong in its open files."""
        argv = (*self._program(root), "generate", "--stdout", "--format", "json")
        try:
            done = await asyncio.to_thread(run_bounded, argv, cwd=root, stdin=b"", limits=_LIMITS)
            reported = json.loads(done.stderr or b"[]")
        except (LimitError, OSError, ValueError) as error:
            message = f"the project cannot be checked: {error}"
            self.protocol.window_log_message(types.LogMessageParams(types.MessageType.Error, message))
            return
        of_file: dict[str, list[Diagnostic]] = defaultdict(list)
        for each in reported:
            with suppress(KeyError, TypeError, ValueError):  # another version of pykb may say something else
                finding = _read(each)
                if finding.span is not None:
                    of_file[finding.span.path].append(finding)
        self._of_project[root] = of_file
        for uri in list(self.protocol.workspace.text_documents):
            if _root_of(to_fs_path(uri) or "") == root:
                self._publish(uri)

    def _publish(self, uri: str, *, after: float = 0.0) -> None:
        """Publish what is wrong in a file, when nobody types in it any more."""
        self._stop(uri)
        self._publishing[uri] = asyncio.create_task(self._find(self._document(uri), after))

    def _stop(self, uri: str) -> None:
        if publishing := self._publishing.pop(uri, None):
            publishing.cancel()

    async def _find(self, file: TextDocument, after: float) -> None:
        await asyncio.sleep(after)
        text = file.source
        found = await asyncio.to_thread(self._findings, file.uri, text)  # other questions do not wait for it
        self._found[file.uri] = (text, found)
        self._show(file.uri, [_diagnostic(file, each) for each in found])

    def _show(self, uri: str, diagnostics: list[types.Diagnostic]) -> None:
        self.protocol.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics))

    def _findings(self, uri: str, text: str) -> list[Diagnostic]:
        """What is wrong in a file: in its markers as they are now, and in its types as they were when it was saved."""
        path = to_fs_path(uri) or ""
        known = document.findings(text, path)
        root = _root_of(path)
        if root is None:
            return known
        known += self._access.findings(root, Path(path), text)
        lines = text.splitlines()
        seen = {(each.code.slug, each.message) for each in known}
        of_project = self._of_project.get(root, {}).get(Path(path).relative_to(root).as_posix(), [])
        further = [each for each in of_project if (each.code.slug, each.message) not in seen]
        return known + [each for each in further if each.span is not None and each.span.line <= len(lines)]

    # -- what a user asks for

    def _complete(self, params: types.CompletionParams) -> list[types.CompletionItem]:
        file, (line, column) = self._place(params.text_document.uri, params.position)
        items = []
        for offer in document.offers(file.source, line, column):
            edited = types.TextEdit(_range(file, line, offer.start, line, column), offer.text)
            kind = types.CompletionItemKind.Keyword if offer.is_name else types.CompletionItemKind.Value
            details = types.MarkupContent(types.MarkupKind.PlainText, offer.details) if offer.details else None
            label = offer.text.rstrip("=:")
            item = types.CompletionItem(label, kind=kind, detail=offer.summary, documentation=details, text_edit=edited)
            item.filter_text = offer.text
            items.append(item)
        return items

    def _hover(self, params: types.HoverParams) -> types.Hover | None:
        file, (line, column) = self._place(params.text_document.uri, params.position)
        found = document.help_at(file.source, line, column)
        if found is None:
            return None
        text, start, end = found
        shown = types.MarkupContent(types.MarkupKind.Markdown, f"```text\n{text}```")
        return types.Hover(shown, _range(file, line, start, line, end))

    def _actions(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        file = self._document(params.text_document.uri)
        kinds = params.context.only or [types.CodeActionKind.QuickFix, types.CodeActionKind.Source]
        actions = self._fixes(file, params.range) if types.CodeActionKind.QuickFix in kinds else []
        if types.CodeActionKind.Source in kinds and self._is_trusted and document.declares_types(file.source):
            command = _preview_at(file, params.range.start.line)
            actions.append(types.CodeAction(_PREVIEW_TITLE, types.CodeActionKind.Source, command=command))
        return actions

    def _fixes(self, file: TextDocument, place: types.Range) -> list[types.CodeAction]:
        actions = []
        text, found = self._found.get(file.uri, ("", []))
        for finding in found if text == file.source else ():  # else new ones are on their way
            shown = _diagnostic(file, finding)
            touches = shown.range.start.line <= place.end.line and place.start.line <= shown.range.end.line
            if not finding.fix or not touches or not all(document.has(file.source, edit) for edit in finding.fix):
                continue
            edits = [types.TextEdit(_span(file, edit.span), edit.new) for edit in finding.fix]
            title = "; ".join(
                f"Write `{edit.new.strip()}`" if edit.new else f"Remove `{edit.old}`" for edit in finding.fix
            )
            action = types.CodeAction(title, types.CodeActionKind.QuickFix, [shown], is_preferred=True)
            action.edit = types.WorkspaceEdit(changes={file.uri: edits})
            actions.append(action)
        return actions

    # -- what only the types say

    def _lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        if not self._is_trusted:
            return []
        file = self._document(params.text_document.uri)
        return [
            types.CodeLens(types.Range(types.Position(line, 0), types.Position(line, 0)), _preview_at(file, line))
            for line in document.kinds(file.source)
        ]

    async def _in_manifests(self, params: types.ImplementationParams) -> list[types.Location] | None:
        """Where the CRDs on disk have the field or the type under the cursor."""
        file, (line, column) = self._place(params.text_document.uri, params.position)
        root = _root_of(to_fs_path(file.uri) or "")
        if root is None or not document.is_declared(file.source, line, column):
            return None
        found: list[types.Location] = []
        try:
            places: dict[str, list[Place]] = defaultdict(list)
            for place in (await self._ask(root, file, line)).places:
                if place.column <= column + 1 <= place.end_column:
                    places[place.file].append(place)
            for manifest, parts in places.items():
                uri = from_fs_path(str(root / manifest)) or ""
                marks = [types.Position(*at) for at in await asyncio.to_thread(find, root, manifest, parts)]
                found += [types.Location(uri, types.Range(mark, mark)) for mark in marks]
        except NoAnswerError as error:
            self._tell(str(error))
        return found or None

    async def _preview(self, uri: str, line: int) -> str | None:
        """Show the CRDs with the type at a line. Returns their text."""
        file = self._document(uri)
        root = _root_of(to_fs_path(uri) or "")
        if root is None:
            self._tell("the file is not in a project of pykb: there is no `PROJECT` above it")
            return None
        try:
            manifests = (await self._ask(root, file, line)).manifests
        except NoAnswerError as error:
            self._tell(str(error))
            return None
        if not manifests:
            self._tell("no CRD has the type at the cursor: put the cursor into a class that a kind uses")
            return None
        text = "".join(manifests.values())
        name = Path(next(iter(manifests))).name if len(manifests) == 1 else "crds.yaml"
        shown = self._previews() / name
        shown.write_text(text, encoding="utf-8")
        window = self.protocol.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            self.protocol.window_show_document(types.ShowDocumentParams(shown.as_uri()), lambda _: None)
        else:
            self._tell(f"the CRD is in {shown}", types.MessageType.Info)
        return text

    def _previews(self) -> Path:
        """The folder of previews. It goes when the server ends."""
        if self._folder is None:
            self._folder = self._at_end.enter_context(temporary("preview"))
        return self._folder

    async def _ask(self, root: Path, file: TextDocument, line: int) -> Answer:
        """Ask the project about the type at a line.

        Raises:
            NoAnswerError: There is no answer.
        """
        if not self._is_trusted:
            raise NoAnswerError("this imports the project: start `pykb lsp --trusted` if you trust it")
        path = Path(to_fs_path(file.uri) or "").relative_to(root).as_posix()
        question = partial(ask, (*self._program(root), "lsp", "--answer"), root, path=path)
        return await asyncio.to_thread(question, text=file.source, line=line + 1)

    def _tell(self, message: str, kind: types.MessageType = types.MessageType.Warning) -> None:
        self.protocol.window_show_message(types.ShowMessageParams(kind, message))

    def _document(self, uri: str) -> TextDocument:
        """A file as it is in the editor, or on disk.

        Raises:
            JsonRpcInvalidParams: It is in neither.
        """
        file = self.protocol.workspace.get_text_document(uri)
        try:
            file.source  # noqa: B018 - read from disk, unless it is open
        except (OSError, ValueError) as error:
            raise JsonRpcInvalidParams(f"`{uri}`: not open, and not on disk: {error}") from error
        return file

    def _place(self, uri: str, position: types.Position) -> tuple[TextDocument, tuple[int, int]]:
        """A file, and a position in it in characters."""
        file = self._document(uri)
        place = file.position_codec.position_from_client_units(file.lines, position)
        return file, (place.line, place.character)


def _root_of(path: str) -> Path | None:
    """The project of a Python file."""
    here = Path(path)
    if here.suffix != ".py":
        return None
    return next((folder for folder in here.parents if (folder / FILE_NAME).is_file()), None)


def _preview_at(file: TextDocument, line: int) -> types.Command:
    return types.Command(_PREVIEW_TITLE, PREVIEW, arguments=[file.uri, line])


def _diagnostic(file: TextDocument, finding: Diagnostic) -> types.Diagnostic:
    span = finding.span or Span("", 1, 1)
    text = "\n".join([finding.message, *(f"note: {note}" for note in finding.notes), *finding.help])
    related = [
        types.DiagnosticRelatedInformation(types.Location(file.uri, _span(file, label.span)), label.text)
        for label in finding.labels
        if label.span.path == span.path
    ]
    return types.Diagnostic(
        _span(file, span),
        text,
        severity=_SEVERITIES[finding.severity],
        code=finding.code.slug,
        source="pykb",
        related_information=related or None,
    )


def _span(file: TextDocument, span: Span) -> types.Range:
    return _range(file, span.line - 1, span.column - 1, span.end_line - 1, span.end_column - 1)


def _range(file: TextDocument, line: int, column: int, end_line: int, end_column: int) -> types.Range:
    """A range as the editor counts."""
    convert, lines = file.position_codec.position_to_client_units, file.lines
    return types.Range(
        convert(lines, types.Position(line, column)), convert(lines, types.Position(end_line, end_column))
    )


def _read(values: dict[str, Any]) -> Diagnostic:
    """A finding from its JSON.

    Raises:
        KeyError, TypeError, ValueError: It is none that this version knows.
    """
    place = values["span"]
    span = _read_span(place) if place is not None else None
    fix = tuple(Edit(_read_span(edit["span"]), edit["old"], edit["new"]) for edit in values["fix"])
    helps = [str(each) for each in values["help"]]
    notes = tuple(str(each) for each in values["notes"])
    severity = Severity(values["severity"])
    return all_codes()[values["code"]].at(span, str(values["message"]), *helps, notes=notes, fix=fix, severity=severity)


def _read_span(values: dict[str, Any]) -> Span:
    line, column = int(values["line"]), int(values["column"])
    return Span(str(values["path"]), line, column, int(values["endLine"]), int(values["endColumn"]))
