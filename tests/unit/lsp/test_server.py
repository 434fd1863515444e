"""`pykb lsp` as an editor uses it: a process that speaks the protocol, with a project on disk."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import pytest_asyncio
from lsprotocol import types
from pygls.lsp.client import LanguageClient
from pygls.uris import to_fs_path

SAMPLE = Path(__file__).parents[3] / "testdata" / "virtulmachine"
TYPES = Path("sealvm/api/v1/virtulmachine_types.py")
SHOWS_DOCUMENTS = types.ClientCapabilities(
    window=types.WindowClientCapabilities(show_document=types.ShowDocumentClientCapabilities(support=True))
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Editor(LanguageClient):
    """What an editor gets from the server.

    It is not a plugin of pytest: that would be imported by each pytest that the tests start.
    """

    def __init__(self) -> None:
        super().__init__("tests", "1")
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()
        self.messages: list[types.ShowMessageParams] = []
        self.shown_documents: list[types.ShowDocumentParams] = []
        self.exit_code: int | None = None

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(said: types.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(said)

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def show_message(said: types.ShowMessageParams) -> None:
            self.messages.append(said)

        @self.feature(types.WINDOW_SHOW_DOCUMENT)
        def show_document(asked: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.shown_documents.append(asked)
            return types.ShowDocumentResult(success=True)

    async def server_exit(self, server: asyncio.subprocess.Process) -> None:
        self.exit_code = server.returncode


@asynccontextmanager
async def connected(capabilities: types.ClientCapabilities, *, trusted: bool | None = None) -> AsyncIterator[Editor]:
    """An editor with a server of its own."""
    editor = Editor()
    await editor.start_io(sys.executable, "-P", "-m", "pykb", "lsp")
    try:
        options = {"trusted": trusted} if trusted is not None else None
        await editor.initialize_async(types.InitializeParams(capabilities, initialization_options=options))
        editor.initialized(types.InitializedParams())
        yield editor
    finally:
        await editor.shutdown_async(None)
        editor.exit(None)
        await editor.stop()
    assert editor.exit_code == 0


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def editor() -> AsyncIterator[Editor]:
    """An editor that trusts what it opens, and counts in UTF-16, as all can."""
    async with connected(SHOWS_DOCUMENTS, trusted=True) as editor:
        yield editor


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of a sample."""
    shutil.copytree(SAMPLE, tmp_path / "sealvm", ignore=shutil.ignore_patterns(".venv", "__pycache__"))
    return tmp_path / "sealvm"


def opened(editor: Editor, path: Path, text: str) -> str:
    """Open a file with a text that need not be on disk. Returns its URI."""
    item = types.TextDocumentItem(path.as_uri(), "python", 1, text)
    editor.text_document_did_open(types.DidOpenTextDocumentParams(item))
    return path.as_uri()


async def published(editor: Editor, uri: str) -> list[types.Diagnostic]:
    """What is published next for a file."""
    while True:
        told = await editor.published.get()
        if told.uri == uri:
            return list(told.diagnostics)


async def test_a_mistyped_marker_is_found_and_mended(editor: Editor, project: Path):
    """As typed, before it is saved. The fix is the one of `pykb generate --fix`."""
    text = "from pykb.api import Struct\n\n\nclass Box(Struct):\n    # A comment.\n    # +kubebuilder:validation:Minimun=3\n    size: int\n"
    uri = opened(editor, project / TYPES, text)
    [found] = await published(editor, uri)
    assert (found.code, found.source, found.severity) == ("marker-unknown", "pykb", types.DiagnosticSeverity.Error)
    assert found.range == types.Range(types.Position(5, 6), types.Position(5, 37))
    asked = types.CodeActionParams(
        types.TextDocumentIdentifier(uri),
        found.range,
        types.CodeActionContext([found], [types.CodeActionKind.QuickFix]),
    )
    [action] = await editor.text_document_code_action_async(asked)
    assert isinstance(action, types.CodeAction)
    [edit] = action.edit.changes[uri]
    assert edit.new_text == "kubebuilder:validation:Minimum"
    line = text.split("\n")[5]
    mended = line[: edit.range.start.character] + edit.new_text + line[edit.range.end.character :]
    assert mended == "    # +kubebuilder:validation:Minimum=3"


async def test_places_count_as_the_editor_does(editor: Editor, project: Path):
    """In UTF-16, of which some characters take two."""
    rule = '    # +kubebuilder:validation:XValidation:rule="self != \'\U0001d518\'",mesage="x"'
    uri = opened(
        editor, project / TYPES, f"from pykb.api import Struct\n\n\nclass Box(Struct):\n{rule}\n    size: str\n"
    )
    [found] = await published(editor, uri)
    units = rule.encode("utf-16-le")
    assert units[2 * found.range.start.character : 2 * found.range.end.character].decode("utf-16-le") == "mesage"


