// The page of `pykb dev`: one view at a time, chosen by the hash of the address.

import { element, fill, hrefOf, update } from "./dom.js";
import { callView } from "./call.js";
import { count, facts, healthView } from "./health.js";
import { objectsView, objectView } from "./objects.js";
import { reconcileView } from "./reconcile.js";
import { follow, hotLoops, laneOf, listen, now, store } from "./store.js";
import { timelineView } from "./timeline.js";
import { tryView } from "./try.js";

/** @typedef {{draw: () => void, close: () => unknown, first?: () => void}} View */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = byId("view");

/** @type {Map<string, [parent: string, make: (view: HTMLElement, rest: string) => View]>} */
const VIEWS = new Map([
  ["objects", ["objects", objectsView]],
  ["object", ["objects", objectView]],
  ["timeline", ["timeline", timelineView]],
  ["reconcile", ["timeline", reconcileView]],
  ["call", ["timeline", callView]],
  ["health", ["health", healthView]],
  ["try", ["try", tryView]],
]);

const LOST =
  "The connection to pykb is lost. This page tries again. " +
  "If pykb has ended, start it and open the address that it prints.";

/** @type {View | null} */
let view = null;

function show() {
  const [, name = "", rest = ""] = location.hash.match(/^#([a-z]*)\/?(.*)$/s) ?? [];
  const [parent, make] = VIEWS.get(name) ?? /** @type {const} */ (["objects", objectsView]);
  view?.close();
  fill(main);
  view = make(main, rest);
  (view.first ?? view.draw)();
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#${parent}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  scrollTo(0, 0);
}

function header() {
  byId("project").textContent = store.project;
  byId("project").title = store.cluster;
  const command = store.source ? "pykb inspect" : "pykb dev";
  byId("command").textContent = document.title = command;
  const until = store.isOver ? `, until ${new Date(now() * 1000).toLocaleString([], { hour12: false })}` : "";
  byId("source").textContent = store.source + until;
  byId("source").hidden = !store.source;
  byId("trying").hidden = Boolean(store.source);
  const lost = byId("lost");
  lost.hidden = !store.isLost;
  lost.textContent = store.isLost ? LOST : "";
  update(
    byId("facts"),
    ...facts().map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
  );
  update(byId("alarms"), ...alarms());
}

function alarms() {
  const hot = hotLoops().map((last) => {
    const own = last.causes.flatMap((cause) => (cause.writtenBy ? cause.changes.map((change) => change.path) : []));
    const why = own.length ? `. Its own write of ${own[0]} starts it` : ", and nobody else has changed anything";
    return element(
      "p",
      { "data-key": laneOf(last) },
      `Hot loop: ${laneOf(last)} is reconciled again and again${why}. `,
      element("a", { href: hrefOf(last) }, "Last reconcile"),
    );
  });
  const last = store.restarts.at(-1);
  if (last && !["started", "connected"].includes(last.state) && last.reason) hot.push(element("p", { "data-key": "manager" }, last.reason));
  if (store.explored?.findings.length) {
    const text = `The explorer has ${count(store.explored.findings.length)}. `;
    hot.push(element("p", { "data-key": "explorer" }, text, element("a", { href: "#health" }, "Health")));
  }
  return hot;
}

addEventListener("hashchange", () => {
  show();
  main.focus({ preventScroll: true }); // else the keyboard would be where the followed link was
});
listen(() => view?.draw());
setInterval(header, 500);
listen(header);
show();
follow();
