/** Runs the language server. VS Code loads it only in trusted workspaces (`capabilities` in package.json). */

import { dirname } from "node:path";
import { window, workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { isProject, serverIn } from "./server";

const PREVIEW = "pykb.previewCrd";
const RETRY = "Retry";

let client: LanguageClient | undefined;

export async function activate(): Promise<void> {
  const files = await workspace.findFiles("{PROJECT,*/PROJECT}", "**/{.venv,node_modules}/**");
  const roots = files.map((file) => file.fsPath).filter(isProject).sort().map((file) => dirname(file));
  if (roots.length > 0) {
    await start(roots);
  }
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}

/** Start one server. It serves all projects, and generates with the environment of each. */
async function start(roots: string[]): Promise<void> {
  const program = roots.map(serverIn).find((each) => each !== undefined);
  if (program === undefined) {
    await fail(roots, `pykb: ${roots[0]} has no .venv. Create it: make env`);
    return;
  }
  client = new LanguageClient("pykb", program, {
    documentSelector: [{ scheme: "file", language: "python" }],
    initializationOptions: { trusted: workspace.isTrusted },
    middleware: {
      // The lens names a file and a line. The command palette means the cursor.
      executeCommand: (command, args, next) => next(command, command === PREVIEW && !args.length ? cursor() : args),
    },
  });
  try {
    await client.start();
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const remedy = `${program.command} -m pip install 'pykubebuilder[cli,lsp]'`;
    await fail(roots, `pykb: the language server does not start: ${reason}. It may not be installed: ${remedy}`);
  }
}

async function fail(roots: string[], message: string): Promise<void> {
  if ((await window.showErrorMessage(message, RETRY)) === RETRY) {
    await start(roots);
  }
}

function cursor(): unknown[] {
  const editor = window.activeTextEditor;
  return editor === undefined ? [] : [editor.document.uri.toString(), editor.selection.active.line];
}
