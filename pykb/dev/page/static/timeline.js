// Why it ran and what it did: a lane for each object, and one reconcile in full.

import { clock, codeLink, element, fill, nameOf, shown, span } from "./dom.js";
import { laneOf, now, store } from "./store.js";

/** @typedef {import("./store.js").Reconcile} Reconcile */

const LANE = 26;
const HEAD = 22;
const NAMES = 260;

/** @param {string} name */
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** @param {HTMLElement} view */
export function timelineView(view) {
  let width = 60;
  let end = 0; // 0 follows the clock
  let chosen = "";
  const canvas = /** @type {HTMLCanvasElement} */ (element("canvas", { "aria-hidden": "true" }));
  const said = element("p", { class: "quiet" });
  const list = element("ul", { class: "plain", "aria-label": "Last reconciles" });
  const live = element("button", { "aria-pressed": "true", onclick: () => ((end = end ? 0 : now()), draw()) }, "Live");
  const zooms = [10, 60, 300].map((seconds) =>
    element("button", { onclick: () => ((width = seconds), draw()), "data-width": seconds }, seconds < 60 ? `${seconds} s` : `${seconds / 60} min`),
  );
  fill(view, element("h2", {}, "Timeline"), element("div", { class: "bar" }, live, ...zooms, said), canvas, element("h2", {}, "Last reconciles"), list);
  /** @type {{x: number, y: number, width: number, reconcile: Reconcile}[]} */
  let boxes = [];
  canvas.addEventListener("click", (event) => {
    const hit = boxes.findLast((box) => Math.abs(event.offsetY - box.y - LANE / 2) < LANE / 2 && event.offsetX >= box.x - 3 && event.offsetX <= box.x + box.width + 3);
    if (hit) location.hash = `reconcile/${encodeURIComponent(hit.reconcile.id)}`;
  });
  canvas.addEventListener("mousemove", (event) => {
    const hit = boxes.findLast((box) => Math.abs(event.offsetY - box.y - LANE / 2) < LANE / 2 && event.offsetX >= box.x - 3 && event.offsetX <= box.x + box.width + 3);
    canvas.style.cursor = hit ? "pointer" : "";
    if ((hit?.reconcile.id ?? "") !== chosen) {
      chosen = hit?.reconcile.id ?? "";
      said.textContent = hit ? summaryOf(hit.reconcile) : "";
      draw();
    }
  });

  function draw() {
    live.setAttribute("aria-pressed", String(!end));
    for (const each of zooms) each.setAttribute("aria-pressed", String(Number(each.dataset.width) === width));
    const until = end || now();
    const from = until - width;
    const lanes = [...store.lanes].filter(([, lane]) => lane.some((each) => each.at + each.seconds >= from && each.at <= until)).slice(0, 200);
    const names = canvas.clientWidth < 700 ? 110 : NAMES;
    const height = HEAD + Math.max(1, lanes.length) * LANE;
    const ratio = devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = canvas.clientWidth * ratio;
    canvas.height = height * ratio;
    const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    pen.scale(ratio, ratio);
    pen.font = "13px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const [text, quiet, line, accent] = ["--text", "--quiet", "--line", "--accent"].map(colour);
    const tones = { ok: colour("--good"), error: colour("--bad"), cancelled: colour("--wait"), "": accent };
    const place = (/** @type {number} */ at) => names + ((at - from) / width) * (canvas.clientWidth - names - 8);
    const step = width <= 10 ? 1 : width <= 60 ? 10 : 60;
    for (let at = Math.ceil(from / step) * step; at <= until; at += step) {
      pen.fillStyle = line;
      pen.fillRect(place(at), HEAD - 4, 1, height);
      pen.fillStyle = quiet;
      pen.fillText(clock(at), place(at) + 3, HEAD / 2);
    }
    boxes = [];
    lanes.forEach(([name, lane], index) => {
      const y = HEAD + index * LANE;
      pen.fillStyle = line;
      pen.fillRect(0, y, canvas.clientWidth, 1);
      pen.save();
      pen.beginPath();
      pen.rect(0, y, names - 8, LANE);
      pen.clip();
      pen.fillStyle = text;
      pen.fillText(name, 8, y + LANE / 2);
      pen.restore();
      for (const each of lane) {
        const seconds = each.isRunning ? until - each.at : each.seconds;
        if (each.at + seconds < from || each.at > until) continue;
        const x = Math.max(names, place(each.at));
        const long = Math.max(4, place(each.at + seconds) - x);
        pen.fillStyle = tones[/** @type {keyof typeof tones} */ (each.outcome)] ?? accent;
        if (each.outcome === "error") {
          pen.beginPath();
          pen.moveTo(x, y + LANE - 6);
          pen.lineTo(x + Math.max(6, long) / 2, y + 5);
          pen.lineTo(x + Math.max(6, long), y + LANE - 6);
          pen.fill();
        } else pen.fillRect(x, y + 6, long, LANE - 12);
        boxes.push({ x, y, width: long, reconcile: each });
      }
    });
    for (const box of boxes) arrows(pen, box);
    pen.fillStyle = accent;
    for (const restart of store.restarts) {
      if (restart.at < from || restart.at > until) continue;
      pen.fillRect(place(restart.at), HEAD - 4, 2, height);
      pen.fillText(restart.state, place(restart.at) + 4, height - 8);
    }
    if (!lanes.length) {
      pen.fillStyle = quiet;
      pen.fillText("No reconcile in this time.", names, HEAD + LANE / 2);
    }
    listed();
  }

  /** What woke the chosen reconcile. @param {CanvasRenderingContext2D} pen @param {(typeof boxes)[number]} box */
  function arrows(pen, box) {
    if (box.reconcile.id !== chosen) return;
    for (const cause of box.reconcile.causes) {
      const writer = boxes.find((each) => each.reconcile.id === cause.writtenBy?.id);
      if (!writer) continue;
      pen.strokeStyle = colour("--accent");
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(writer.x + writer.width, writer.y + LANE / 2);
      pen.bezierCurveTo(writer.x + writer.width + 20, writer.y + LANE / 2, box.x - 20, box.y + LANE / 2, box.x, box.y + LANE / 2);
      pen.stroke();
    }
  }

  let listedAt = 0;
  function listed() {
    if (performance.now() - listedAt < 250) return;
    listedAt = performance.now();
    const last = [...store.reconciles.values()].sort((a, b) => b.at - a.at).slice(0, 30);
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.key : undefined;
    fill(list, ...last.map((each) => element("li", {}, element("a", { href: `#reconcile/${encodeURIComponent(each.id)}`, "data-key": each.id }, clock(each.at)), ` ${summaryOf(each)}`)), !last.length && "None yet.");
    if (focused) /** @type {HTMLElement | null} */ (list.querySelector(`[data-key="${CSS.escape(focused)}"]`))?.focus({ preventScroll: true });
  }

  const ticking = setInterval(() => !end && draw(), matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 100);
  addEventListener("resize", draw);
  return { draw: () => {}, first: draw, close: () => (clearInterval(ticking), removeEventListener("resize", draw)) };
}

