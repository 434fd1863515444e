// What the page knows: the records, the restarts and the objects, within the same bounds as the server.

import { nameOf } from "./dom.js";

/**
 * @typedef {{apiVersion: string, kind: string, namespace: string, name: string}} Identity
 * @typedef {{path: string, line: number} | null} Place
 * @typedef {{path: string, before: unknown, after: unknown}} Change
 * @typedef {{controller: string, request: string, id: string}} Writer
 * @typedef {{kind: string, event: string | null, object: Identity | null, changes: Change[], fieldManager: string,
 *   writtenBy: Writer | null}} Cause
 * @typedef {{method: string, object: Identity, subresource: string, changes: Change[], dryRun: boolean, error: string,
 *   seconds: number, place: Place}} Sent
 * @typedef {{type: string, message: string, place: Place, traceback: string}} Failure
 * @typedef {{logs: {at: number, level: string, message: string}[], moreLogs: number, isReduced?: boolean}} Logged
 * @typedef {Logged & {id: string, controller: string, request: string, object: Identity | null, at: number,
 *   causes: Cause[], moreCauses: number, queued: number, isRunning: boolean, seconds: number, outcome: string,
 *   requeueAfter: number | null, error: Failure | null, failures: number, nextTry: number | null, sent: Sent[],
 *   moreSent: number}} Reconcile
 * @typedef {Logged & {id: string, type: string, path: string, at: number, seconds: number, object: Identity | null,
 *   objects: number, operation: string, subresource: string, user: string, dryRun: boolean, sentBy: Writer | null,
 *   before: unknown, after: unknown, changes: Change[], allowed: boolean | null, message: string,
 *   fields: {field: string, message: string}[], warnings: string[], error: Failure | null}} Call A call of a webhook.
 * @typedef {{at: number, took: number, state: string, reason: string, files: string[], crds: string[], log: string[]}} Restart
 * @typedef {{at: number, state: "running" | "done" | "failed", message: string, histories: number, unfinished: string[],
 *   findings: {code: string, message: string, replay: string}[], html: string}} Explored
 * @typedef {Identity & {uid: string, createdAt: string, deletingSince: string | null, finalizers: string[],
 *   owners: string[], generation: number | null, observedGeneration: number | null,
 *   conditions: {type: string, status: string, reason: string, message: string, since: string}[], phase: string,
 *   ready: boolean | null, resourceVersion: string}} Shown
 */

const MOST = 5000;
const MOST_OF_A_LANE = 200;
const MOST_RESTARTS = 200;
const HOT_PER_SECOND = 5;
const HOT_SECONDS = 3;
const RATE_SECONDS = 10;

export const store = {
  project: "",
  cluster: "",
  /** Where the records come from, if not from the manager of this `pykb dev`. Nothing can be changed then. */
  source: "",
  /** The address that opens a file in the user's editor, with `{path}` and `{line}`. Empty if the code is elsewhere. */
  editor: "",
  /** Whether this is a recording: its clock stands. */
  isOver: false,
  dropped: 0,
  /** Server's clock minus ours, in seconds. For a recording: when it ended. */
  skew: 0,
  isLost: false,
  isReady: false,
  /** @type {Map<string, Reconcile>} */
  reconciles: new Map(),
  /** By controller and request: @type {Map<string, Reconcile[]>} */
  lanes: new Map(),
  /** The names of lanes by object: @type {Map<string, Set<string>>} */
  lanesOf: new Map(),
  /** How many requests wait for a worker, by controller: @type {Map<string, number>} */
  queued: new Map(),
  /** @type {Map<string, Call>} */
  calls: new Map(),
  /** By object: @type {Map<string, Call[]>} */
  callsOf: new Map(),
  /** @type {Restart[]} */
  restarts: [],
  /** What the explorer has found, if it runs: @type {Explored | null} */
  explored: null,
  /** @type {Map<string, Shown>} */
  objects: new Map(),
  /** Grows with each change of `objects`. */
  version: 0,
  /** The objects that records name, as `nameOf` writes them. @type {Set<string>} */
  touched: new Set(),
};

/** @typedef {{reconciles: number, errors: number, requests: number}} Rate */

/** What ended in each of the last seconds. @type {Map<number, Rate>} */
const rates = new Map();

/** @type {Set<() => void>} */
const listeners = new Set();
let isScheduled = false;

