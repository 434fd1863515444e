// Try it: apply a sample, with the API server's own errors, and restart the manager.

import { element, fill } from "./dom.js";
import { post } from "./objects.js";

/** @param {HTMLElement} view */
export function tryView(view) {
  const choice = /** @type {HTMLSelectElement} */ (element("select", { "aria-label": "Sample", onchange: take }));
  const text = /** @type {HTMLTextAreaElement} */ (element("textarea", { "aria-label": "YAML", spellcheck: "false", "aria-describedby": "said" }));
  const said = element("div", { id: "said", role: "status" });
  const act = (/** @type {boolean} */ dryRun) => async () => {
    const { ok, command, errors } = await post("/api/apply", { yaml: text.value, dryRun });
    text.setAttribute("aria-invalid", String(!ok));
    fill(
      said,
      ok
        ? element("p", { class: "good" }, dryRun ? "✓ The API server accepts it." : "✓ Applied.")
        : element("ul", { class: "plain bad" }, ...errors.map((/** @type {{field: string, message: string}} */ each) => element("li", {}, "✗ ", each.field && element("code", {}, `${each.field}: `), each.message))),
      command && element("p", { class: "quiet" }, "As by: ", element("code", {}, command)),
    );
  };
  const restart = async () => {
    const { ok, errors } = await post("/api/restart", {});
    fill(said, ok ? element("p", { class: "good" }, "✓ The manager was restarted.") : element("p", { class: "bad" }, errors[0].message));
  };
  fill(
    view,
    element("h2", {}, "Try it"),
    element("div", { class: "bar" }, choice, element("button", { onclick: act(true) }, "Dry run"), element("button", { onclick: act(false) }, "Apply"), element("button", { onclick: restart }, "Restart the manager")),
    text, said,
  );
  /** @type {{path: string, kind: string, name: string, yaml: string}[]} */
  let samples = [];
  function take() {
    text.value = samples[choice.selectedIndex]?.yaml ?? "";
    fill(said);
  }
  fetch("/api/samples").then((answer) => answer.json()).then((told) => {
    samples = told.samples;
    fill(choice, ...samples.map((each) => element("option", {}, `${each.kind} ${each.name}`)));
    choice.hidden = !samples.length;
    if (!text.value) take();
    if (!samples.length) text.placeholder = "config/samples has no object: write one here";
  });
  return { draw: () => {}, close: () => {} };
}
