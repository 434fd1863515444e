// When it ran: a lane for each controller and request, drawn on a canvas, and the same as a list. The calls of webhooks
// are in the lane of their object.

import { itemOfCall, summaryOfCall } from "./call.js";
import { clock, element, fill, hrefOf, hrefOfCall, isNarrow, nameOf, span, update } from "./dom.js";
import { itemOf, summaryOf } from "./reconcile.js";
import { laneOf, lanesOf, now, store } from "./store.js";

/** @typedef {import("./store.js").Reconcile} Reconcile */
/** @typedef {import("./store.js").Call} Call */
/** @typedef {{label: string, reconciles: Reconcile[], calls: Call[]}} Lane */
/** @typedef {{x: number, y: number, width: number, height: number, item: Reconcile | Call}} Box */
/** @typedef {CanvasRenderingContext2D} Pen */
/**
 * What is drawn: the time on it, and where a time is.
 * @typedef {{pen: Pen, tones: ReturnType<typeof palette>, from: number, until: number, place: (at: number) => number,
 *   names: number, width: number, height: number}} Frame
 */

const LANE = 26;
const HEAD = 22;
const MOST_LISTED = 30;
const CALL = 7; // the height of a call, on top of its lane

/** @param {Reconcile | Call} item @returns {item is Call} */
const isCall = (item) => "path" in item;

/** The name of the lane of a call. @param {Call} call */
const laneOfCall = (call) => (call.object ? (lanesOf(call.object)[0] ?? nameOf(call.object)) : call.path);

