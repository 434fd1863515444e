/** Finds the language server of a project. It knows nothing of VS Code, so that tests need none. */

import { accessSync, constants, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Program {
  command: string;
  args: string[];
  options: { cwd: string };
}

/** Whether a file PROJECT is one of pykb. Those of kubebuilder have the same name. */
export function isProject(file: string): boolean {
  try {
    return readFileSync(file, "utf8").includes("python.pykb.dev/");
  } catch {
    return false;
  }
}

/** The server in the environment of a project, or undefined if it has no environment. */
export function serverIn(root: string): Program | undefined {
  const python = process.platform === "win32" ? join("Scripts", "python.exe") : join("bin", "python");
  const command = join(root, ".venv", python);
  try {
    accessSync(command, constants.X_OK);
  } catch {
    return undefined;
  }
  // -P: no file of the user can hide a module.
  return { command, args: ["-P", "-m", "pykb", "lsp"], options: { cwd: root } };
}
