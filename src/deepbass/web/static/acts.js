/** What the person does: acts are given, and taken back without limit, last one first. */

import { ApiError } from "./api.js";
import { className } from "./store.js";
import { counted } from "./words.js";
import { uid } from "./uid.js";

/**
 * @typedef {import("./api.js").Act & {name: string, answer: string}} Given an act, its item's name, and itself in words
 * @typedef {{acts: Given[], words: string}} Group what one key or click did, and undo takes back at once
 * @typedef {{item: number, name: string, kind: string, class?: number|null, why?: string, seconds?: number,
 *   saw_guess?: boolean}} Wish
 */

/**
 * @param {{outbox: any, api: any, store: any, onGiven: (group: Group) => void, onUndone: (group: Group) => void,
 *   onNote: (text: string) => void}} options
 */
export function createActs({ outbox, api, store, onGiven, onUndone, onNote }) {
  /** @type {Group[]} */
  let given = []; // by this page, not taken back; what was before that, the server knows
  /** @type {Set<number>} */
  const flagged = new Set();
  let undoing = Promise.resolve();

  const scope = scopeOf(store.get().project);
  const enter = (acts) =>
    outbox.add(acts.map(({ name, answer, ...act }) => ({ scope, act: tidy(act), about: { name, answer } })));

  /** Give acts, all by one key or click. @param {Wish[]} wishes @param {string} [words] @returns {Group} */
  function give(wishes, words = "") {
    const { project } = store.get();
    const acts = wishes.map((wish) => ({ ...wish, uid: uid(), answer: inWords(project, wish) }));
    const group = { acts, words: words || (acts.length === 1 ? acts[0].answer : counted(acts.length, "answer")) };
    acts.forEach((act) => noteFlag(act, false));
    given.push(group);
    void enter(acts);
    onGiven(group);
    return group;
  }

  async function takeBack() {
    const group = given.pop() ?? (await lastOfServer());
    if (!group) return;
    const undos = group.acts.slice().reverse().map((act) => ({
      uid: uid(), item: act.item, kind: "undo", undoes: act.uid, name: act.name, answer: `undo of ${act.answer}`,
    }));
    group.acts.forEach((act) => noteFlag(act, true));
    void enter(undos);
    onUndone(group);
  }

  /** Ask the server, which remembers what was done before this page was opened. */
  async function lastOfServer() {
    try {
      await outbox.drained(); // or it would name what is being taken back just now
      if (outbox.waiting().length) throw new ApiError("Answers are waiting to be sent.");
      const last = await api.last();
      if (!last) {
        onNote("There is nothing left to undo.");
        return null;
      }
      const { project } = store.get();
      const act = { ...last, name: last.name ?? `image ${last.item}`, answer: inWords(project, last) };
      return { acts: [act], words: act.answer };
    } catch (error) {
      const offline = !(error instanceof ApiError) || error.status === 0;
      onNote(offline ? "Earlier answers can be undone when the server is back." : `Undo failed: ${error.message}`);
      return null;
    }
  }

  function noteFlag({ kind, item }, back) {
    if (kind !== "flag" && kind !== "unflag") return;
    if ((kind === "flag") !== back) flagged.add(item);
    else flagged.delete(item);
  }

  return {
    give,
    /** Take the last act back; called again while one is under way, they follow one another. */
    undo() {
      undoing = undoing.then(takeBack);
      return undoing;
    },
    /** @param {number} item @returns {boolean} whether it is flagged, as far as this page knows */
    isFlagged: (item) => flagged.has(item),
    /** Note a flag that the server told of. @param {number} item */
    knowFlag: (item) => void flagged.add(item),
    /** Take over what an earlier page left unsent, to be undone. @param {import("./keep.js").Entry[]} entries */
    adopt(entries) {
      const undone = new Set(entries.map(({ act }) => act.undoes));
      given = entries
        .filter(({ act }) => act.kind !== "undo" && !undone.has(act.uid))
        .map(({ act, about }) => ({ acts: [{ ...act, ...about }], words: about.answer }));
    },
    /** Forget a refused act: there is nothing to take back. @param {string} refused */
    forget(refused) {
      given = given
        .map((group) => ({ ...group, acts: group.acts.filter((act) => act.uid !== refused) }))
        .filter((group) => group.acts.length);
    },
  };
}

/** Tell whose answers to what: two projects may share an address. @param {import("./store.js").Project} project */
export function scopeOf(project) {
  return JSON.stringify([project.id ?? project.name, project.annotator]);
}

/** @param {import("./store.js").Project} project @param {{kind: string, class?: number|null}} act @returns {string} */
export function inWords(project, act) {
  const name = () => className(project, act.class);
  const words = {
    label: () => name(),
    settle: () => `settled: ${name()}`,
    veto: () => `not ${name()}`,
    skip: () => "skipped",
    unsure: () => "don’t know",
    flag: () => "flagged",
    unflag: () => "flag removed",
    undo: () => "taken back",
  };
  return (words[act.kind] ?? (() => act.kind))();
}

function tidy(act) {
  return Object.fromEntries(Object.entries(act).filter(([, value]) => value !== undefined && value !== null));
}