/** The lanes with something between two times, by name. @param {number} from @param {number} until */
function lanesBetween(from, until) {
  /** @type {Map<string, Lane>} */
  const lanes = new Map();
  const laneCalled = (/** @type {string} */ name, /** @type {string} */ label) => {
    const lane = lanes.get(name) ?? { label, reconciles: [], calls: [] };
    lanes.set(name, lane);
    return lane;
  };
  const isSeen = (/** @type {Reconcile | Call} */ each) => endOf(each, until) >= from && each.at <= until;
  for (const [name, lane] of store.lanes) {
    const seen = lane.filter(isSeen);
    if (seen[0]) laneCalled(name, isNarrow() ? seen[0].request : name).reconciles = seen;
  }
  for (const call of store.calls.values())
    if (isSeen(call)) laneCalled(laneOfCall(call), laneOfCall(call)).calls.push(call);
  return new Map([...lanes].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * What is known to belong to a reconcile or a call: what woke it and what it woke, and the calls for its writes.
 * @param {string} id
 * @returns {[from: Reconcile | Call, to: Reconcile | Call][]}
 */
export function arrowsOf(id) {
  const call = store.calls.get(id);
  const writer = store.reconciles.get(call?.sentBy?.id ?? "");
  if (call) return writer ? [[writer, call]] : [];
  const found = store.reconciles.get(id);
  if (!found) return [];
  const writers = found.causes.map((cause) => store.reconciles.get(cause.writtenBy?.id ?? ""));
  const woken = [...store.reconciles.values()].filter((each) => each.causes.some((it) => it.writtenBy?.id === id));
  const asked = [...store.calls.values()].filter((each) => each.sentBy?.id === id);
  return [
    ...writers.filter((each) => each !== undefined).map((each) => /** @type {[Reconcile, Reconcile]} */ ([each, found])),
    ...[...woken, ...asked].map((each) => /** @type {[Reconcile, Reconcile | Call]} */ ([found, each])),
  ];
}

/** The colours of the page, for the canvas. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const of = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    back: of("--back"),
    text: of("--text"),
    quiet: of("--quiet"),
    line: of("--line"),
    accent: of("--accent"),
    ok: of("--good"),
    error: of("--bad"),
    cancelled: of("--wait"),
  };
}

/** Text that fits, else its beginning. @param {Pen} pen @param {string} text @param {number} width */
function fitting(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let length = text.length;
  while (length > 1 && pen.measureText(`${text.slice(0, length)}…`).width > width) length -= 1;
  return `${text.slice(0, length)}…`;
}

/** @param {HTMLElement} view */
export function timelineView(view) {
  let seconds = 60;
  let end = 0; // 0 follows the clock
  let chosen = "";
  const canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { "aria-hidden": "true" }));
  const rest = element("div", { "aria-hidden": "true" });
  const lanesBox = element(
    "div",
    { class: "lanes", tabindex: "0", role: "group", "aria-label": "Lanes; the list below has the same" },
    canvas,
    rest,
  );
  const said = element("p", { class: "said quiet" });
  const paused = element("span", { class: "quiet" });
  const list = element("ul", { class: "plain", "aria-label": "Last reconciles" });
  const asked = element("ul", { class: "plain", "aria-label": "Last webhook calls" });
  const askedTitle = element("h2", { hidden: true }, "Last webhook calls");
  const live = element("button", { "aria-pressed": "true", onclick: () => ((end = end ? 0 : now()), draw()) }, "Live");
  const move = (/** @type {number} */ widths) => () => {
    end = (end || now()) + widths * seconds;
    if (end >= now()) end = 0;
    listedAt = -Infinity;
    draw();
  };
  const earlier = element("button", { onclick: move(-0.5) }, "← Earlier");
  const later = element("button", { onclick: move(0.5) }, "Later →");
  const zooms = [10, 60, 300, 3600].map((width) =>
    element(
      "button",
      { onclick: () => ((seconds = width), draw()), "data-width": width },
      width < 60 ? `${width} s` : `${width / 60} min`,
    ),
  );
  fill(
    view,
    element("h2", {}, "Timeline"),
    element(
      "div",
      { class: "bar" },
      live,
      earlier,
      later,
      ...zooms,
      element("span", { class: "legend quiet" }, "■ done ▲ failed ◆ cancelled ▔ webhook ▼ denied │ manager"),
    ),
    lanesBox,
    said,
    element("h2", {}, "Last reconciles ", paused),
    list,
    askedTitle,
    asked,
  );
  /** @type {Box[]} */
  let boxes = [];

  function choose(/** @type {string} */ id) {
    if (id === chosen) return;
    chosen = id;
    const found = store.reconciles.get(id);
    const call = store.calls.get(id);
    said.textContent = found ? summaryOf(found) : call ? summaryOfCall(call) : "";
    draw();
  }
  const hit = (/** @type {MouseEvent} */ event) =>
    boxes.findLast(
      ({ x, y, width, height }) =>
        event.offsetY >= y && event.offsetY < y + height && event.offsetX >= x - 3 && event.offsetX <= x + width + 3,
    );
  canvas.addEventListener("click", (event) => {
    const found = hit(event);
    if (found) location.hash = isCall(found.item) ? hrefOfCall(found.item) : hrefOf(found.item);
  });
  canvas.addEventListener("mousemove", (event) => {
    const found = hit(event);
    canvas.classList.toggle("hits", Boolean(found));
    choose(found?.item.id ?? "");
  });
  for (const name of ["focusin", "mouseover"]) {
    for (const each of [list, asked])
      each.addEventListener(name, (event) => {
        const item = event.target instanceof Element ? event.target.closest("li") : null;
        if (item instanceof HTMLElement && item.dataset.key) choose(item.dataset.key);
      });
  }

  function draw() {
    live.setAttribute("aria-pressed", String(!end));
    live.textContent = store.isOver ? "End" : "Live";
    for (const each of zooms) each.setAttribute("aria-pressed", String(Number(each.dataset.width) === seconds));
    const until = end || now();
    const from = until - seconds;
    const byName = lanesBetween(from, until);
    const lanes = [...byName.values()];
    const width = lanesBox.clientWidth;
    const whole = HEAD + (Math.max(1, lanes.length) + 1) * LANE;
    const height = Math.min(whole, Math.max(8 * LANE, Math.floor(innerHeight * 0.55)));
    lanesBox.style.height = `${height + 2}px`;
    rest.style.height = `${whole - height}px`;
    const ratio = devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.scale(ratio, ratio);
    pen.font = "13px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const tones = palette();
    const names = isNarrow() ? 110 : 260;
    const place = (/** @type {number} */ at) => names + ((at - from) / seconds) * (width - names - 8);
    const top = lanesBox.scrollTop;
    const rowOf = (/** @type {number} */ index) => HEAD + index * LANE - top;
    boxes = [];
    pen.save();
    pen.beginPath();
    pen.rect(0, HEAD, width, height - HEAD - LANE);
    pen.clip();
    for (
      let index = Math.floor(top / LANE);
      index < Math.min(lanes.length, Math.ceil((top + height) / LANE));
      index += 1
    ) {
      const lane = /** @type {Lane} */ (lanes[index]);
      const y = rowOf(index);
      pen.fillStyle = tones.line;
      pen.fillRect(0, y, width, 1);
      pen.fillStyle = tones.text;
      pen.fillText(fitting(pen, lane.label, names - 16), 8, y + LANE / 2);
      for (const item of [...lane.reconciles, ...lane.calls]) {
        const x = Math.max(names, place(item.at));
        const height = isCall(item) ? CALL : LANE;
        const box = { x, y, width: Math.max(4, place(endOf(item, until)) - x), height, item };
        if (isCall(item)) mark(pen, tones, box, item);
        else bar(pen, tones, box, item);
        boxes.push(box);
      }
    }
    if (!lanes.length) {
      pen.fillStyle = tones.quiet;
      pen.fillText("No reconcile in this time.", 8, HEAD + LANE / 2);
    }
    const frame = { pen, tones, from, until, place, names, width, height };
    const laneNames = [...byName.keys()];
    arrows(frame, (item) => {
      const row = laneNames.indexOf(isCall(item) ? laneOfCall(item) : laneOf(item));
      return row < 0 ? undefined : rowOf(row) + (isCall(item) ? CALL / 2 : LANE / 2);
    });
    pen.restore();
    axis(frame);
    restarts(frame);
    listed();
  }

  /**
   * What belongs to what is chosen.
   * @param {Frame} frame
   * @param {(item: Reconcile | Call) => number | undefined} heightOf
   */
  function arrows({ pen, tones, place, until }, heightOf) {
    pen.strokeStyle = tones.accent;
    pen.fillStyle = tones.accent;
    pen.lineWidth = 2;
    for (const [from, to] of arrowsOf(chosen)) {
      const [x1, x2] = [place(isCall(to) ? to.at : endOf(from, until)), place(to.at)];
      const [y1, y2] = [heightOf(from), heightOf(to)];
      if (y1 === undefined || y2 === undefined) continue;
      pen.beginPath();
      pen.moveTo(x1, y1);
      pen.bezierCurveTo(x1 + 20, y1, x2 - 20, y2, x2, y2);
      pen.stroke();
      pen.beginPath();
      pen.moveTo(x2 + 1, y2);
      pen.lineTo(x2 - 6, y2 - 5);
      pen.lineTo(x2 - 6, y2 + 5);
      pen.fill();
    }
    for (const { x, y, width, item } of boxes)
      if (item.id === chosen && isCall(item)) pen.strokeRect(x - 1, y, width + 2, CALL);
      else if (item.id === chosen) pen.strokeRect(x - 1, y + 4, width + 2, LANE - 8);
  }

  let listedAt = -Infinity;
  function listed() {
    const isPointed = [list, asked].some((each) => each.matches(":hover, :focus-within"));
    paused.textContent = isPointed ? "(stands still while you choose)" : "";
    if (isPointed || performance.now() - listedAt < 250) return;
    listedAt = performance.now();
    const last = [...store.reconciles.values()]
      .filter((each) => !end || each.at <= end)
      .slice(-2 * MOST_LISTED)
      .sort((a, b) => b.at - a.at)
      .slice(0, MOST_LISTED);
    update(
      list,
      ...last.map(itemOf),
      !last.length &&
        element(
          "li",
          {},
          "No reconcile yet. ",
          !store.source && element("a", { href: "#try", class: "button" }, "Apply a sample"),
        ),
    );
    askedTitle.hidden = !store.calls.size;
    const calls = [...store.calls.values()].filter((each) => !end || each.at <= end);
    update(asked, ...calls.slice(-MOST_LISTED).reverse().map(itemOfCall));
  }

  const ticking = setInterval(
    () => !end && draw(),
    matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 100,
  );
  addEventListener("resize", draw);
  lanesBox.addEventListener("scroll", draw);
  draw();
  return { draw: listed, close: () => (clearInterval(ticking), removeEventListener("resize", draw)) };
}

