// Makes elements. Text from outside is only ever text: nothing here reads HTML.

/** @typedef {Node | string | null | undefined | false} Child */

/** @param {Child} child @returns {child is Node | string} */
const isShown = (child) => child !== null && child !== undefined && child !== false;

/**
 * @param {string} tag
 * @param {Record<string, any>} attributes `on...` are listeners; `true` is an attribute without a value.
 * @param {...Child} children
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined)
      made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter(isShown));
  return made;
}

/** Replace what is in an element. @param {Element} parent @param {...Child} children */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter(isShown));
}

/**
 * Make an element show other children, and change only what differs. What is there keeps the focus, the selection and
 * a click that has begun. Children with the same `data-key` are the same; listeners of new children get lost.
 * @param {Element} parent
 * @param {...Child} children
 */
export function update(parent, ...children) {
  const wanted = children
    .filter(isShown)
    .map((child) => (typeof child === "string" ? document.createTextNode(child) : child));
  const keys = new Set(wanted.map(keyOf));
  for (const node of [...parent.childNodes]) if (!keys.has(keyOf(node))) node.remove();
  let at = parent.firstChild;
  for (const node of wanted) {
    if (at && keyOf(at) === keyOf(node)) {
      become(at, node);
      at = at.nextSibling;
    } else parent.insertBefore(node, at);
  }
  while (at) [at] = [at.nextSibling, at.remove()];
}

/** @param {Node} node */
const keyOf = (node) => (node instanceof HTMLElement ? node.dataset.key : undefined) ?? node.nodeName;

/** @param {Node} old @param {Node} wanted */
function become(old, wanted) {
  if (old instanceof Element && wanted instanceof Element) {
    for (const name of old.getAttributeNames())
      if (!wanted.hasAttribute(name) && name !== "style") old.removeAttribute(name);
    for (const { name, value } of wanted.attributes)
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    update(old, ...wanted.childNodes);
  } else if (old.nodeValue !== wanted.nodeValue) old.nodeValue = wanted.nodeValue;
}

/** A part of an address as text. Somebody may have typed it. @param {string} part */
export function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A span of time for people. @param {number} seconds */
export function span(seconds) {
  if (seconds < 0.001) return "under 1 ms";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 100) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  if (seconds < 6000) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86400)} d`;
}

/** A time of day. @param {number} at Seconds since the epoch. */
export const clock = (at) => new Date(at * 1000).toLocaleTimeString([], { hour12: false });

/** @param {unknown} value */
export const shown = (value) =>
  value === null || value === undefined ? "unset" : typeof value === "string" ? value : JSON.stringify(value);

/**
 * A line of the user's code, as a link that opens the editor if the manager runs on this machine.
 * @param {import("./store.js").Place} place
 * @param {string} editor The address that opens a file, with `{path}` and `{line}`. Empty without an editor.
 */
export function codeLink(place, editor) {
  if (!place) return null;
  const name = `${place.path.slice(place.path.lastIndexOf("/") + 1)}:${place.line}`;
  if (!editor) return element("span", { title: place.path, class: "mono" }, name);
  const path = place.path.split("/").map(encodeURIComponent).join("/");
  const href = editor.replaceAll("{path}", () => path).replaceAll("{line}", String(place.line));
  return element("a", { href, title: place.path, class: "mono" }, name);
}

/** @param {{kind: string, namespace: string, name: string}} object */
export const nameOf = (object) => `${object.kind} ${object.namespace ? `${object.namespace}/` : ""}${object.name}`;

/** The address of the view of a reconcile. @param {{id: string}} reconcile */
export const hrefOf = (reconcile) => `#reconcile/${encodeURIComponent(reconcile.id)}`;

/** The address of the view of a webhook call. @param {{id: string}} call */
export const hrefOfCall = (call) => `#call/${encodeURIComponent(call.id)}`;

/** The address of the view of an object. @param {import("./store.js").Identity} object */
export const hrefOfObject = (object) =>
  `#object/${[object.apiVersion, object.kind, object.namespace, object.name].map(encodeURIComponent).join(",")}`;

/** What such an address names, from the part behind the view. @param {string} id */
export function identityOf(id) {
  const [apiVersion = "", kind = "", namespace = "", name = ""] = id.split(",").map(decoded);
  return { apiVersion, kind, namespace, name };
}

export const isNarrow = () => matchMedia("(max-width: 600px)").matches;

/** A list that only makes the rows that are seen. @param {string} label */
export function virtualList(label) {
  const list = element("div", { class: "list", role: "list", "aria-label": label });
  /** @type {(index: number) => HTMLElement} Makes a row, which needs a `data-key`. */
  let make = () => element("div");
  let count = 0;
  const draw = () => {
    const height = isNarrow() ? 52 : 32;
    list.style.height = `${count * height}px`;
    const top = Math.max(0, -list.getBoundingClientRect().top);
    const first = Math.max(0, Math.floor(top / height) - 5);
    const last = Math.min(count, first + Math.ceil(innerHeight / height) + 10);
    const rows = [];
    for (let index = first; index < last; index += 1) {
      const row = make(index);
      for (const [name, value] of [
        ["role", "listitem"],
        ["aria-posinset", index + 1],
        ["aria-setsize", count],
      ])
        row.setAttribute(String(name), String(value));
      rows.push(row);
    }
    update(list, ...rows);
    [...list.children].forEach((row, place) => {
      if (row instanceof HTMLElement) row.style.top = `${(first + place) * height}px`;
    });
  };
  addEventListener("scroll", draw, { passive: true });
  addEventListener("resize", draw);
  return {
    list,
    /** @param {number} rows @param {(index: number) => HTMLElement} maker */
    show(rows, maker) {
      [count, make] = [rows, maker];
      draw();
    },
    close: () => (removeEventListener("scroll", draw), removeEventListener("resize", draw)),
  };
}
