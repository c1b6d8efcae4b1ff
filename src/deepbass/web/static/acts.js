/** What the person does: acts and changes of the classes; all are taken back without limit, last one first. */

import { ApiError } from "./api.js";
import { className } from "./store.js";
import { counted, reason } from "./words.js";
import { uid } from "./uid.js";

/**
 * @typedef {import("./api.js").Act} Act
 * @typedef {import("./api.js").Project} Project
 * @typedef {Act & {name: string, answer: string}} Given an act, its item's name, and itself in words
 * @typedef {{acts: Given[], words: string}} Group what one key or click did, and undo takes back at once
 * @typedef {{change: number, words: string}} Change of the classes, by the server's number
 * @typedef {Omit<Act, "uid"|"undoes"> & {name: string}} Wish an act to be given
 * @typedef {ReturnType<typeof createActs>} Acts
 */

/**
 * @param {{outbox: import("./outbox.js").Outbox, api: import("./api.js").Api, store: import("./store.js").Store,
 *   onGiven: (group: Group) => void, onUndone: (group: Group) => void, onChanged: (change: Change) => void,
 *   onChangeUndone: (change: Change, classes: import("./api.js").ClassName[]) => void,
 *   onNote: (text: string) => void}} options
 */
export function createActs({ outbox, api, store, onGiven, onUndone, onChanged, onChangeUndone, onNote }) {
  /** @type {(Group|Change)[]} */
  let given = []; // by this page, not taken back; what was before that, the server knows
  /** @type {Set<number>} */
  const flagged = new Set();
  let undoing = Promise.resolve("");

  const scope = scopeOf(store.get().project);
  const enter = (/** @type {Given[]} */ acts) =>
    outbox.add(acts.map(({ name, answer, ...act }) => ({ scope, act: tidy(act), about: { name, answer } })));

  /** Give acts, all by one key or click. @param {Wish[]} wishes @param {string} [words] @returns {Group} */
  function give(wishes, words = "") {
    const { project } = store.get();
    const own = uid(); // of a group the same up to a dot: so the server knows what belongs together
    const acts = wishes.map((wish, place) => ({
      ...wish, uid: wishes.length > 1 ? `${own}.${place}` : own, answer: inWords(project, wish),
    }));
    const group = { acts, words: words || together(acts) };
    acts.forEach((act) => noteFlag(act, false));
    given.push(group);
    void enter(acts);
    onGiven(group);
    return group;
  }

  /** @returns {Promise<string>} what was taken back, or why not */
  async function takeBack() {
    const group = given.pop() ?? (await lastOfServer());
    if (typeof group === "string") return note(group);
    if ("change" in group) return takeChangeBack(group);
    const undos = group.acts.slice().reverse().map((act) => ({
      uid: uid(), item: act.item, kind: /** @type {const} */ ("undo"), undoes: act.uid, name: act.name,
      answer: `undo of ${act.answer}`,
    }));
    group.acts.forEach((act) => noteFlag(act, true));
    void enter(undos);
    onUndone(group);
    return `Taken back: ${group.words}`;
  }

  /** @param {string} text */
  function note(text) {
    onNote(text);
    return text;
  }

  /** @param {Change} change */
  async function takeChangeBack(change) {
    try {
      await outbox.drained(); // labels of an added class that were taken back must be gone before the class can go
      const { classes } = await api.undoClassChange(change.change);
      onChangeUndone(change, classes);
      return `Taken back: ${change.words}`;
    } catch (error) {
      const refused = error instanceof ApiError && error.status === 409;
      if (!refused) given.push(change); // it may go later
      return note(`Not taken back: ${change.words} ${reason(error)}`);
    }
  }

  /** Ask the server, which remembers what was done before this page was opened. @returns {Promise<Group|string>} */
  async function lastOfServer() {
    try {
      await outbox.drained(); // or it would name what is being taken back just now
      if (outbox.waiting().length) throw new ApiError("Answers are waiting to be sent.");
      const last = await api.last();
      if (!last) return "There is nothing left to undo.";
      const { project } = store.get();
      const acts = (last.group ?? [last]).map((act) => ({
        ...act, name: act.name ?? `${project.kind} ${act.item}`, answer: inWords(project, act),
      }));
      return { acts, words: together(acts) };
    } catch (error) {
      const offline = !(error instanceof ApiError) || error.status === 0;
      return offline ? "Earlier answers can be undone when the server is back." : `Undo failed: ${reason(error)}`;
    }
  }

  /** @param {Given} act @param {boolean} back whether it is taken back */
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
    /** A change of the classes was made: undo takes it back next. @param {number} number @param {string} words */
    changed(number, words) {
      const change = { change: number, words };
      given.push(change);
      onChanged(change);
    },
    /** @returns {boolean} whether undo would take back a change of the classes, and no answer */
    lastIsChange: () => given.length > 0 && "change" in given[given.length - 1],
    /** @param {number} item @returns {boolean} whether it is flagged, as far as this page knows */
    isFlagged: (item) => flagged.has(item),
    /** Note a flag that the server told of. @param {number} item */
    knowFlag: (item) => void flagged.add(item),
    /** Take over what an earlier page left unsent, to be undone. @param {import("./keep.js").Entry[]} entries */
    adopt(entries) {
      const undone = new Set(entries.map(({ act }) => act.undoes));
      /** @type {Map<string, Given[]>} */
      const groups = new Map();
      for (const { act, about } of entries) {
        if (act.kind === "undo" || undone.has(act.uid)) continue;
        const own = act.uid.split(".")[0];
        groups.set(own, [...(groups.get(own) ?? []), { ...act, ...about }]);
      }
      given = [...groups.values()].map((acts) => ({ acts, words: together(acts) }));
    },
    /** Forget a refused act: there is nothing to take back. @param {string} refused */
    forget(refused) {
      given = given
        .map((one) => ("change" in one ? one : { ...one, acts: one.acts.filter((act) => act.uid !== refused) }))
        .filter((one) => "change" in one || one.acts.length);
    },
  };
}

/** Tell whose answers to what: two projects may share an address. @param {Project} project */
export function scopeOf(project) {
  return JSON.stringify([project.id ?? project.name, project.annotator]);
}

/** @param {Project} project @param {Pick<Act, "kind"|"class"|"note">} act @returns {string} */
export function inWords(project, act) {
  const name = () => className(project, act.class);
  /** @type {Record<Act["kind"], () => string>} */
  const words = {
    label: () => name(),
    settle: () => `settled: ${name()}`,
    veto: () => `not ${name()}`,
    skip: () => "skipped",
    unsure: () => "don’t know",
    flag: () => "flagged",
    unflag: () => "flag removed",
    note: () => (act.note ? `note: “${act.note}”` : "note removed"),
    undo: () => "taken back",
  };
  return words[act.kind]();
}

/** Say what acts are together. @param {Given[]} acts @returns {string} */
function together(acts) {
  return acts.length === 1 ? acts[0].answer : counted(acts.length, "answer");
}

/** Leave out what is empty. @param {Act} act @returns {Act} */
function tidy(act) {
  const given = Object.entries(act).filter(([, value]) => value !== undefined && value !== null);
  return /** @type {Act} */ (Object.fromEntries(given));
}
