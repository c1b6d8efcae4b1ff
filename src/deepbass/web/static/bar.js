/** The line above every view: what was done last, with undo; and whether everything is saved. */

import { button, el, named, put, say } from "./dom.js";
import { counted } from "./words.js";

const SLOW = 250; // milliseconds until "Saving…" is said: below that it would only flicker

/** @param {{pictures: any, onUndo: () => void}} options */
export function createBar({ pictures, onUndo }) {
  let item = /** @type {number|null} */ (null);
  let timer = 0;
  const echo = el("div", { class: "echo" });
  const saved = el("p", { class: "saved", role: "status", "data-state": "saving" }); // until the outbox knows
  const root = el("div", { class: "bar" }, echo, saved);

  const words = (state) => {
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
        item !== null && pictures.copy(item),
        named(group.words, "last"),
        el("span", { class: "note" }),
        button({ label: "Undo", class: "link", click: onUndo, "aria-label": `Undo: ${group.words}` }),
      );
    },
    /** Say that something was taken back. @param {import("./acts.js").Group} group */
    undone(group) {
      item = null;
      put(echo, el("span", {}, "Taken back: ", named(group.words)));
    },
    /** @param {string} text */
    note(text) {
      item = null;
      put(echo, el("span", { role: "status" }, text));
    },
    /** Add to what is said of an item, if it still is. @param {number} which @param {string} text */
    addNote(which, text) {
      const note = echo.querySelector(".note");
      if (item === which && note) say(note, text);
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
