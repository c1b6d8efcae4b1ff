/**
 * Answers on their way to the server. Each is kept in the browser first, sent in order, and let go only when the server
 * has said that it is written down, or why it is refused. Sent twice is written once: every act has an id of its own.
 */

import { ApiError } from "./api.js";
import { memoryKeep } from "./keep.js";
import { reason } from "./words.js";

const AT_ONCE = 50; // acts a request
const PAUSES = [0.5, 1, 2, 4, 8, 15, 30]; // seconds between attempts
const EASY = 2000; // milliseconds after which a new answer may cut a pause short
const REFUSALS = new Set([400, 409, 413, 422]); // this request will never do; anything else may do later
const LONG = 3000; // milliseconds that a view waits for answers to arrive before it asks the server anyway
const LOCK = "deepbass-outbox";

/**
 * @typedef {import("./keep.js").Entry} Entry
 * @typedef {import("./api.js").Act} Act
 * @typedef {ReturnType<typeof createOutbox>} Outbox
 * @typedef {{waiting: number, sending: boolean, failed: string|null, unkept: number, elsewhere: number}} OutboxState
 *   waiting: not yet acknowledged; failed: why the last attempt failed; unkept: in memory only; elsewhere: of another
 *   person or project that was opened at this address
 */

/**
 * @param {{keep: import("./keep.js").Keep, scope: string,
 *   send: (acts: Act[]) => Promise<import("./api.js").Receipt>,
 *   onState: (state: OutboxState) => void, onRefused: (entry: Entry, reason: string) => void,
 *   onSettled: (acts: Act[]) => void, onElsewhere?: (acts: Act[]) => void}} given
 *   onSettled: these are written down or refused, by this tab's doing or another's; onElsewhere: another tab gave these
 */