/** @param {Reconcile} reconcile */
function summaryOf(reconcile) {
  const writes = reconcile.sent.filter((each) => each.method !== "GET").length;
  const end = reconcile.isRunning ? "runs" : reconcile.error ? `✗ ${reconcile.error.type}` : reconcile.outcome === "ok" ? "✓" : "cancelled";
  const did = writes ? `, ${writes} write${writes > 1 ? "s" : ""}` : "";
  return `${laneOf(reconcile)}: ${end} in ${span(reconcile.seconds)}${did}${becauseOf(reconcile)}`;
}

/** @param {Reconcile} reconcile */
function becauseOf(reconcile) {
  const cause = reconcile.causes.findLast((each) => each.kind === "event") ?? reconcile.causes[reconcile.causes.length - 1];
  return cause ? `, because of ${causeText(cause)}` : "";
}

/** @param {import("./store.js").Cause} cause */
function causeText(cause) {
  const what = cause.object ? ` of ${nameOf(cause.object)}` : "";
  return `${cause.kind === "event" ? `the ${cause.event}` : cause.kind.replace("_", " ")}${what}`;
}

/** @param {import("./store.js").Change[]} changes */
function diff(changes) {
  return element("ul", { class: "plain mono" }, ...changes.map((each) => element("li", {}, `${each.path} `, element("del", {}, shown(each.before)), " ", element("ins", {}, shown(each.after)))));
}

