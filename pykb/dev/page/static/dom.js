// Makes elements. Text from outside is only ever text: nothing here reads HTML.

/**
 * @param {string} tag
 * @param {Record<string, any>} attributes `on...` are listeners; `true` is an attribute without a value.
 * @param {...(Node | string | null | undefined | false)} children
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) if (child || child === "") made.append(child);
  return made;
}

/** Replace what is in an element. @param {Element} parent @param {...(Node | string | null | undefined | false)} children */
export function fill(parent, ...children) {
  parent.replaceChildren(...children.filter((/** @returns {child is Node | string} */ child) => Boolean(child) || child === ""));
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
export const shown = (value) => (value === null || value === undefined ? "unset" : typeof value === "string" ? value : JSON.stringify(value));

/** A line of the user's code, as a link that opens the editor. @param {{path: string, line: number} | null} place */
export function codeLink(place) {
  if (!place) return null;
  const name = `${place.path.slice(place.path.lastIndexOf("/") + 1)}:${place.line}`;
  const path = place.path.split("/").map(encodeURIComponent).join("/");
  return element("a", { href: `vscode://file${path}:${place.line}`, title: place.path, class: "mono" }, name);
}

/** @param {{kind: string, namespace: string, name: string}} object */
export const nameOf = (object) => `${object.kind} ${object.namespace ? `${object.namespace}/` : ""}${object.name}`;

/** A list that only makes the rows that are seen. @param {number} height Of a row, in pixels. @param {string} label */
export function virtualList(height, label) {
  const list = element("div", { class: "list", role: "list", "aria-label": label });
  /** @type {(index: number) => HTMLElement} */
  let make = () => element("div");
  let count = 0;
  const draw = () => {
    const top = Math.max(0, -list.getBoundingClientRect().top);
    const first = Math.max(0, Math.floor(top / height) - 5);
    const last = Math.min(count, first + Math.ceil(innerHeight / height) + 10);
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.key : undefined;
    const rows = [];
    for (let index = first; index < last; index += 1) {
      const row = make(index);
      row.style.top = `${index * height}px`;
      row.setAttribute("role", "listitem");
      rows.push(row);
    }
    list.replaceChildren(...rows);
    if (focused) list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  };
  addEventListener("scroll", draw, { passive: true });
  return {
    list,
    /** @param {number} rows @param {(index: number) => HTMLElement} maker */
    show(rows, maker) {
      [count, make] = [rows, maker];
      list.style.height = `${rows * height}px`;
      draw();
    },
    close: () => removeEventListener("scroll", draw),
  };
}
