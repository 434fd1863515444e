// What fits at the cursor of a text field: a list at the cursor, for the keyboard and the mouse.

import { post } from "./api.js";
import { element, fill } from "./dom.js";

/** @typedef {{label: string, text: string, type: string, required: boolean, description: string}} Fit */

const PAUSE = 120; // milliseconds without a key, after which the server is asked

export const HELP = "Ctrl+Space shows what fits. Choose with ↓ and ↑, insert with Enter, close with Esc.";

/**
 * A text field that offers what fits.
 * @param {HTMLTextAreaElement} field
 * @returns {HTMLElement} The field with its list.
 */
export function completed(field) {
  const list = element("ul", { id: "fits", role: "listbox", class: "fits", "aria-label": "What fits here", hidden: true });
  const said = element("p", { role: "status", class: "unseen" });
  /** @type {Fit[]} */
  let fits = [];
  let [active, cursor, before, after, asked] = [0, 0, 0, 0, 0];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;

  /** Insert nothing of the list any more. It stays until there is another one, so that it does not flicker. */
  function outdate() {
    clearTimeout(waiting);
    asked += 1;
    fits = [];
    field.removeAttribute("aria-activedescendant");
  }

  function close() {
    outdate();
    list.hidden = true;
    said.textContent = "";
  }

  /** @param {boolean} isWanted Whether somebody asked, also without a word before the cursor. */
  async function ask(isWanted) {
    clearTimeout(waiting);
    const number = (asked += 1);
    const at = field.selectionStart;
    const told = await post("/api/complete", { before: field.value.slice(0, at), after: field.value.slice(at) });
    if (number !== asked || field.selectionStart !== at || document.activeElement !== field) return;
    const word = field.value.slice(at - (told.before ?? 0), at);
    const isDone = told.items?.length === 1 && told.items[0].text === word;
    if (!told.items?.length || isDone || !(word || isWanted)) return close();
    [fits, cursor, before, after] = [told.items, at, told.before, told.after];
    said.textContent = `${fits.length} fit${fits.length === 1 ? "s" : ""}`;
    show(at - before);
  }

  function show(/** @type {number} */ begin) {
    fill(list, ...fits.map(optionOf));
    list.hidden = false;
    const { font, lineHeight, paddingLeft, paddingTop } = getComputedStyle(field);
    const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    pen.font = font;
    const lines = field.value.slice(0, begin).split("\n");
    const x = parseFloat(paddingLeft) + pen.measureText(lines.at(-1) ?? "").width - field.scrollLeft;
    const y = parseFloat(paddingTop) + lines.length * parseFloat(lineHeight) - field.scrollTop;
    list.style.left = `${Math.max(0, Math.min(x, field.clientWidth - list.offsetWidth))}px`;
    list.style.top = `${Math.max(0, Math.min(y, field.clientHeight))}px`;
    choose(0);
  }

  function choose(/** @type {number} */ index) {
    active = (index + fits.length) % fits.length;
    [...list.children].forEach((option, place) => option.setAttribute("aria-selected", String(place === active)));
    field.setAttribute("aria-activedescendant", `fit${active}`);
    list.children[active]?.scrollIntoView({ block: "nearest" });
  }

  function insert() {
    const text = fits[active]?.text ?? "";
    field.setSelectionRange(cursor - before, cursor + after);
    type(text);
    close();
    ask(true);
  }

  /** As if somebody typed it, so that it can be undone. @param {string} text */
  function type(text) {
    field.focus();
    document.execCommand("insertText", false, text);
  }

  function optionOf(/** @type {Fit} */ fit, /** @type {number} */ index) {
    return element(
      "li",
      { id: `fit${index}`, role: "option", onclick: () => fits.length && (choose(index), insert()) },
      element("code", {}, fit.label),
      element("span", { class: "quiet" }, ` ${fit.type}${fit.required ? ", required" : ""}`),
      fit.description && element("span", { class: "about" }, fit.description),
    );
  }

  const keys = /** @type {Record<string, () => void>} */ ({
    ArrowDown: () => choose(active + 1),
    ArrowUp: () => choose(active - 1),
    Enter: insert,
    Escape: close,
  });
  field.addEventListener("keydown", (event) => {
    const { key, ctrlKey, altKey, metaKey, shiftKey, isComposing } = event;
    const isPlain = !ctrlKey && !altKey && !metaKey && !shiftKey && !isComposing;
    const act = isPlain && fits.length ? keys[key] : undefined;
    if (ctrlKey && key === " ") ask(true);
    else if (act) act();
    else if (isPlain && key === "Enter") {
      const line = field.value.slice(0, field.selectionStart).split("\n").at(-1) ?? "";
      type(`\n${line.match(/^ */)?.[0] ?? ""}`);
      close();
    } else return;
    event.preventDefault();
  });
  field.addEventListener("input", (event) => {
    outdate();
    if (event instanceof InputEvent && event.isComposing) return close();
    waiting = setTimeout(() => ask(false), PAUSE);
  });
  field.addEventListener("keyup", () => fits.length && field.selectionStart !== cursor && close());
  field.addEventListener("blur", close);
  field.addEventListener("click", close);
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  for (const [name, value] of [
    ["aria-autocomplete", "list"],
    ["aria-haspopup", "listbox"],
    ["aria-controls", list.id],
    ["wrap", "off"],
  ])
    field.setAttribute(String(name), String(value));
  return element("div", { class: "field" }, field, list, said);
}