async def test_names_are_completed_and_explained(editor: Editor, project: Path):
    """A name replaces what is typed of it, and the cursor on it shows its page."""
    text = "from pykb.api import Struct\n\n\nclass Box(Struct):\n    # +kubebuilder:validation:Min\n    size: int\n"
    uri = opened(editor, project / TYPES, text)
    end = types.Position(4, len("    # +kubebuilder:validation:Min"))
    place = types.TextDocumentIdentifier(uri)
    items = await editor.text_document_completion_async(types.CompletionParams(place, end))
    item = next(each for each in items if each.label == "+kubebuilder:validation:Minimum")
    assert item.text_edit.range == types.Range(types.Position(4, 6), end)
    assert item.text_edit.new_text == "+kubebuilder:validation:Minimum="
    change = types.TextDocumentContentChangePartial(types.Range(end, end), "imum=3")
    version = types.VersionedTextDocumentIdentifier(version=2, uri=uri)
    editor.text_document_did_change(types.DidChangeTextDocumentParams(version, [change]))
    shown = await editor.text_document_hover_async(types.HoverParams(place, end))
    assert "+kubebuilder:validation:Minimum\n" in shown.contents.value


async def test_saving_checks_the_whole_project(editor: Editor, project: Path):
    """What only the types say is found by a process of its own, and goes when it is mended and saved."""
    path = project / TYPES
    right = path.read_text(encoding="utf-8")
    wrong = right.replace("    cpu: str\n", "    cpu: float\n")
    assert wrong != right
    uri = opened(editor, path, wrong)
    assert await published(editor, uri) == []
    for text, codes in ((wrong, ["float", "json-path"]), (right, [])):
        path.write_text(text, encoding="utf-8")
        version = types.VersionedTextDocumentIdentifier(version=2, uri=uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        editor.text_document_did_change(types.DidChangeTextDocumentParams(version, [change]))
        await published(editor, uri)
        editor.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
        assert [each.code for each in await published(editor, uri)] == codes


async def test_a_closed_file_has_no_findings(editor: Editor, project: Path):
    """An editor forgets what is not open."""
    uri = opened(editor, project / TYPES, "# +kubebuilder:validation:Minimun=3\nBox = int\n")
    assert len(await published(editor, uri)) == 1
    editor.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
    assert await published(editor, uri) == []


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"textDocument": {"uri": "untitled:a"}, "position": {"line": 0, "character": 0}}, "`untitled:a`: not open"),
        (
            {"textDocument": {"uri": "file:///a.py"}, "position": {"line": 0, "character": 0}},
            "`file:///a.py`: not open",
        ),
        ({"textDocument": {"uri": "file:///a.py"}, "position": "here"}, "Invalid Params"),
        ({}, "Invalid Params"),
        ([], "Invalid Params"),
    ],
)
async def test_a_wrong_request_gets_an_answer(params: object, message: str):
    """An editor waits for it."""
    asked = [
        {"id": 1, "method": "initialize", "params": {"processId": None, "rootUri": None, "capabilities": {}}},
        {"id": 2, "method": "textDocument/hover", "params": params},
        {"id": 3, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **each}) for each in asked]
    written = "".join(f"Content-Length: {len(body)}\r\n\r\n{body}" for body in bodies)
    server = [sys.executable, "-P", "-m", "pykb", "lsp"]
    done = await asyncio.to_thread(subprocess.run, server, input=written.encode(), capture_output=True, check=True)
    answers = [json.loads(body) for body in re.split(rb"Content-[^{]*", done.stdout) if body]
    (error,) = (each["error"] for each in answers if each.get("id") == 2)
    assert error["code"] == types.ErrorCodes.InvalidParams
    assert error["message"].startswith(message)


async def test_a_project_that_is_not_trusted_is_not_run(project: Path):
    """Without a word from the user, saving runs none of its code."""
    canary = project / "canary"
    path = project / TYPES
    path.write_text(f"open({str(canary)!r}, 'w').close()\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    async with connected(types.ClientCapabilities()) as editor:
        uri = opened(editor, path, path.read_text(encoding="utf-8"))
        await published(editor, uri)
        editor.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))
        await editor.text_document_hover_async(
            types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 0))
        )
        place = types.TextDocumentIdentifier(uri)
        assert not await editor.text_document_code_lens_async(types.CodeLensParams(place))
        cpu = position(path.read_text(encoding="utf-8"), "cpu")
        assert await editor.text_document_implementation_async(types.ImplementationParams(place, cpu)) is None
        assert editor.messages[-1].message == "this imports the project: start `pykb lsp --trusted` if you trust it"
    assert not canary.exists()


