// Parts of the views of a reconcile and of a call.

import { clock, codeLink, element, shown } from "./dom.js";
import { store } from "./store.js";

/** @param {import("./store.js").Change[]} changes */
export function diff(changes) {
  return element(
    "ul",
    { class: "plain mono" },
    ...changes.map((each) =>
      element(
        "li",
        {},
        `${each.path} `,
        element("del", {}, shown(each.before)),
        " ",
        element("ins", {}, shown(each.after)),
      ),
    ),
  );
}

/**
 * A reconcile or a call as an item of a list, with a link to it.
 * @param {{id: string, at: number}} found
 * @param {string} address
 * @param {string} summary
 */
export const itemTo = (found, address, summary) =>
  element("li", { "data-key": found.id }, element("a", { href: address }, clock(found.at)), ` ${summary}`);

/**
 * Links to what came before and after this one.
 * @template {{id: string}} T
 * @param {T[]} lane
 * @param {T} found
 * @param {(to: T) => string} address
 */
export function neighbours(lane, found, address) {
  const at = lane.indexOf(found);
  const link = (/** @type {T | undefined} */ to, /** @type {string} */ text) =>
    to && element("a", { href: address(to), "data-key": text }, text);
  return element(
    "p",
    { class: "bar" },
    element("a", { href: "#timeline" }, "← Timeline"),
    link(lane[at - 1], "Previous"),
    link(lane[at + 1], "Next"),
  );
}

const TONES = /** @type {Record<string, string>} */ ({ critical: "bad", error: "bad", warning: "wait" });

/** The log lines of a reconcile or a call, below a heading. @param {import("./store.js").Logged} found */
export const logOf = (found) =>
  found.logs.length
    ? [
        element("h2", {}, "Log"),
        element(
          "ul",
          { class: "plain mono" },
          ...found.logs.map((each) =>
            element("li", { class: TONES[each.level] ?? "" }, `${clock(each.at)} ${each.level} ${each.message}`),
          ),
          found.moreLogs > 0 && element("li", {}, `and ${found.moreLogs} more`),
        ),
      ]
    : [];

/** An error with its place, below a heading. @param {import("./store.js").Failure | null} error */
export const errorOf = (error) =>
  error
    ? [
        element("h2", {}, "Error"),
        element("p", { class: "bad" }, `${error.message} `, codeLink(error.place, store.editor)),
        tracebackOf(error),
      ]
    : [];

/** @param {import("./store.js").Failure} error */
export const tracebackOf = (error) =>
  element("pre", { tabindex: "0", "aria-label": "Traceback" }, error.traceback);
