// Try it: apply a sample, with the API server's own errors, and restart the manager.

import { ask, post } from "./api.js";
import { element, fill } from "./dom.js";

/**
 * The line of a field such as `spec.items[0].name` in YAML in block style; 0 if it is not found.
 * @param {string} yaml
 * @param {string} field
 */
export function lineOf(yaml, field) {
  const told = field.match(/^line (\d+)$/);
  if (told) return Number(told[1]);
  const lines = yaml.split("\n");
  let found = 0;
  let begin = 0;
  let deeper = -1; // the indentation of what contains the next part
  for (const [, index, quoted, plain] of field.matchAll(/\[(\d+)\]|\[([^\]]+)\]|([^.[\]]+)/g)) {
    const key = quoted ?? plain;
    let items = -1;
    let at = -1;
    let level = -1;
    for (let line = begin; line < lines.length && at < 0; line += 1) {
      const [, blanks = "", dash = "", name = ""] =
        lines[line]?.match(/^( *)((?:- +)*)("[^"]*"|'[^']*'|[^\s:#][^:]*)?/) ?? [];
      if (!name && !dash) continue;
      const depth = blanks.length;
      if (depth < deeper || (depth === deeper && !dash)) break;
      if (level < 0) level = depth;
      if (index !== undefined) {
        if (depth === level && dash && (items += 1) === Number(index)) at = line;
      } else if (depth + dash.length >= level && name.replace(/^["']|["']$/g, "").trim() === key) at = line;
    }
    if (at < 0) return found;
    found = at + 1;
    const [, blanks = "", dash = ""] = lines[at]?.match(/^( *)((?:- +)*)/) ?? [];
    [begin, deeper] = index === undefined ? [at + 1, blanks.length + dash.length] : [at, blanks.length - 1];
  }
  return found;
}

/** @param {HTMLElement} view */
export function tryView(view) {
  const choice = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Sample", onchange: take }));
  const text = /** @type {HTMLTextAreaElement} */ (
    element("textarea", { "aria-label": "YAML", spellcheck: "false", "aria-describedby": "said" })
  );
  const said = element("div", { id: "said", role: "status" });
  /** @param {{field: string, message: string}} error */
  function problem({ field, message }) {
    const line = lineOf(text.value, field);
    const go = () => {
      const lines = text.value.split("\n");
      const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
      text.focus();
      text.setSelectionRange(begin, begin + (lines[line - 1]?.length ?? 0));
      text.scrollTop = (text.scrollHeight / lines.length) * Math.max(0, line - 5);
    };
    return element(
      "li",
      {},
      "✗ ",
      line > 0 && element("button", { onclick: go, class: "small" }, `line ${line}`),
      line > 0 && " ",
      field && !field.startsWith("line ") && element("code", {}, `${field}: `),
      message,
    );
  }
  const act = (/** @type {boolean} */ dryRun) => async () => {
    const { ok, command, errors } = await post("/api/apply", { yaml: text.value, dryRun });
    text.setAttribute("aria-invalid", String(!ok));
    fill(
      said,
      ok
        ? element(
            "p",
            { class: "good" },
            dryRun ? "✓ The API server accepts it. Nothing was stored." : "✓ Applied. ",
            !dryRun && element("a", { href: "#objects" }, "Objects"),
          )
        : element("ul", { class: "plain bad" }, ...errors.map(problem)),
      command && element("p", { class: "quiet" }, "As by: ", element("code", {}, command)),
    );
  };
  const restart = async () => {
    const { ok, errors } = await post("/api/restart", {});
    fill(
      said,
      ok
        ? element("p", { class: "good" }, "✓ The manager was restarted.")
        : element("p", { class: "bad" }, errors[0].message),
    );
  };
  fill(
    view,
    element("h2", {}, "Try it"),
    element(
      "div",
      { class: "bar" },
      choice,
      element("button", { onclick: act(true) }, "Dry run"),
      element("button", { onclick: act(false) }, "Apply"),
      element("button", { onclick: restart }, "Restart the manager"),
    ),
    text,
    said,
  );
  /** @type {{path: string, kind: string, name: string, yaml: string}[]} */
  let samples = [];
  function take() {
    text.value = samples[choice.selectedIndex]?.yaml ?? "";
    fill(said);
  }
  ask("/api/samples").then((told) => {
    samples = told.samples ?? [];
    fill(choice, ...samples.map((each) => element("option", {}, `${each.kind} ${each.name}`)));
    choice.hidden = !samples.length;
    if (!text.value) take();
    if (!samples.length) text.placeholder = told.message ?? "config/samples has no object: write one here";
  });
  return { draw: () => {}, close: () => {} };
}
