/** The line above every view: what was done last, with undo; and whether everything is saved. */

import { button, el, named, put, say } from "./dom.js";
import { counted } from "./words.js";

const SLOW = 250; // milliseconds until "Saving…" is said: below that it would only flicker

/** @typedef {ReturnType<typeof createBar>} Bar */

/**
 * @param {{showing: import("./showing.js").Showing, onUndo: () => void, onAlike: () => void, findsAlike: () => boolean}}
 *   options onAlike: others like what was labelled last are wanted; findsAlike: whether any can be found
 */
export function createBar({ showing, onUndo, onAlike, findsAlike }) {
  let item = /** @type {number|null} */ (null);
  let timer = 0;
  const echo = el("div", { class: "echo" });
  const saved = el("p", { class: "saved", role: "status", "data-state": "saving" }); // until the outbox knows
  const root = el("div", { class: "bar" }, echo, saved);

  const words = (/** @type {import("./outbox.js").OutboxState} */ state) => {
    if (state.unkept) return `Keep this page open: ${counted(state.unkept, "answer")} not stored`;
    if (state.failed) return `Offline: ${counted(state.waiting, "answer")} kept here`;
    return state.waiting ? "Saving…" : "Saved";
  };

  return {
    root,
    /** Show what was just done. @param {import("./acts.js").Group} group */
    echo(group) {
      const first = group.acts[0];
      item = group.acts.length === 1 ? first.item : null;
      put(
        echo,
        item !== null && showing.copy(item),
        el("span", { class: "texts" },
          el("bdi", { class: "name last", title: group.words }, group.words), el("span", { class: "note" })),
        button({ label: "Undo", class: "link", click: onUndo, "aria-label": `Undo: ${group.words}` }),
        item !== null && first.kind === "label" && findsAlike()
          && button({ label: "Others like this", class: "link alike-link", click: onAlike }),
      );
    },
    /** Show a change of the classes. @param {import("./acts.js").Change} change */
    changed({ words }) {
      item = null;
      const undo = button({ label: "Undo", class: "link", click: onUndo, "aria-label": `Undo: ${words}` });
      put(echo, el("span", { class: "change" }, words), undo);
    },
    /** Say that something was taken back. @param {{words: string}} what */
    undone({ words }) {
      item = null;
      put(echo, el("span", {}, "Taken back: ", named(words)));
    },
    /** @param {string} text */
    note(text) {
      item = null;
      put(echo, el("span", { role: "status" }, text));
    },
    /** Add to what is said of an item, if it still is. @param {number} which @param {string} text */
    addNote(which, text) {
      const note = echo.querySelector(".note");
      if (item !== which || !(note instanceof HTMLElement)) return;
      say(note, text);
      note.title = text; // where there is no room for all of it
    },
    /** @param {import("./outbox.js").OutboxState} state */
    saved(state) {
      const trouble = state.failed || state.unkept;
      saved.dataset.state = trouble ? "offline" : state.waiting ? "saving" : "saved";
      clearTimeout(timer);
      if (state.waiting && !trouble) timer = setTimeout(() => say(saved, words(state)), SLOW);
      else say(saved, words(state));
    },
  };
}
