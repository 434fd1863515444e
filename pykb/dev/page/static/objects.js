// What is there: the objects as trees by owner, with what each of them waits for.

import { ask, post } from "./api.js";
import { clock, element, fill, hrefOf, hrefOfObject, identityOf, nameOf, span, update, virtualList } from "./dom.js";
import { itemOfCall } from "./call.js";
import { itemOf } from "./reconcile.js";
import { callsOf, laneOf, lastOf, now, reconcilesOf, store } from "./store.js";

/** @typedef {import("./store.js").Shown} Shown */

const MOST_LISTED = 20;

/** @param {Shown} object */
const isCustom = (object) => object.apiVersion.includes(".") && !object.apiVersion.includes(".k8s.io/");

/** Objects with their depth: owners before what they own, the project's kinds first. @returns {[Shown, number][]} */
function trees() {
  /** @type {Map<string, Shown[]>} */
  const below = new Map();
  /** @type {Shown[]} */
  const roots = [];
  const named = [...store.objects.values()].map(
    (each) => /** @type {const} */ ([`${isCustom(each) ? 0 : 1} ${nameOf(each)}`, each]),
  );
  const every = named.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
  for (const object of every) {
    const owner = object.owners.find((uid) => store.objects.has(uid) && uid !== object.uid);
    const siblings = owner ? below.get(owner) : roots;
    if (siblings) siblings.push(object);
    else if (owner) below.set(owner, [object]);
  }
  /** @type {[Shown, number][]} */
  const rows = [];
  const waiting = roots.reverse().map((root) => /** @type {[Shown, number]} */ ([root, 0]));
  const seen = new Set();
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [object, depth] = next;
    if (seen.has(object.uid)) continue;
    seen.add(object.uid);
    rows.push(next);
    for (const child of (below.get(object.uid) ?? []).reverse()) waiting.push([child, depth + 1]);
  }
  for (const object of every) if (!seen.has(object.uid)) rows.push([object, 0]); // they own each other
  return rows;
}

/** Whether a row is about the operator, and not about what the cluster has anyway. @param {[Shown, number]} row */
const isOurs = ([object, depth]) => depth > 0 || isCustom(object) || store.touched.has(nameOf(object));

const GOOD = ["Ready", "Available", "Complete", "Established"];

/** What the finalizers of Kubernetes itself wait for. */
const CLUSTERS_OWN = new Map([
  ["foregroundDeletion", "the deletion of what it owns"],
  ["orphan", "the release of what it owns"],
]);

/** How an object is, in few words. @param {Shown} object @returns {[string, string]} The class and the words. */
function stateOf(object) {
  const last = lastOf(object);
  if (object.deletingSince) {
    const waits = object.finalizers.map((each) => CLUSTERS_OWN.get(each) ?? each).join(", ");
    const since = now() - Date.parse(object.deletingSince) / 1000; // that of a pod is when its grace ends
    const time = since > 0 ? ` for ${span(since)}` : "";
    return ["wait", `… being deleted${time}, ${waits ? `waits for ${waits}` : "ends"}`];
  }
  const bad = object.conditions.find((each) => GOOD.includes(each.type) && each.status !== "True");
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
  const others = /** @type {HTMLInputElement} */ (element("input", { type: "checkbox", onchange: draw }));
  const many = element("span");
  const choice = element("label", { class: "quiet" }, others, " ", many);
  const rows = virtualList("Objects");
  fill(view, element("h2", {}, "Objects"), empty, rows.list, choice);
  let version = -1;
  /** @type {[Shown, number][]} */
  let every = [];
  function draw() {
    if (version !== store.version) [version, every] = [store.version, trees()];
    const ours = every.filter(isOurs);
    const visible = others.checked ? every : ours;
    choice.hidden = every.length === ours.length;
    many.textContent = `Also show objects that the operator has not touched (${every.length - ours.length})`;
    empty.hidden = visible.length > 0;
    update(
      empty,
      store.isReady ? "There are no objects of this project yet. " : "Loading …",
      store.isReady && !store.source && element("a", { href: "#try", class: "button" }, "Apply a sample"),
    );
    rows.show(visible.length, (index) => rowOf(.../** @type {[Shown, number]} */ (visible[index])));
  }
  const ticking = setInterval(draw, 1000);
  return { draw, close: () => (clearInterval(ticking), rows.close()) };
}

