/** A short note on an item: written, changed, removed. */

import { button, el, named, put, say } from "./dom.js";

const LONGEST = 500; // characters

/** @typedef {ReturnType<typeof createNote>} Note */

/** @param {import("./main.js").Shared} app */
export function createNote({ api, acts, outbox, keys, announce }) {
  let about = /** @type {{item: number, name: string}|null} */ (null);
  let before = "";
  let onSaved = () => {};

  const title = el("h2", { id: "note-title" });
  const problem = el("p", { class: "problem", role: "status" });
  const field = el("input", {
    type: "text", maxlength: LONGEST, autocomplete: "off", "aria-labelledby": "note-title", dir: "auto",
    placeholder: "What is to be known about it?",
  });
  const form = el(
    "form", { class: "note-form", submit: (event) => { event.preventDefault(); save(); } }, field,
    el("div", { class: "actions" },
      el("button", { type: "submit", class: "plain main" }, "Save"),
      button({ label: "Cancel", key: "Esc", class: "plain", click: () => dialog.close() })),
  );
  const dialog = el("dialog", { class: "note-dialog", "aria-labelledby": "note-title" }, title, problem, form);
  keys.hold(dialog, {});

  function save() {
    if (!about) return;
    const note = field.value.normalize("NFC").replace(/\s+/g, " ").trim();
    const { item, name } = about;
    dialog.close();
    if (note === before) return;
    acts.give([{ item, name, kind: "note", note, why: "browse" }]);
    announce(note ? "Note saved." : "Note removed.");
    onSaved();
  }

  return {
    dialog,
    /** @param {{item: number, name: string}} what @param {() => void} [then] called after a change */
    async open(what, then = () => {}) {
      about = what;
      onSaved = then;
      before = "";
      field.value = "";
      put(title, "Note on ", named(what.name));
      say(problem, "");
      if (!dialog.open) dialog.showModal();
      field.focus();
      try {
        await outbox.drained();
        const { note } = await api.note(what.item);
        if (about !== what || !dialog.open) return;
        before = note;
        if (!field.value) field.value = note;
      } catch {
        say(problem, "What was noted before could not be loaded; what you write takes its place.");
      }
    },
  };
}