/** Call a function after changes, at most ten times a second. @param {() => void} listener */
export function listen(listener) {
  listeners.add(listener);
}

function changed() {
  if (isScheduled) return;
  isScheduled = true;
  setTimeout(
    () =>
      requestAnimationFrame(() => {
        isScheduled = false;
        for (const listener of listeners) listener();
      }),
    100,
  );
}

/** Seconds of the server's clock, or the end of the recording. */
export const now = () => (store.isOver ? 0 : Date.now() / 1000) + store.skew;

/** @param {{controller: string, request: string}} of */
export const laneOf = (of) => `${of.controller} ${of.request}`;

/** What ended each second on average, and what runs. */
export function activity() {
  const until = Math.floor(now());
  const sum = { reconciles: 0, errors: 0, requests: 0 };
  for (let second = until - RATE_SECONDS; second < until; second += 1) {
    const rate = rates.get(second);
    if (rate)
      for (const key of /** @type {(keyof typeof sum)[]} */ (Object.keys(sum))) sum[key] += rate[key] / RATE_SECONDS;
  }
  let busy = 0;
  for (const lane of store.lanes.values()) if (lane[lane.length - 1]?.isRunning) busy += 1;
  return { ...sum, busy };
}

function count(/** @type {Reconcile} */ ended) {
  const second = Math.floor(ended.at + ended.seconds);
  const rate = rates.get(second) ?? { reconciles: 0, errors: 0, requests: 0 };
  rates.set(second, rate);
  rate.reconciles += 1;
  rate.errors += ended.error ? 1 : 0;
  rate.requests += ended.sent.length + ended.moreSent;
  while (rates.size > 2 * RATE_SECONDS) for (const oldest of rates.keys()) if (rates.delete(oldest)) break;
}

/** The last reconcile for an object. @param {Identity} object @returns {Reconcile | undefined} */
export function lastOf(object) {
  /** @type {Reconcile | undefined} */
  let last;
  for (const name of lanesOf(object)) {
    const found = store.lanes.get(name)?.at(-1);
    if (found && (!last || found.at > last.at)) last = found;
  }
  return last;
}

/** An object in any of its versions. @param {Identity} object */
const keyOf = (object) => {
  const group = object.apiVersion.includes("/") ? object.apiVersion.split("/")[0] : "";
  return `${group} ${nameOf(object)}`;
};

/** The lanes of an object. @param {Identity} object */
export const lanesOf = (object) => [...(store.lanesOf.get(keyOf(object)) ?? [])];

/** The reconciles for an object, the last one first. @param {Identity} object */
export const reconcilesOf = (object) =>
  lanesOf(object)
    .flatMap((name) => store.lanes.get(name) ?? [])
    .sort((a, b) => b.at - a.at);

/** The calls of webhooks for an object, the last one first. @param {Identity} object */
export const callsOf = (object) => [...(store.callsOf.get(keyOf(object)) ?? [])].reverse();

/** The last reconcile of each object that is reconciled again and again, though nobody else changed anything. */
export function hotLoops() {
  const from = now() - HOT_SECONDS;
  /** @type {Reconcile[]} */
  const hot = [];
  for (const lane of store.lanes.values()) {
    if (
      lane.length < HOT_PER_SECOND * HOT_SECONDS ||
      /** @type {Reconcile} */ (lane[lane.length - HOT_PER_SECOND * HOT_SECONDS]).at < from
    )
      continue;
    const recent = lane.filter((each) => each.at >= from);
    const last = recent.findLast((each) => !each.isRunning);
    if (last && recent.every((each) => each.causes.every((cause) => cause.kind !== "event" || cause.writtenBy)))
      hot.push(last);
  }
  return hot;
}

function keep(/** @type {Reconcile} */ told) {
  const name = laneOf(told);
  const before = store.reconciles.get(told.id);
  const lane = store.lanes.get(name) ?? [];
  store.lanes.set(name, lane);
  if (told.object) {
    const key = keyOf(told.object);
    store.lanesOf.set(key, (store.lanesOf.get(key) ?? new Set()).add(name));
  }
  if (before) lane[lane.lastIndexOf(before)] = told;
  else lane.push(told);
  store.reconciles.set(told.id, told);
  store.queued.set(told.controller, told.queued);
  touch(...told.causes, ...told.sent);
  if (lane.length > MOST_OF_A_LANE) forget(/** @type {Reconcile} */ (lane[0]));
  if (store.reconciles.size > MOST)
    for (const oldest of store.reconciles.values()) {
      forget(oldest);
      break;
    }
}