/** @param {Shown} object @param {number} depth */
function rowOf(object, depth) {
  const [tone, words] = stateOf(object);
  const last = lastOf(object);
  return element(
    "div",
    { class: `row depth${Math.min(depth, 4)}`, "data-key": object.uid },
    element("a", { class: "name", href: hrefOfObject(object), title: nameOf(object) }, nameOf(object)),
    element("span", { class: `state ${tone}`, title: words }, words),
    element("span", { class: "next" }, nextOf(object)),
    element(
      "span",
      { class: "last" },
      last &&
        element(
          "a",
          { href: hrefOf(last), title: `The last reconcile of ${laneOf(last)}` },
          clock(last.at),
        ),
    ),
    element(
      "span",
      { class: "age", title: `Created at ${object.createdAt}` },
      span(Math.max(0, now() - Date.parse(object.createdAt) / 1000)),
    ),
  );
}

/** One object: its YAML, its conditions, its reconciles. @param {HTMLElement} view @param {string} id */
export function objectView(view, id) {
  const identity = identityOf(id);
  const { apiVersion, kind, namespace, name } = identity;
  const text = element("pre", { tabindex: "0" }, "Loading …");
  const conditions = element("div", { class: "scroll" });
  const reconciles = element("ul", { class: "plain" });
  const calls = element("section");
  const said = element("p", { role: "status" });
  const state = element("p");
  const remove = element("button", { class: "danger", onclick: askFirst, onblur: () => arm(false) }, "Delete");
  const edit = element("a", { href: `#try/${id}`, class: "button" }, "Edit");
  fill(
    view,
    element("p", {}, element("a", { href: "#objects" }, "← Objects")),
    element("div", { class: "bar" }, element("h2", {}, nameOf(identity)), edit, remove),
    state,
    said,
    conditions,
    element("h2", {}, "Reconciles"),
    reconciles,
    calls,
    element("h2", {}, "YAML"),
    text,
  );
  let isArmed = false;
  function arm(/** @type {boolean} */ is) {
    isArmed = is;
    remove.textContent = is ? "Delete it: sure?" : "Delete";
  }
  async function askFirst() {
    if (!isArmed) return arm(true);
    arm(false);
    const { ok, command, errors } = await post("/api/delete", identity);
    if (ok)
      fill(
        said,
        element("span", { class: "good" }, "✓ The API server deletes it. "),
        element("span", { class: "quiet" }, "As by: ", element("code", {}, command)),
      );
    else
      fill(
        said,
        element(
          "span",
          { class: "bad" },
          `✗ ${errors.map((/** @type {{message: string}} */ each) => each.message).join("; ")}`,
        ),
      );
  }
  let version = "";
  async function load() {
    if (store.isOver) {
      text.textContent = "A recording has no YAML of objects.";
      return;
    }
    const told = await ask(`/api/object?${new URLSearchParams(identity)}`);
    text.textContent = told.yaml ?? told.message;
  }
  const draw = () => {
    const object = [...store.objects.values()].find(
      (each) =>
        each.kind === kind && each.namespace === namespace && each.name === name && each.apiVersion === apiVersion,
    );
    if (object && object.resourceVersion !== version) {
      version = object.resourceVersion;
      load();
      fill(
        conditions,
        object.conditions.length > 0 &&
          element(
            "table",
            {},
            element(
              "tr",
              {},
              ...["Condition", "Status", "Reason", "Message"].map((each) => element("th", { scope: "col" }, each)),
            ),
            ...object.conditions.map((each) =>
              element(
                "tr",
                {},
                ...[each.type, each.status, each.reason, each.message].map((cell) => element("td", {}, cell)),
              ),
            ),
          ),
      );
    }
    const every = reconcilesOf(identity).slice(0, MOST_LISTED);
    const asked = callsOf(identity).slice(0, MOST_LISTED);
    update(
      calls,
      asked.length > 0 && element("h2", {}, "Webhook calls"),
      asked.length > 0 && element("ul", { class: "plain" }, ...asked.map(itemOfCall)),
    );
    update(
      reconciles,
      ...every.map(itemOf),
      !every.length && element("li", {}, "None yet."),
    );
    remove.hidden = edit.hidden = Boolean(store.source);
    fill(
      state,
      ...(object ? [element("span", { class: stateOf(object)[0] }, stateOf(object)[1]), ` ${nextOf(object)}`] : []),
    );
  };
  load();
  return { draw, close: () => {} };
}
