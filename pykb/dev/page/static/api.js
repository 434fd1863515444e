// Asks the server.

/** @typedef {{field: string, message: string, line?: number}} Problem */

/**
 * What the server answers. If it answers in words, or not at all, this is the error.
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<any>}
 */
export async function ask(path, options) {
  try {
    const answer = await fetch(path, options);
    if (answer.headers.get("Content-Type")?.startsWith("application/json")) return await answer.json();
    return failed((await answer.text()).trim());
  } catch {
    return failed("pykb does not answer");
  }
}

/** @param {string} message */
const failed = (message) => ({ ok: false, message, errors: [{ field: "", message }] });

/** @param {string} path @param {unknown} body */
export function post(path, body) {
  const headers = { "Content-Type": "application/json" };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}