/** When something ended, or the end of what is shown. @param {Reconcile | Call} item @param {number} until */
const endOf = (item, until) => (!isCall(item) && item.isRunning ? until : item.at + item.seconds);

/** @param {Pen} pen @param {ReturnType<typeof palette>} tones @param {Box} box @param {Call} call */
function mark(pen, tones, { x, y, width }, call) {
  pen.fillStyle = call.allowed ? tones.ok : call.allowed === null ? tones.cancelled : tones.error;
  if (call.allowed) pen.fillRect(x, y + 1, width, 3);
  else pen.fillText("▼", x - 2, y + CALL);
}

/** @param {Pen} pen @param {ReturnType<typeof palette>} tones @param {Box} box @param {Reconcile} reconcile */
function bar(pen, tones, { x, y, width }, reconcile) {
  if (reconcile.isRunning) {
    pen.strokeStyle = tones.accent;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 6.5, width, LANE - 13);
    return;
  }
  const shape = reconcile.outcome === "error" ? "▲" : reconcile.outcome === "cancelled" ? "◆" : "";
  pen.fillStyle =
    reconcile.outcome === "error" ? tones.error : reconcile.outcome === "cancelled" ? tones.cancelled : tones.ok;
  if (!shape) {
    pen.fillRect(x, y + 6, width, LANE - 12);
    return;
  }
  if (width > 8) pen.fillRect(x, y + LANE - 9, width, 3);
  pen.fillText(shape, x - 2, y + LANE / 2);
}

