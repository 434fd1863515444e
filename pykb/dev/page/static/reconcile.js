// One reconcile: why it ran, what it sent, and how it ended.

import { itemOfCall } from "./call.js";
import { diff, errorOf, itemTo, logOf, neighbours } from "./details.js";
import { clock, codeLink, decoded, element, fill, hrefOf, nameOf, span, update } from "./dom.js";
import { laneOf, now, store } from "./store.js";

/** @typedef {import("./store.js").Reconcile} Reconcile */

/** A reconcile in one line. @param {Reconcile} reconcile */
export function summaryOf(reconcile) {
  const writes = reconcile.sent.filter((each) => each.method !== "GET").length;
  const took = span(reconcile.seconds);
  const end = reconcile.isRunning
    ? "… runs"
    : reconcile.error
      ? `✗ ${reconcile.error.type} after ${took}`
      : reconcile.outcome === "ok"
        ? `✓ ${took}`
        : `cancelled after ${took}`;
  const did = writes ? `, ${writes} write${writes > 1 ? "s" : ""}` : "";
  return `${laneOf(reconcile)}: ${end}${did}${becauseOf(reconcile)}`;
}

/** @param {Reconcile} reconcile */
function becauseOf(reconcile) {
  const cause =
    reconcile.causes.findLast((each) => each.kind === "event") ?? reconcile.causes[reconcile.causes.length - 1];
  return cause ? `, because ${causeText(cause)}` : "";
}

const WITHOUT_EVENT = /** @type {Record<string, string>} */ ({
  retry: "the last reconcile failed",
  requeue_after: "it asked to come back",
  program: "the program asked for it",
});

/** The same words as in the line of a reconcile in the terminal. @param {import("./store.js").Cause} cause */
function causeText(cause) {
  const what = cause.object ? nameOf(cause.object) : "an object";
  if (cause.kind in WITHOUT_EVENT) return WITHOUT_EVENT[cause.kind];
  if (cause.kind === "initial") return `it found ${what} when it started`;
  if (cause.kind === "resync") return `${what} was looked at again`;
  if (cause.event === "update" && !cause.changes.length) return `${what} was written, without a change`;
  return cause.event === "generic" ? `of an event of ${what}` : `${what} was ${cause.event}d`;
}

/** A reconcile as an item of a list, with a link to it. @param {Reconcile} reconcile */
export const itemOf = (reconcile) => itemTo(reconcile, hrefOf(reconcile), summaryOf(reconcile));

/** @param {Reconcile} found */
function ending(found) {
  const [tone, words] = found.isRunning
    ? ["", "… runs"]
    : found.error
      ? ["bad", "✗ failed"]
      : found.outcome === "ok"
        ? ["good", "✓ done"]
        : ["wait", "cancelled"];
  const again =
    found.nextTry !== null
      ? `, failure ${found.failures}, next try after ${span(found.nextTry)}`
      : found.requeueAfter !== null
        ? `, again after ${span(found.requeueAfter)}`
        : "";
  const took = found.isRunning ? `, for ${span(Math.max(0, now() - found.at))}` : ` in ${span(found.seconds)}`;
  return element("p", {}, element("span", { class: tone }, words), ` at ${clock(found.at)}${took}${again}`);
}

/** @param {Reconcile} found */
function causesOf(found) {
  return element(
    "ul",
    { class: "plain" },
    ...found.causes.map((cause) =>
      element(
        "li",
        {},
        causeText(cause),
        cause.writtenBy
          ? element(
              "span",
              {},
              ", written by ",
              element("a", { href: hrefOf(cause.writtenBy) }, laneOf(cause.writtenBy)),
            )
          : cause.fieldManager && `, written by ${cause.fieldManager}`,
        cause.changes.length > 0 && diff(cause.changes),
      ),
    ),
    !found.causes.length && element("li", {}, "No cause was noted."),
    found.moreCauses > 0 && element("li", {}, `and ${found.moreCauses} more`),
  );
}

/** @param {Reconcile} found */
function requestsOf(found) {
  return element(
    "ol",
    { class: "plain" },
    ...found.sent.map((sent) =>
      element(
        "li",
        {},
        element("code", { class: sent.method === "GET" ? "quiet" : "" }, sent.method),
        ` ${nameOf(sent.object)}${sent.subresource ? ` (${sent.subresource})` : ""}`,
        `${sent.dryRun ? ", dry run" : ""}, ${span(sent.seconds)} `,
        codeLink(sent.place, store.editor),
        sent.error && element("span", { class: "bad" }, ` ✗ ${sent.error}`),
        sent.changes.length > 0 && diff(sent.changes),
      ),
    ),
    !found.sent.length && element("li", {}, found.isRunning ? "It shows when the reconcile has ended." : "Nothing."),
    found.moreSent > 0 && element("li", {}, `and ${found.moreSent} more`),
  );
}

/** The calls of webhooks for its writes, below a heading. @param {Reconcile} found */
function callsFor(found) {
  const calls = [...store.calls.values()].filter((each) => each.sentBy?.id === found.id);
  if (!calls.length) return [];
  return [
    element("h2", {}, "Webhook calls for its writes"),
    element("ul", { class: "plain" }, ...calls.map(itemOfCall)),
  ];
}

/** One reconcile in full. @param {HTMLElement} view @param {string} id */
export function reconcileView(view, id) {
  /** @type {Reconcile | null} */
  let last = null;
  let links = "";
  const draw = () => {
    const found = store.reconciles.get(decoded(id));
    if (last && !found) return; // it stays readable when it is no longer kept
    const bar = found ? neighbours(store.lanes.get(laneOf(found)) ?? [], found, hrefOf) : element("p");
    const shownLinks = [...bar.querySelectorAll("a")].map((link) => link.href).join(" ");
    if (last && found === last && shownLinks === links) return;
    [last, links] = [found ?? null, shownLinks];
    if (!found) {
      fill(view, element("p", { class: "empty" }, store.isReady ? "This reconcile is no longer kept." : "Loading …"));
      return;
    }
    update(
      view,
      bar,
      element("h2", {}, laneOf(found)),
      ending(found),
      found.isReduced &&
        element("p", { class: "wait" }, "This record was large: its changes and log lines were left out."),
      ...errorOf(found.error),
      element("h2", {}, "Why it ran"),
      causesOf(found),
      element("h2", {}, "What it sent"),
      requestsOf(found),
      ...callsFor(found),
      ...logOf(found),
    );
  };
  return { draw, close: () => {} };
}
