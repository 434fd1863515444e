// One call of a webhook: what it was asked, what it changed, and how it ended.

import { diff, errorOf, itemTo, logOf, neighbours, tracebackOf } from "./details.js";
import { clock, codeLink, decoded, element, fill, hrefOf, hrefOfCall, hrefOfObject, nameOf, span, update } from "./dom.js";
import { callsOf, laneOf, store } from "./store.js";

/** @typedef {import("./store.js").Call} Call */
/** @typedef {[mark: "" | "-" | "+", text: string]} Line */

/** A call that takes more seconds is slow: each write waits for it. */
export const SLOW = 1;

/** What a client learns of a bug. */
const INTERNAL = "internal error";

const MOST_LINES = 2000;

/** Whether it let the client go on: `true`, `false`, or `null` without an answer. @param {Call} call */
const verdictOf = ({ type, allowed }) => {
  if (allowed === null) return /** @type {const} */ (["wait", "✗ no answer"]);
  const [good, bad] = type === "conversion" ? ["converted", "not converted"] : ["allowed", "denied"];
  return allowed ? /** @type {const} */ (["good", `✓ ${good}`]) : /** @type {const} */ (["bad", `✗ ${bad}`]);
};

/** @param {Call} call */
const titleOf = ({ type, object, path }) => `${type} webhook, ${object ? nameOf(object) : path}`;

/** A call in one line. @param {Call} call */
export function summaryOfCall(call) {
  const did = call.changes.length && call.type === "mutating" ? `, ${call.changes.length} changed` : "";
  const why = call.message ? `: ${call.message}` : "";
  const what = call.operation ? `, ${call.operation} by ${call.user}` : "";
  return `${titleOf(call)}${what}: ${verdictOf(call)[1]} after ${span(call.seconds)}${did}${why}`;
}

/** A call as an item of a list, with a link to it. @param {Call} call */
export const itemOfCall = (call) => itemTo(call, hrefOfCall(call), summaryOfCall(call));

/** @param {unknown} value @returns {value is Record<string, unknown>} */
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** The parts of an object or a list; `null` of what has none. @param {unknown} value @returns {[string, unknown][] | null} */
function partsOf(value) {
  const parts = isObject(value)
    ? Object.entries(value).map(([name, part]) => /** @type {[string, unknown]} */ ([`${name}:`, part]))
    : Array.isArray(value)
      ? value.map((part) => /** @type {[string, unknown]} */ (["-", part]))
      : [];
  return parts.length ? parts : null;
}

/** A value in lines, about as YAML has it. @param {string} label @param {unknown} value @returns {string[]} */
function linesOf(label, value) {
  const parts = partsOf(value);
  if (!parts) return [`${label} ${typeof value === "string" ? value : JSON.stringify(value)}`];
  return [label, ...parts.flatMap(([name, part]) => linesOf(name, part)).map((line) => `  ${line}`)];
}

/**
 * Two values in lines, with those that only one has.
 * @param {string} label
 * @param {unknown} before `undefined` if it is not there.
 * @param {unknown} after
 * @returns {Line[]}
 */
function compared(label, before, after) {
  const lines = (/** @type {Line[0]} */ mark, /** @type {unknown} */ value) =>
    value === undefined ? [] : linesOf(label, value).map((line) => /** @type {Line} */ ([mark, line]));
  if (JSON.stringify(before) === JSON.stringify(after)) return lines("", before);
  /** @type {Line[] | null} */
  let inner = null;
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    inner = [...names].flatMap((name) => compared(`${name}:`, before[name], after[name]));
  } else if (Array.isArray(before) && Array.isArray(after)) {
    const most = Math.max(before.length, after.length);
    inner = Array.from({ length: most }, (_, at) => compared("-", before[at], after[at])).flat();
  }
  if (!inner) return [...lines("-", before), ...lines("+", after)];
  return [["", label], ...inner.map(([mark, line]) => /** @type {Line} */ ([mark, `  ${line}`]))];
}

