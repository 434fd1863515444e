// Try it: apply a sample, with the API server's own errors, and restart the manager.

import { ask, post } from "./api.js";
import { completed, HELP } from "./completion.js";
import { element, fill, identityOf, nameOf } from "./dom.js";

/** @param {HTMLElement} view @param {string} id The object to edit, if there is one. */
export function tryView(view, id) {
  /** What the object was, of which only the changes are sent. */
  let base = "";
  const choice = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Sample", onchange: take }));
  const text = /** @type {HTMLTextAreaElement} */ (
    element("textarea", { "aria-label": "YAML", spellcheck: "false", "aria-describedby": "said help" })
  );
  const said = element("div", { id: "said", role: "status" });
  /** @param {import("./api.js").Problem} error */
  function problem({ field, message, line = 0 }) {
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
      field && element("code", {}, `${field}: `),
      message,
    );
  }
  const act = (/** @type {boolean} */ dryRun) => async () => {
    const yaml = text.value;
    const { ok, command, errors } = await post("/api/apply", { yaml, base, dryRun });
    if (base && ok && !dryRun) base = yaml;
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
    element("h2", {}, id ? `Edit ${nameOf(identityOf(id))}` : "Try it"),
    element(
      "div",
      { class: "bar" },
      choice,
      element("button", { onclick: act(true) }, "Dry run"),
      element("button", { onclick: act(false) }, "Apply"),
      element("button", { onclick: restart }, "Restart the manager"),
    ),
    completed(text),
    element("p", { id: "help", class: "quiet" }, HELP),
    said,
  );
  /** @type {{path: string, kind: string, name: string, yaml: string}[]} */
  let samples = [];
  function take() {
    text.value = samples[choice.selectedIndex]?.yaml ?? "";
    fill(said);
  }
  if (id) {
    ask(`/api/object?${new URLSearchParams(identityOf(id))}`).then((told) => {
      if (told.yaml) text.value = base = told.yaml;
      else fill(said, element("p", { class: "bad" }, told.message));
    });
  }
  ask("/api/samples").then((told) => {
    samples = told.samples ?? [];
    fill(choice, ...samples.map((each) => element("option", {}, `${each.kind} ${each.name}`)));
    choice.hidden = !samples.length || Boolean(id);
    if (!text.value && !id) take();
    if (!samples.length) text.placeholder = told.message ?? "config/samples has no object: write one here";
  });
  return { draw: () => {}, close: () => {} };
}