CRD = Path("config/crd/bases/infra.sealyun.com_virtulmachines.yaml")


async def implementation(editor: Editor, uri: str, place: types.Position) -> list[types.Location]:
    """Where the editor goes from a place."""
    asked = types.ImplementationParams(types.TextDocumentIdentifier(uri), place)
    return await editor.text_document_implementation_async(asked) or []


def position(text: str, word: str) -> types.Position:
    """The first place of a word at the beginning of a line."""
    line = next(number for number, each in enumerate(text.split("\n")) if each.lstrip().startswith(word))
    return types.Position(line, text.split("\n")[line].index(word) + len(word) - 1)


def file_at(uri: str) -> tuple[str, str]:
    """The name and the text of a file."""
    path = Path(to_fs_path(uri))
    return path.name, path.read_text(encoding="utf-8")


async def test_a_field_leads_to_its_place_in_the_crd(editor: Editor, project: Path):
    """In the manifest on disk. A place that declares nothing leads nowhere."""
    path = project / TYPES
    text = path.read_text(encoding="utf-8")
    uri = opened(editor, path, text)
    [found] = await implementation(editor, uri, position(text, "memory"))
    line = (project / CRD).read_text(encoding="utf-8").split("\n").index("              memory:")
    place = types.Position(line, len("              "))
    assert found == types.Location((project / CRD).as_uri(), types.Range(place, place))
    assert await implementation(editor, uri, position(text, '"""Number of virtual CPUs')) == []


async def test_the_crd_of_the_text_is_shown(editor: Editor, project: Path):
    """As it stands, without a save: of the kind below the lens, or of the class around the cursor."""
    path, crd = project / TYPES, (project / CRD).read_text(encoding="utf-8")
    text = path.read_text(encoding="utf-8").replace("    cpu: str\n", "    cpu: int\n")
    uri = opened(editor, path, text)
    document = types.TextDocumentIdentifier(uri)
    [lens] = await editor.text_document_code_lens_async(types.CodeLensParams(document))
    assert text.split("\n")[lens.range.start.line].startswith("class VirtulMachine(")
    place = types.Range(position(text, "cpu"), position(text, "cpu"))
    context = types.CodeActionContext([], only=[types.CodeActionKind.Source])
    [action] = await editor.text_document_code_action_async(types.CodeActionParams(document, place, context))
    assert action.title == lens.command.title  # the client takes it for another type, so its command is not read
    arguments = types.ExecuteCommandParams(lens.command.command, [uri, place.start.line])
    shown = await editor.workspace_execute_command_async(arguments)
    assert "Number of virtual CPUs.\n                type: integer\n" in shown
    assert file_at(editor.shown_documents[-1].uri) == (CRD.name, shown)
    assert (project / CRD).read_text(encoding="utf-8") == crd


async def test_what_cannot_be_shown_says_why(editor: Editor, project: Path):
    """The first mistake, with its place."""
    path = project / TYPES
    text = path.read_text(encoding="utf-8").replace("    cpu: str\n", "    cpu: float\n")
    uri = opened(editor, path, text)
    cpu = position(text, "cpu")
    assert await implementation(editor, uri, cpu) == []
    assert editor.messages[-1].message.startswith(f"the CRD cannot be made: {TYPES}:{cpu.line + 1}: ")


async def test_a_request_without_a_grant_gets_its_marker(editor: Editor, project: Path):
    """As a note at the call, with the marker as its fix."""
    path = project / "sealvm/controllers/virtulmachine_controller.py"
    right = path.read_text(encoding="utf-8")
    text = right.replace(
        "        await self.client.status.update(machine)\n", "        await self.client.delete_all_of(VirtulMachine)\n"
    )
    assert text != right
    uri = opened(editor, path, text)
    [found] = await published(editor, uri)
    assert (found.code, found.severity) == ("explore-rbac", types.DiagnosticSeverity.Information)
    context = types.CodeActionContext([found], [types.CodeActionKind.QuickFix])
    asked = types.CodeActionParams(types.TextDocumentIdentifier(uri), found.range, context)
    [action] = await editor.text_document_code_action_async(asked)
    marker = "# +kubebuilder:rbac:groups=infra.sealyun.com,resources=virtulmachines,verbs=deletecollection"
    assert action.title == f"Write `{marker}`"
    assert [edit.new_text for edit in action.edit.changes[uri]] == [f"    {marker}\n"]