function touch(/** @type {{object: Identity | null}[]} */ ...told) {
  for (const { object } of told) if (object && store.touched.size < MOST) store.touched.add(nameOf(object));
}

function keepCall(/** @type {Call} */ told) {
  store.calls.set(told.id, told);
  touch(told);
  if (told.object) {
    const key = keyOf(told.object);
    const calls = store.callsOf.get(key) ?? [];
    store.callsOf.set(key, calls);
    calls.push(told);
    const same = calls.filter((each) => each.path === told.path); // conversions are many, and push out no other calls
    if (same[0] && same.length > MOST_OF_A_LANE) forgetCall(same[0]);
  }
  if (store.calls.size > MOST)
    for (const oldest of store.calls.values()) {
      forgetCall(oldest);
      break;
    }
}

function forgetCall(/** @type {Call} */ call) {
  store.calls.delete(call.id);
  store.dropped += 1;
  if (!call.object) return;
  const calls = store.callsOf.get(keyOf(call.object)) ?? [];
  calls.splice(calls.indexOf(call), 1);
  if (!calls.length) store.callsOf.delete(keyOf(call.object));
}

function forget(/** @type {Reconcile} */ reconcile) {
  store.reconciles.delete(reconcile.id);
  const name = laneOf(reconcile);
  const lane = store.lanes.get(name) ?? [];
  lane.splice(lane.indexOf(reconcile), 1);
  if (!lane.length) {
    store.lanes.delete(name);
    const key = reconcile.object ? keyOf(reconcile.object) : "";
    const names = store.lanesOf.get(key);
    if (names?.delete(name) && !names.size) store.lanesOf.delete(key);
  }
  store.dropped += 1;
}

/** @type {Record<string, (told: any) => void>} */
const handlers = {
  reset(told) {
    handlers.about?.(told);
    Object.assign(store, { editor: told.editor, dropped: told.dropped, isOver: told.isOver, isReady: false });
    store.skew = told.now - (told.isOver ? 0 : Date.now() / 1000);
    store.restarts = [];
    store.explored = null;
    store.version += 1;
    const { reconciles, lanes, lanesOf: byObject, queued, calls, callsOf: ofObject, objects, touched } = store;
    for (const kept of [reconciles, lanes, byObject, queued, calls, ofObject, objects, touched, rates]) kept.clear();
  },
  about({ project, cluster, source }) {
    Object.assign(store, { project, cluster, source });
  },
  ready() {
    store.isReady = true;
  },
  started: (told) => keep({ ...EMPTY, ...told, isRunning: true }),
  ended(told) {
    const ended = { ...EMPTY, ...told, isRunning: false };
    keep(ended);
    count(ended);
  },
  webhook: keepCall,
  manager(told) {
    store.restarts.push(told);
    if (store.restarts.length > MOST_RESTARTS) store.restarts.shift();
    if (told.state === "waiting") return; // the old manager may still run
    store.queued.clear();
    for (const each of store.reconciles.values())
      if (each.isRunning) Object.assign(each, { isRunning: false, outcome: "cancelled" });
  },
  findings(told) {
    store.explored = told;
  },
  object(told) {
    store.objects.set(told.uid, told);
    store.version += 1;
  },
  gone(told) {
    store.objects.delete(told.uid);
    store.version += 1;
  },
  dropped(told) {
    store.dropped += told.records;
  },
};

const EMPTY = {
  seconds: 0,
  outcome: "",
  requeueAfter: null,
  error: null,
  failures: 0,
  nextTry: null,
  sent: [],
  moreSent: 0,
  logs: [],
  moreLogs: 0,
};

/** Follow the server. The browser connects again by itself, and names the last event that it has. */
export function follow() {
  const source = new EventSource("/events");
  source.onopen = () => {
    store.isLost = false;
    changed();
  };
  source.onerror = () => {
    store.isLost = true;
    changed();
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 2000);
  };
  for (const [name, handler] of Object.entries(handlers)) {
    source.addEventListener(name, (event) => {
      handler(JSON.parse(event.data));
      changed();
    });
  }
}