/** The times above the lanes, and a line at each. @param {Frame} frame */
function axis({ pen, tones, from, until, place, names, width, height }) {
  const most = Math.max(1, Math.floor((width - names) / 80));
  const step = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600].find((each) => (until - from) / each <= most) ?? 1200;
  for (let at = Math.ceil(from / step) * step; at <= until; at += step) {
    pen.fillStyle = tones.line;
    pen.fillRect(place(at), HEAD - 4, 1, height);
    pen.fillStyle = tones.quiet;
    if (place(at) + 62 < width) pen.fillText(clock(at), place(at) + 3, HEAD / 2);
  }
  pen.fillStyle = tones.line;
  pen.fillRect(0, HEAD, width, 1);
  pen.fillRect(0, height - LANE, width, 1);
}

/** A line where the manager started or ended, and why. @param {Frame} frame */
function restarts({ pen, tones, from, until, place, width, height }) {
  pen.fillStyle = tones.quiet;
  pen.fillText("manager", 8, height - LANE / 2);
  const visible = store.restarts.filter((each) => each.at >= from && each.at <= until);
  visible.forEach((restart, index) => {
    const x = place(restart.at);
    const before = x - Math.max(80, place(visible[index - 1]?.at ?? -Infinity)) - 12;
    const after = Math.min(width, place(visible[index + 1]?.at ?? Infinity)) - x - 12;
    const text = fitting(pen, reasonOf(restart), Math.max(before, after));
    pen.fillStyle = restart.state === "started" ? tones.accent : tones.error;
    pen.fillRect(x, HEAD - 4, 2, height);
    const isLeft = before > after && pen.measureText(text).width > after;
    if (Math.max(before, after) > 20)
      pen.fillText(text, isLeft ? x - 6 - pen.measureText(text).width : x + 6, height - LANE / 2);
  });
}

/** How long it took to start it. @param {import("./store.js").Restart} restart */
const took = ({ state, took: seconds }) => state === "started" && seconds > 0 && `took ${span(seconds)}`;

/** Why the manager started or ended, as short as possible. @param {import("./store.js").Restart} restart */
function reasonOf(restart) {
  const [file] = restart.files;
  if (restart.reason || file === undefined) return restartText(restart);
  const more = restart.files.length > 1 ? ` and ${restart.files.length - 1} more` : "";
  const crds = restart.crds.length > 0 && `installed ${restart.crds.join(", ")}`;
  return [`${file.slice(file.lastIndexOf("/") + 1)}${more} changed`, crds, took(restart)].filter(Boolean).join("; ");
}

/** @param {import("./store.js").Restart} restart */
export function restartText(restart) {
  const why = [
    restart.reason,
    restart.files.length > 0 && `changed: ${restart.files.join(", ")}`,
    restart.crds.length > 0 && `installed: ${restart.crds.join(", ")}`,
    took(restart),
  ];
  return [restart.state, ...why].filter(Boolean).join("; ");
}