/** Both states of an object, line by line. @param {unknown} before @param {unknown} after */
export function objectLines(before, after) {
  const [old, now] = [before ?? after, after ?? before]; // what is created or deleted is not compared
  return compared("", old, now)
    .slice(1)
    .map(([mark, line]) => /** @type {Line} */ ([mark, line.slice(2)]));
}

const TAGS = { "": "span", "-": "del", "+": "ins" };

/** @param {Call} found */
function objectsOf({ before, after, objects }) {
  if (!before && !after) return [];
  const title = before && after ? "Object before and after" : before ? "Object before" : "Object";
  const lines = objectLines(before, after);
  return [
    element("h2", {}, title),
    objects > 1 && element("p", { class: "quiet" }, `The first of ${objects} objects.`),
    element(
      "pre",
      { tabindex: "0", "aria-label": title, class: "diff" },
      ...lines.slice(0, MOST_LINES).map(([mark, line]) => element(TAGS[mark], {}, line)),
      lines.length > MOST_LINES && element("span", {}, `and ${lines.length - MOST_LINES} more lines`),
    ),
  ];
}

/** @param {Call} found */
function askedOf(found) {
  const part = found.subresource ? ` (${found.subresource})` : "";
  return element(
    "p",
    {},
    found.operation && `${found.operation}${part} by ${found.user}${found.dryRun ? ", dry run" : ""}, at `,
    element("code", {}, found.path),
    found.object && ", of ",
    found.object && element("a", { href: hrefOfObject(found.object) }, nameOf(found.object)),
    found.sentBy && ", sent by ",
    found.sentBy && element("a", { href: hrefOf(found.sentBy) }, laneOf(found.sentBy)),
  );
}

/** @param {string} title @param {string[]} texts */
const listed = (title, texts) =>
  texts.length
    ? [
        element("h2", {}, title),
        element("ul", { class: "plain" }, ...texts.map((text) => element("li", { class: "wait" }, text))),
      ]
    : [];

/** One call in full. @param {HTMLElement} view @param {string} id */
export function callView(view, id) {
  /** @type {Call | null} */
  let last = null;
  const draw = () => {
    const found = store.calls.get(decoded(id));
    if (last && !found) return; // it stays readable when it is no longer kept
    if (!found) {
      fill(view, element("p", { class: "empty" }, store.isReady ? "This call is no longer kept." : "Loading …"));
      return;
    }
    const bar = neighbours(found.object ? callsOf(found.object).reverse() : [], found, hrefOfCall);
    if (found === last) {
      update(view.children[0] ?? view, ...bar.childNodes);
      return;
    }
    last = found;
    const [tone, words] = verdictOf(found);
    const denial = found.allowed === false && found.message !== INTERNAL ? found.error : null; // what the program meant
    fill(
      view,
      bar,
      element("h2", {}, titleOf(found)),
      element("p", {}, element("span", { class: tone }, words), ` at ${clock(found.at)} in ${span(found.seconds)}`),
      found.message &&
        element("p", { class: tone }, `${found.message} `, denial && codeLink(denial.place, store.editor)),
      askedOf(found),
      found.isReduced && element("p", { class: "wait" }, "This record was large: its objects and log were left out."),
      ...listed(
        "Refused fields",
        found.fields.map(({ field, message }) => `${field}: ${message}`),
      ),
      ...listed("Warnings", found.warnings),
      ...errorOf(denial ? null : found.error),
      found.changes.length > 0 && element("h2", {}, found.type === "validating" ? "What the client changes" : "Changes"),
      found.changes.length > 0 && diff(found.changes),
      ...objectsOf(found),
      ...logOf(found),
      denial && element("details", {}, element("summary", {}, "Traceback of the denial"), tracebackOf(denial)),
    );
  };
  return { draw, close: () => {} };
}
