// How it is: how much happens, what is slow, and what became of the manager.

import { SLOW } from "./call.js";
import { clock, element, fill, span, update } from "./dom.js";
import { itemOf } from "./reconcile.js";
import { activity, store } from "./store.js";
import { restartText } from "./timeline.js";

const MOST_SLOW = 10;
const MOST_RESTARTS = 20;

/** What the header and the view tell in numbers. @returns {[string, string][]} */
export function facts() {
  const { reconciles, errors, requests, busy } = activity();
  const last = store.restarts.at(-1);
  const manager = last
    ? ({ started: "runs", ended: "has ended", waiting: "waits for a change", lost: "connection lost" }[last.state] ??
      last.state)
    : "–";
  return [
    ["manager", manager],
    ["reconciles/s", reconciles.toFixed(1)],
    ["errors/s", errors.toFixed(1)],
    ["requests/s", requests.toFixed(1)],
    ["busy now", String(busy)],
  ];
}

/** @param {HTMLElement} view */
export function healthView(view) {
  const numbers = element("dl", { class: "numbers" });
  const slow = element("ol", { class: "plain" });
  const work = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Controllers" });
  const webhooks = element("section");
  const explorer = element("section");
  const restarts = element("ul", { class: "plain" });
  fill(
    view,
    element("h2", {}, "Health"),
    numbers,
    element("h2", {}, "Controllers"),
    work,
    element("h2", {}, "Slowest reconciles"),
    slow,
    webhooks,
    explorer,
    element("h2", {}, "The manager"),
    restarts,
  );
  const draw = () => {
    const every = [
      ...facts(),
      ["records kept", String(store.reconciles.size + store.calls.size)],
      ["no longer kept", String(store.dropped)],
      ["connection", store.isLost ? "lost" : store.isOver ? "recording" : "live"],
    ];
    update(
      numbers,
      ...every.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    );
    const ended = [...store.reconciles.values()].filter((each) => !each.isRunning);
    const slowest = [...ended].sort((a, b) => b.seconds - a.seconds).slice(0, MOST_SLOW);
    update(
      slow,
      ...slowest.map(itemOf),
      !slowest.length && element("li", {}, "No reconcile has ended yet."),
    );
    update(work, controllers(ended));
    update(webhooks, ...(store.calls.size ? [element("h2", {}, "Webhooks"), calledWebhooks()] : []));
    update(explorer, ...(store.explored ? [element("h2", {}, "The explorer"), ...explored(store.explored)] : []));
    const last = store.restarts.slice(-MOST_RESTARTS).reverse();
    update(
      restarts,
      ...last.map((each) =>
        element(
          "li",
          {},
          `${clock(each.at)} ${restartText(each)}`,
          each.log.length > 0 && element("pre", { tabindex: "0" }, each.log.join("\n")),
        ),
      ),
      !last.length && element("li", {}, "It has not started yet."),
    );
  };
  const ticking = setInterval(draw, 1000);
  return { draw: () => {}, first: draw, close: () => clearInterval(ticking) };
}

/** @param {import("./store.js").Explored} told */
function explored({ at, state, message, histories, unfinished, findings, html }) {
  if (state === "running") return [element("p", {}, `It looks for faults since ${clock(at)}.`)];
  if (state === "failed") return [element("p", { class: "bad" }, `✗ It could not run: ${message}`)];
  const rest = unfinished.length ? `, and ${unfinished.length} of its codes are not finished` : "";
  return [
    element("p", {}, `${clock(at)} ${count(findings.length)} in ${histories} histories${rest}`),
    element(
      "ul",
      { class: "plain" },
      ...findings.map(({ code, message: words, replay }, index) =>
        element(
          "li",
          {},
          element("span", { class: "bad" }, `✗ ${code}: ${words}`),
          " To see it again: ",
          element("code", {}, `pykb explore --replay ${replay}`),
          html && " ",
          html && element("a", { href: `/findings#finding-${index + 1}`, target: "_blank" }, "As a picture"),
        ),
      ),
    ),
  ];
}

/** @param {number} findings */
export const count = (findings) => (findings ? `${findings} finding${findings === 1 ? "" : "s"}` : "no findings");

/** @param {import("./store.js").Reconcile[]} ended */
function controllers(ended) {
  /** @type {Map<string, {count: number, errors: number, seconds: number, most: number, requests: number}>} */
  const sums = new Map();
  for (const each of ended) {
    const sum = sums.get(each.controller) ?? { count: 0, errors: 0, seconds: 0, most: 0, requests: 0 };
    sums.set(each.controller, sum);
    sum.count += 1;
    sum.errors += each.error ? 1 : 0;
    sum.seconds += each.seconds;
    sum.most = Math.max(sum.most, each.seconds);
    sum.requests += each.sent.length + each.moreSent;
  }
  if (!sums.size) return element("p", { class: "quiet" }, "No reconcile has ended yet.");
  return table(
    ["Controller", "Waiting", "Reconciles", "Errors", "Requests", "Mean", "Slowest"],
    [...sums]
      .sort()
      .map(([name, sum]) => [
        name,
        ...[store.queued.get(name) ?? 0, sum.count, sum.errors, sum.requests, span(sum.seconds / sum.count), span(sum.most)],
      ]),
  );
}

function calledWebhooks() {
  /** @type {Map<string, {count: number, denied: number, unanswered: number, slow: number, seconds: number, most: number}>} */
  const sums = new Map();
  for (const { path, allowed, seconds } of store.calls.values()) {
    const sum = sums.get(path) ?? { count: 0, denied: 0, unanswered: 0, slow: 0, seconds: 0, most: 0 };
    sums.set(path, sum);
    sum.count += 1;
    sum.denied += allowed === false ? 1 : 0;
    sum.unanswered += allowed === null ? 1 : 0;
    sum.slow += seconds > SLOW ? 1 : 0;
    sum.seconds += seconds;
    sum.most = Math.max(sum.most, seconds);
  }
  const numbers = table(
    ["Webhook", "Calls", "Denied", "No answer", `Over ${SLOW} s`, "Mean", "Slowest"],
    [...sums]
      .sort()
      .map(([path, sum]) => [
        path,
        ...[sum.count, sum.denied, sum.unanswered, sum.slow, span(sum.seconds / sum.count), span(sum.most)],
      ]),
  );
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Webhooks" }, numbers);
}

/** A table with a name in each row. @param {string[]} head @param {(string | number)[][]} rows */
function table(head, rows) {
  return element(
    "table",
    {},
    element("tr", {}, ...head.map((each) => element("th", { scope: "col" }, each))),
    ...rows.map(([name, ...cells]) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, String(name)),
        ...cells.map((cell) => element("td", {}, String(cell))),
      ),
    ),
  );
}
