// What the page knows: the records, the restarts and the objects, within the same bounds as the server.

/**
 * @typedef {{apiVersion: string, kind: string, namespace: string, name: string}} Identity
 * @typedef {{path: string, line: number} | null} Place
 * @typedef {{path: string, before: unknown, after: unknown}} Change
 * @typedef {{controller: string, request: string, id: string}} Writer
 * @typedef {{kind: string, event: string | null, object: Identity | null, changes: Change[], fieldManager: string,
 *   writtenBy: Writer | null}} Cause
 * @typedef {{method: string, object: Identity, subresource: string, changes: Change[], dryRun: boolean, error: string,
 *   seconds: number, place: Place}} Sent
 * @typedef {{id: string, controller: string, request: string, at: number, causes: Cause[], moreCauses: number,
 *   isRunning: boolean, seconds: number, outcome: string, requeueAfter: number | null,
 *   error: {type: string, message: string, place: Place, traceback: string} | null, failures: number,
 *   nextTry: number | null, sent: Sent[], moreSent: number, logs: {at: number, level: string, message: string}[],
 *   moreLogs: number, isReduced?: boolean}} Reconcile
 * @typedef {{at: number, state: string, reason: string, files: string[], crds: string[]}} Restart
 * @typedef {Identity & {uid: string, createdAt: string, deletingSince: string | null, finalizers: string[], owners: string[],
 *   generation: number | null, observedGeneration: number | null,
 *   conditions: {type: string, status: string, reason: string, message: string, since: string}[], phase: string,
 *   ready: boolean | null, resourceVersion: string}} Shown
 */

const MOST = 5000;
const MOST_OF_A_LANE = 200;
const HOT_PER_SECOND = 5;
const HOT_SECONDS = 3;

export const store = {
  project: "",
  cluster: "",
  dropped: 0,
  /** Server's clock minus ours, in seconds. */
  skew: 0,
  isLost: false,
  isReady: false,
  /** @type {Map<string, Reconcile>} */
  reconciles: new Map(),
  /** By controller and request: @type {Map<string, Reconcile[]>} */
  lanes: new Map(),
  /** @type {Restart[]} */
  restarts: [],
  /** @type {Map<string, Shown>} */
  objects: new Map(),
};

/** @type {Set<() => void>} */
const listeners = new Set();
let isScheduled = false;

/** Call a function after changes, at most once a frame. @param {() => void} listener */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function changed() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    for (const listener of [...listeners]) listener();
  });
}

/** Seconds of the server's clock. */
export const now = () => Date.now() / 1000 + store.skew;

/** @param {{controller: string, request: string}} of */
export const laneOf = (of) => `${of.controller} ${of.request}`;

/** The last reconcile for an object. @param {Identity} object @returns {Reconcile | undefined} */
export function lastOf(object) {
  const request = object.namespace ? `${object.namespace}/${object.name}` : object.name;
  /** @type {Reconcile | undefined} */
  let last;
  for (const lane of store.lanes.values()) {
    const found = lane[lane.length - 1];
    if (found.request === request && isFor(found, object) && (!last || found.at > last.at)) last = found;
  }
  return last;
}

/** Whether a controller works on this kind: its name begins with the kind, or its causes name the object. */
function isFor(/** @type {Reconcile} */ reconcile, /** @type {Identity} */ object) {
  if (reconcile.controller.toLowerCase().startsWith(object.kind.toLowerCase())) return true;
  return reconcile.causes.some((cause) => cause.object?.kind === object.kind && cause.object.name === object.name);
}

/** The lanes whose object is reconciled again and again, though nobody else changed anything. */
export function hotLanes() {
  const from = now() - HOT_SECONDS;
  /** @type {string[]} */
  const hot = [];
  for (const [name, lane] of store.lanes) {
    const recent = lane.filter((each) => each.at >= from);
    const isOwn = recent.every((each) => each.causes.every((cause) => cause.kind !== "event" || cause.writtenBy));
    if (recent.length >= HOT_PER_SECOND * HOT_SECONDS && isOwn) hot.push(name);
  }
  return hot;
}

function keep(/** @type {Reconcile} */ told) {
  const name = laneOf(told);
  const before = store.reconciles.get(told.id);
  const lane = store.lanes.get(name) ?? [];
  store.lanes.set(name, lane);
  if (before) lane[lane.indexOf(before)] = told;
  else lane.push(told);
  store.reconciles.set(told.id, told);
  if (lane.length > MOST_OF_A_LANE) forget(lane[0]);
  if (store.reconciles.size > MOST) {
    const [oldest] = store.reconciles.values();
    forget(oldest);
  }
}

function forget(/** @type {Reconcile} */ reconcile) {
  store.reconciles.delete(reconcile.id);
  const name = laneOf(reconcile);
  const lane = store.lanes.get(name) ?? [];
  lane.splice(lane.indexOf(reconcile), 1);
  if (!lane.length) store.lanes.delete(name);
  store.dropped += 1;
}

/** @type {Record<string, (told: any) => void>} */
const handlers = {
  reset(told) {
    Object.assign(store, { project: told.project, cluster: told.cluster, dropped: told.dropped, isReady: false });
    store.skew = told.now - Date.now() / 1000;
    store.restarts = [];
    for (const map of [store.reconciles, store.lanes, store.objects]) map.clear();
  },
  ready() {
    store.isReady = true;
  },
  started: (told) => keep({ ...EMPTY, ...told, isRunning: true }),
  ended: (told) => keep({ ...EMPTY, ...told, isRunning: false }),
  manager(told) {
    store.restarts.push(told);
    store.restarts.splice(0, store.restarts.length - MOST_OF_A_LANE);
    for (const each of store.reconciles.values()) if (each.isRunning) Object.assign(each, { isRunning: false, outcome: "cancelled" });
  },
  object: (told) => store.objects.set(told.uid, told),
  gone: (told) => store.objects.delete(told.uid),
  dropped(told) {
    store.dropped += told.records;
  },
};

const EMPTY = {
  seconds: 0, outcome: "", requeueAfter: null, error: null, failures: 0, nextTry: null, sent: [], moreSent: 0, logs: [], moreLogs: 0,
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
