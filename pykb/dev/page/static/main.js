// The page of `pykb dev`: one view at a time, chosen by the hash of the address.

import { element, fill, span } from "./dom.js";
import { objectsView, objectView } from "./objects.js";
import { follow, hotLanes, listen, now, store } from "./store.js";
import { reconcileView, timelineView } from "./timeline.js";
import { tryView } from "./try.js";

/** @typedef {{draw: () => void, close: () => unknown, first?: () => void}} View */

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const main = byId("view");

/** @type {Record<string, (view: HTMLElement, rest: string) => View>} */
const VIEWS = { objects: objectsView, object: objectView, timeline: timelineView, reconcile: reconcileView, try: tryView };
const PARENTS = { object: "objects", reconcile: "timeline" };

/** @type {View | null} */
let view = null;

function show() {
  const [, name = "", rest = ""] = location.hash.match(/^#([a-z]*)\/?(.*)$/s) ?? [];
  const known = name in VIEWS ? name : "objects";
  view?.close();
  fill(main);
  view = VIEWS[known](main, rest);
  (view.first ?? view.draw)();
  const current = PARENTS[/** @type {keyof typeof PARENTS} */ (known)] ?? known;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.getAttribute("href") === `#${current}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  scrollTo(0, 0);
}

function header() {
  byId("project").textContent = store.project ? `${store.project} on ${store.cluster}` : "";
  const lost = byId("lost");
  lost.hidden = !store.isLost;
  lost.textContent = store.isLost ? "The connection to pykb dev is lost. This page tries again." : "";
  const from = now() - 10;
  const recent = [...store.reconciles.values()].filter((each) => each.at >= from);
  const slowest = recent.reduce((most, each) => Math.max(most, each.seconds), 0);
  const last = store.restarts[store.restarts.length - 1];
  const facts = {
    manager: last ? { started: "runs", ended: "ended", waiting: "waits for a change" }[last.state] ?? last.state : "–",
    "reconciles/s": (recent.length / 10).toFixed(1),
    "errors/s": (recent.filter((each) => each.error).length / 10).toFixed(1),
    "requests/s": (recent.reduce((sum, each) => sum + each.sent.length, 0) / 10).toFixed(1),
    busy: String(recent.filter((each) => each.isRunning).length),
    slowest: slowest ? span(slowest) : "–",
    ...(store.dropped ? { "left out": String(store.dropped) } : {}),
  };
  fill(byId("health"), ...Object.entries(facts).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
  const alarms = hotLanes().map((name) => `Hot loop: ${name} is reconciled again and again, and nobody else changed anything`);
  if (last?.state !== "started" && last?.reason) alarms.push(last.reason);
  const told = byId("alarms");
  if (told.textContent !== alarms.join("")) fill(told, ...alarms.map((each) => element("p", {}, each)));
}

addEventListener("hashchange", show);
listen(() => view?.draw());
setInterval(header, 500);
listen(header);
show();
follow();
