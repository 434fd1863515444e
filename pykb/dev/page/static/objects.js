// What is there: the objects as trees by owner, with what each of them waits for.

import { clock, element, fill, nameOf, span, virtualList } from "./dom.js";
import { laneOf, lastOf, now, store } from "./store.js";

/** @typedef {import("./store.js").Shown} Shown */

/** The objects with their depth: owners before what they own. @returns {[Shown, number][]} */
function trees() {
  /** @type {Map<string, Shown[]>} */
  const below = new Map();
  /** @type {Shown[]} */
  const roots = [];
  const every = [...store.objects.values()].sort((a, b) => (a.kind + a.namespace + a.name < b.kind + b.namespace + b.name ? -1 : 1));
  for (const object of every) {
    const owner = object.owners.find((uid) => store.objects.has(uid) && uid !== object.uid);
    if (owner) below.set(owner, [...(below.get(owner) ?? []), object]);
    else roots.push(object);
  }
  const custom = (/** @type {Shown} */ each) => (each.apiVersion.includes(".") && !each.apiVersion.includes(".k8s.io/") ? 0 : 1);
  roots.sort((a, b) => custom(a) - custom(b));
  /** @type {[Shown, number][]} */
  const rows = [];
  const waiting = roots.reverse().map((root) => /** @type {[Shown, number]} */ ([root, 0]));
  const seen = new Set();
  while (waiting.length) {
    const next = /** @type {[Shown, number]} */ (waiting.pop());
    if (seen.has(next[0].uid)) continue;
    seen.add(next[0].uid);
    rows.push(next);
    for (const child of (below.get(next[0].uid) ?? []).reverse()) waiting.push([child, next[1] + 1]);
  }
  for (const object of every) if (!seen.has(object.uid)) rows.push([object, 0]); // they own each other
  return rows;
}

/** How an object is, in few words. @param {Shown} object @returns {[string, string]} The class and the words. */
export function stateOf(object) {
  const last = lastOf(object);
  if (object.deletingSince) {
    const waits = object.finalizers.length ? `waits for ${object.finalizers.join(", ")}` : "ends";
    return ["wait", `… being deleted, ${waits}`];
  }
  const bad = object.conditions.find((each) => ["Ready", "Available", "Complete"].includes(each.type) && each.status !== "True");
  if (object.ready === false) return ["bad", `✗ not ready${bad ? `: ${bad.reason || bad.type} ${bad.message}` : ""}`];
  if (last?.error) return ["bad", `✗ fails: ${last.error.message}`];
  if (object.ready) return ["good", "✓ ready"];
  return ["quiet", object.phase || "–"];
}

/** When its reconciler looks at it again. @param {Shown} object */
function nextOf(object) {
  const last = lastOf(object);
  if (!last) return "";
  if (last.isRunning) return "reconciles now";
  const wait = last.nextTry ?? last.requeueAfter;
  if (wait === null || wait === undefined) return "";
  const left = last.at + last.seconds + wait - now();
  const what = last.error ? `failure ${last.failures}, tried again` : "looked at again";
  return left > 0 ? `${what} in ${span(left)}` : "";
}

/** @param {HTMLElement} view */
export function objectsView(view) {
  const empty = element("p", { class: "empty" });
  const rows = virtualList(32, "Objects");
  fill(view, element("h2", {}, "Objects"), empty, rows.list);
  const draw = () => {
    const every = trees();
    empty.hidden = every.length > 0;
    fill(empty, store.isReady ? "There are no objects of this project yet. " : "Loading …", store.isReady && element("a", { href: "#try" }, "Apply a sample"));
    rows.show(every.length, (index) => {
      const [object, depth] = every[index];
      const [tone, words] = stateOf(object);
      const last = lastOf(object);
      const id = [object.apiVersion, object.kind, object.namespace, object.name].map(encodeURIComponent).join(",");
      return element(
        "div",
        { class: `row depth${Math.min(depth, 4)}` },
        element("a", { class: "name", href: `#object/${id}`, "data-key": object.uid }, nameOf(object)),
        element("span", { class: `state ${tone}`, title: words }, words),
        element("span", { class: "next quiet" }, nextOf(object)),
        last && element("a", { href: `#reconcile/${encodeURIComponent(last.id)}`, title: `The last reconcile of ${laneOf(last)}` }, clock(last.at)),
        element("span", { class: "age", title: object.createdAt }, span(Math.max(0, now() - Date.parse(object.createdAt) / 1000))),
      );
    });
  };
  const ticking = setInterval(draw, 1000);
  return { draw, close: () => (clearInterval(ticking), rows.close()) };
}

/** One object: its YAML, its conditions, its reconciles. @param {HTMLElement} view @param {string} id */
export function objectView(view, id) {
  const [apiVersion = "", kind = "", namespace = "", name = ""] = id.split(",").map(decodeURIComponent);
  const identity = { apiVersion, kind, namespace, name };
  const text = element("pre", { tabindex: "0" }, "Loading …");
  const conditions = element("div", { class: "scroll" });
  const reconciles = element("ul", { class: "plain" });
  const said = element("p", { role: "status" });
  const remove = element("button", { class: "danger", onclick: askFirst }, "Delete");
  fill(
    view,
    element("p", {}, element("a", { href: "#objects" }, "← Objects")),
    element("div", { class: "bar" }, element("h2", {}, nameOf(identity)), remove),
    said, conditions, element("h2", {}, "Reconciles"), reconciles, element("h2", {}, "YAML"), text,
  );
  let isAsked = false;
  async function askFirst() {
    if (!isAsked) {
      isAsked = true;
      remove.textContent = "Delete it: sure?";
      return;
    }
    const { ok, errors } = await post("/api/delete", identity);
    const command = `kubectl delete ${kind.toLowerCase()} ${name}${namespace ? ` -n ${namespace}` : ""}`;
    said.textContent = ok ? `Deleted, as by: ${command}` : errors.map((/** @type {{message: string}} */ each) => each.message).join("; ");
  }
  let version = "";
  async function load() {
    const answer = await fetch(`/api/object?${new URLSearchParams(identity)}`);
    const told = await answer.json();
    text.textContent = answer.ok ? told.yaml : told.message;
  }
  const draw = () => {
    const object = [...store.objects.values()].find((each) => each.kind === kind && each.namespace === namespace && each.name === name && each.apiVersion === apiVersion);
    if (object && object.resourceVersion !== version) {
      version = object.resourceVersion;
      load();
      fill(conditions, object.conditions.length > 0 && element(
        "table", {},
        element("tr", {}, ...["Condition", "Status", "Reason", "Message"].map((each) => element("th", { scope: "col" }, each))),
        ...object.conditions.map((each) => element("tr", {}, ...[each.type, each.status, each.reason, each.message].map((cell) => element("td", {}, cell)))),
      ));
    }
    const request = namespace ? `${namespace}/${name}` : name;
    const every = [...store.reconciles.values()].filter((each) => each.request === request).reverse().slice(0, 20);
    fill(reconciles, ...every.map((each) => element("li", {}, element("a", { href: `#reconcile/${encodeURIComponent(each.id)}` }, clock(each.at)), ` ${each.controller}: ${each.isRunning ? "runs" : each.outcome}, ${span(each.seconds)}`)), !every.length && "None yet.");
  };
  load();
  return { draw, close: () => {} };
}

/** @param {string} path @param {unknown} body */
export async function post(path, body) {
  const answer = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (answer.headers.get("Content-Type")?.startsWith("application/json")) return answer.json();
  return { ok: false, errors: [{ field: "", message: (await answer.text()).trim() }] };
}