/** One reconcile in full. @param {HTMLElement} view @param {string} id */
export function reconcileView(view, id) {
  /** @type {Reconcile | null} */
  let last = null;
  const draw = () => {
    const found = store.reconciles.get(decodeURIComponent(id));
    if (found === last && last) return;
    last = found ?? null;
    if (!found) {
      fill(view, element("p", { class: "empty" }, store.isReady ? "This reconcile is no longer kept." : "Loading …"));
      return;
    }
    const end = found.isRunning ? ["", "runs"] : found.error ? ["bad", "✗ failed"] : found.outcome === "ok" ? ["good", "✓ done"] : ["wait", "cancelled"];
    const again = found.nextTry !== null ? `failure ${found.failures}, next try after ${span(found.nextTry)}` : found.requeueAfter !== null ? `again after ${span(found.requeueAfter)}` : "";
    fill(
      view,
      element("p", {}, element("a", { href: "#timeline" }, "← Timeline")),
      element("h2", {}, laneOf(found)),
      element("p", {}, element("span", { class: end[0] }, end[1]), ` at ${clock(found.at)} in ${span(found.seconds)}${again ? `, ${again}` : ""}`),
      found.isReduced && element("p", { class: "wait" }, "This record was large: its changes and log lines were left out."),
      found.error && element("div", {}, element("h2", {}, "Error"), element("p", { class: "bad" }, found.error.message, " ", codeLink(found.error.place)), element("pre", { tabindex: "0" }, found.error.traceback)),
      element("h2", {}, "Why it ran"),
      element("ul", { class: "plain" }, ...found.causes.map((cause) => element(
        "li", {}, causeText(cause),
        cause.writtenBy ? element("span", {}, ", written by ", element("a", { href: `#reconcile/${encodeURIComponent(cause.writtenBy.id)}` }, laneOf(cause.writtenBy))) : cause.fieldManager && `, written by ${cause.fieldManager}`,
        cause.changes.length > 0 && diff(cause.changes),
      )), !found.causes.length && "No cause was noted.", found.moreCauses > 0 && element("li", {}, `and ${found.moreCauses} more`)),
      element("h2", {}, "What it sent"),
      element("ul", { class: "plain" }, ...found.sent.map((sent) => element(
        "li", {}, element("code", {}, sent.method), ` ${nameOf(sent.object)}${sent.subresource ? ` (${sent.subresource})` : ""}${sent.dryRun ? ", dry run" : ""}, ${span(sent.seconds)} `,
        codeLink(sent.place), sent.error && element("span", { class: "bad" }, ` ${sent.error}`), sent.changes.length > 0 && diff(sent.changes),
      )), !found.sent.length && "Nothing.", found.moreSent > 0 && element("li", {}, `and ${found.moreSent} more`)),
      found.logs.length > 0 && element("div", {}, element("h2", {}, "Log"), element("ul", { class: "plain mono" }, ...found.logs.map((each) => element("li", { class: each.level === "error" ? "bad" : each.level === "warning" ? "wait" : "" }, `${clock(each.at)} ${each.level} ${each.message}`)), found.moreLogs > 0 && element("li", {}, `and ${found.moreLogs} more`))),
    );
  };
  return { draw, close: () => {} };
}