export function createOutbox({ keep, scope, send, onState, onRefused, onSettled, onElsewhere = () => {} }) {
  const memory = memoryKeep(); // what the browser would not keep
  const channel = typeof BroadcastChannel === "function" ? new BroadcastChannel(LOCK) : null;
  /** @type {Map<string, Entry>} */
  const open = new Map(); // not acknowledged, in order
  let unkept = 0;
  let elsewhere = 0;
  let failed = /** @type {string|null} */ (null);
  let failures = 0;
  let atOnce = AT_ONCE;
  let adding = Promise.resolve();
  let sending = false;
  let again = false; // something came in while the last look was under way
  let timer = 0; // of the pause before the next attempt; 0: there is none
  let tried = 0; // when the last attempt began
  /** @type {Set<string>} */
  const storing = new Set();
  /** @type {(() => void)[]} */
  const drains = [];

  const report = () => onState({ waiting: open.size, sending, failed, unkept, elsewhere });

  /** Keep acts, then send them. Resolves when they are kept. @param {Entry[]} entries */
  function add(entries) {
    for (const entry of entries) {
      open.set(entry.act.uid, entry);
      storing.add(entry.act.uid);
    }
    report();
    adding = adding.then(() => store(entries)).then(() => {
      for (const entry of entries) storing.delete(entry.act.uid);
      channel?.postMessage({ scope, acts: entries.map((entry) => entry.act) });
      nudge();
    });
    return adding;
  }

  /** @param {Entry[]} entries */
  async function store(entries) {
    try {
      await keep.add(entries);
      if (!keep.lasting) unkept += entries.length;
    } catch {
      await memory.add(entries);
      unkept += entries.length;
    }
    report();
  }

  /** Try now, unless it failed a moment ago: a server in trouble is not asked at every key. */
  function nudge() {
    if (!timer || performance.now() - tried > EASY) kick();
  }

  /** Try now, whatever the pause. */
  function kick() {
    clearTimeout(timer);
    timer = 0;
    again = true;
    if (!sending) void run();
  }

  async function run() {
    sending = true;
    let pause = 0;
    while (again) {
      again = false;
      const outcome = await alone(attempt).catch(later);
      if (outcome === "went") again = true;
      pause = typeof outcome === "number" ? outcome : 0;
    }
    sending = false;
    if (pause) timer = setTimeout(kick, pause * 1000);
    report();
  }

  /** Send once. @returns {Promise<"empty"|"went"|number>} a number: seconds to wait before the next attempt */
  async function attempt() {
    const entries = await load();
    if (!entries.length) {
      failed = null;
      failures = 0;
      if (!open.size) for (const drained of drains.splice(0)) drained();
      return "empty";
    }
    tried = performance.now();
    const batch = entries.slice(0, atOnce);
    report();
    try {
      const receipt = await send(batch.map((entry) => entry.act));
      const refused = new Map(receipt.refused.map(({ uid, reason }) => [uid, reason]));
      const done = new Set([...receipt.saved, ...refused.keys()]);
      await settle(batch.filter((entry) => done.has(entry.act.uid)), refused);
      if (!batch.some((entry) => done.has(entry.act.uid))) return later(new Error("The server took no answer."));
      failed = null;
      failures = 0;
      atOnce = AT_ONCE;
      return "went";
    } catch (error) {
      if (!(error instanceof ApiError && REFUSALS.has(error.status))) return later(error);
      if (batch.length > 1) {
        atOnce = 1; // one of them is at fault: find out which, and do not hold up the others
        return "went";
      }
      await settle(batch, new Map([[batch[0].act.uid, error.message]]));
      return "went";
    }
  }

  /** @param {unknown} error @returns {number} seconds until the next attempt */
  function later(error) {
    failed = reason(error);
    const wanted = error instanceof ApiError ? error.pause : 0;
    const pause = Math.max(PAUSES[Math.min(failures, PAUSES.length - 1)], wanted);
    failures += 1;
    report();
    return pause * (0.8 + 0.4 * Math.random()); // not all browsers at the same moment
  }

  /** @param {Entry[]} entries @param {Map<string, string>} refused why, by uid */
  async function settle(entries, refused) {
    const uids = new Set(entries.map((entry) => entry.act.uid));
    await keep.remove(uids).catch(() => {}); // at worst it is sent again, which does no harm
    await memory.remove(uids);
    unkept = (await memory.all()).length + (keep.lasting ? 0 : (await keep.all()).length);
    for (const uid of uids) open.delete(uid);
    onSettled(entries.map((entry) => entry.act));
    for (const entry of entries) {
      const why = refused.get(entry.act.uid);
      if (why !== undefined) onRefused(entry, why);
    }
    channel?.postMessage({ settled: true });
    report();
  }

  /** Read what all tabs keep, or where that fails, what this one remembers. @returns {Promise<Entry[]>} */
  async function load() {
    const kept = await keep.all().catch(() => null);
    if (!kept) return [...open.values()].filter((entry) => !storing.has(entry.act.uid));
    const all = [...kept, ...(await memory.all())];
    const mine = all.filter((entry) => entry.scope === scope);
    elsewhere = all.length - mine.length;
    const uids = new Set(mine.map((entry) => entry.act.uid));
    for (const entry of mine) if (!open.has(entry.act.uid)) open.set(entry.act.uid, entry);
    return [...open.values()].filter((entry) => uids.has(entry.act.uid)); // those still being stored are not there yet
  }

  /** Forget what another tab has sent meanwhile. */
  async function compare() {
    await adding;
    const uids = new Set((await load()).map((entry) => entry.act.uid));
    const gone = [...open.values()].map((entry) => entry.act).filter(({ uid }) => !uids.has(uid) && !storing.has(uid));
    for (const { uid } of gone) open.delete(uid);
    if (gone.length) onSettled(gone);
    report();
  }

  if (channel) {
    channel.onmessage = ({ data }) => {
      if (data.acts && data.scope === scope) onElsewhere(data.acts);
      void compare();
    };
  }
  addEventListener("online", kick);
  addEventListener("beforeunload", (event) => {
    if (unkept > 0) event.preventDefault(); // the only case in which closing the page would lose an answer
  });

  return {
    add,
    kick,
    nudge,
    /** Read what an earlier page left behind, and send it. @returns {Promise<Entry[]>} */
    async open() {
      const entries = await load();
      report();
      kick();
      return entries;
    },
    /** Wait until nothing is left to send, but not for ever. @returns {Promise<void>} */
    async drained() {
      await adding;
      if (open.size === 0) return;
      await new Promise((resolve) => {
        drains.push(/** @type {() => void} */ (resolve));
        setTimeout(resolve, LONG);
        nudge();
      });
    },
    /** @returns {Entry[]} not acknowledged yet */
    waiting: () => [...open.values()],
  };
}

/**
 * Let one tab send at a time, where the browser can see to it.
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
async function alone(work) {
  return navigator.locks ? navigator.locks.request(LOCK, work) : work();
}
