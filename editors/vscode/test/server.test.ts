/** The real language server, over the protocol that the extension speaks with it. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  CodeLensRequest, createProtocolConnection, DidChangeTextDocumentNotification, DidOpenTextDocumentNotification,
  ExecuteCommandRequest, ExitNotification,
  InitializedNotification, InitializeRequest, PublishDiagnosticsNotification, PublishDiagnosticsParams,
  ShowDocumentRequest, ShutdownRequest, StreamMessageReader, StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { isProject, serverIn } from "../src/server";

const REPOSITORY = join(__dirname, "../../../..");
const TYPES = "sealvm/api/v1/virtulmachine_types.py";
const MANIFEST = JSON.parse(readFileSync(join(__dirname, "../../package.json"), "utf8"));
let folder: string, root: string;

before(() => {
  folder = mkdtempSync(join(tmpdir(), "pykb-vscode-"));
  root = join(folder, "sealvm");
  const source = join(REPOSITORY, "testdata/virtulmachine");
  cpSync(source, root, { recursive: true, filter: (path) => !path.endsWith(".venv") });
});

after(() => rmSync(folder, { recursive: true }));

test("only workspaces that are trusted run code of the project", () => {
  assert.equal(MANIFEST.capabilities.untrustedWorkspaces.supported, false);
});

test("projects of pykb are told from those of kubebuilder", () => {
  assert.ok(isProject(join(root, "PROJECT")));
  assert.ok(!isProject(join(root, "Makefile")));
  assert.ok(!isProject(join(root, "missing")));
});

test("the server of the project finds a mistake and shows a CRD", async () => {
  assert.equal(serverIn(root), undefined, "there is no environment yet");
  symlinkSync(resolve(REPOSITORY, process.env.VENV ?? ".venv"), join(root, ".venv"));
  const program = serverIn(root);
  assert.ok(program);
  const child = spawn(program.command, program.args, { ...program.options, stdio: ["pipe", "pipe", "inherit"] });
  const server = createProtocolConnection(new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin));
  const diagnostics = new Promise<PublishDiagnosticsParams>((resolve) => {
    server.onNotification(PublishDiagnosticsNotification.type, resolve);
  });
  const shown: string[] = [];
  server.onRequest(ShowDocumentRequest.type, ({ uri }) => {
    shown.push(readFileSync(new URL(uri), "utf8"));
    return { success: true };
  });
  server.listen();
  const { capabilities } = await server.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: { window: { showDocument: { support: true } } },
    initializationOptions: { trusted: true },
  });
  const commands = MANIFEST.contributes.commands.map((each: { command: string }) => each.command);
  assert.deepEqual(capabilities.executeCommandProvider?.commands, commands);
  await server.sendNotification(InitializedNotification.type, {});
  const uri = pathToFileURL(join(root, TYPES)).href;
  const text = readFileSync(join(root, TYPES), "utf8") + "\n\n# +kubebuilder:validation:Minimun=3\nSize = int | str\n";
  const textDocument = { uri, languageId: "python", version: 1, text };
  await server.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
  assert.deepEqual((await diagnostics).diagnostics.map((each) => each.code), ["marker-unknown"]);
  const lenses = await server.sendRequest(CodeLensRequest.type, { textDocument });
  const command = lenses?.[0]?.command;
  assert.equal(command?.title, "pykb: preview CRD");
  const contentChanges = [{ text: readFileSync(join(root, TYPES), "utf8") }];
  const changed = { uri, version: 2 };
  await server.sendNotification(DidChangeTextDocumentNotification.type, { textDocument: changed, contentChanges });
  const crd = await server.sendRequest(ExecuteCommandRequest.type, { ...command, command: command?.command ?? "" });
  assert.equal(crd, readFileSync(join(root, "config/crd/bases/infra.sealyun.com_virtulmachines.yaml"), "utf8"));
  await server.sendRequest(ShutdownRequest.type);
  assert.deepEqual(shown, [crd]);
  await server.sendNotification(ExitNotification.type);
  await once(child, "exit");
  assert.equal(child.exitCode, 0);
});
