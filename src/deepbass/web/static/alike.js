/** Others like one that has a label: shown first, each to be left out, then labelled at once and undone at once. */

import { action, button, el, named, put, say, soft } from "./dom.js";
import { createSelection } from "./selection.js";
import { className, hasModel } from "./store.js";
import { counted, percent, reason } from "./words.js";

const COUNT = 24; // shown at a time
const ARROWS = ["arrowleft", "arrowright", "arrowup", "arrowdown"];

/**
 * @typedef {import("./api.js").AlikeRow} AlikeRow
 * @typedef {{item: number, name: string}} Reference
 * @typedef {ReturnType<typeof createAlike>} Alike
 */

/** @param {import("./main.js").Shared} app */
export function createAlike({ store, api, acts, outbox, keys, announce, hint, showing }) {
  const { kind: thing } = store.get().project;
  let last = /** @type {(Reference & {uid: string})|null} */ (null); // the last that got a label on this page
  let reference = /** @type {Reference|null} */ (null);
  let id = /** @type {number|null} */ (null); // the class
  let loading = 0; // rises with every load, so that an old one's answer is dropped
  /** @type {Map<number, AlikeRow>} */
  let shown = new Map();

  const intro = el("div", { class: "like" });
  const grid = el("ul", { class: "grid" });
  const empty = el("p", { class: "empty", role: "status" });
  const words = el("span");
  const give = button({ label: words, key: "L", shortcut: "L", class: "plain main", click: label });
  const tools = el(
    "div", { class: "tools" },
    el("div", { class: "actions" }, give, action("Choose all", "A", "A", () => selection.all()),
      action("Choose none", "N", "N", () => selection.clear())),
  );
  const dialog = el(
    "dialog", { class: "alike", "aria-labelledby": "alike-title", close: clear, tabindex: "-1" },
    el("header", {}, el("h2", { id: "alike-title" }, "Others like this"),
      button({ label: "Close", key: "Esc", class: "plain", click: () => dialog.close() })),
    intro, grid, empty, tools,
  );
  const tiles = () => /** @type {HTMLElement[]} */ ([...grid.querySelectorAll(".tile")]);
  const selection = createSelection({ grid, tiles, onChange: drawTools });

  function clear() {
    loading += 1;
    shown = new Map();
    put(grid, selection.band);
    selection.clear();
    put(intro);
    tools.hidden = true;
  }

  async function load() {
    if (!reference) return;
    clear();
    const mine = loading;
    say(empty, "Looking for others…");
    try {
      await outbox.drained(); // the server must know the label that they are to get
      const answer = await api.alike(reference.item, COUNT);
      if (mine === loading) take(answer);
    } catch (error) {
      if (mine === loading) say(empty, `Others could not be looked for: ${reason(error)}`);
    }
  }

  /** @param {import("./api.js").AlikeAnswer} answer */
  function take({ class: given, items, why_none: none }) {
    id = given;
    shown = new Map(items.map((one) => [one.item, one]));
    say(empty, none ?? "");
    if (id === null || !reference || !items.length) return;
    const name = className(store.get().project, id);
    put(intro, showing.thumbnail(reference.item, 96, ""),
      el("div", {}, el("p", {}, named(reference.name, "file"), ": ", named(name, "answer")),
        soft(`The ${thing}s without a label that are most like it, nearest first. Leave out what is not `,
          named(name), ".")));
    grid.append(...items.map(tile));
    tools.hidden = false;
    selection.all();
    selection.rove(tiles()[0]);
    /** @type {HTMLElement|null} */ (tiles()[0].querySelector(".face"))?.focus();
    announce(`${counted(items.length, thing)} like it, all chosen. Space leaves one out, L labels what is chosen.`);
  }

  /** @param {AlikeRow} row */
  function tile({ item, name, guess }) {
    const { project } = store.get();
    const its = guess ? `${className(project, guess.class)}, ${percent(guess.confidence)}` : "";
    const node = el(
      "li", { class: "tile", "data-item": item },
      el("button", {
        type: "button", class: "face", "aria-pressed": "false", tabindex: "-1", title: name,
        "aria-label": its ? `${name}; the model’s guess: ${its}` : name,
        click: (event) => { selection.rove(node); selection.click(item, event); },
      }, showing.thumbnail(item, 128, "")),
      guess && el("p", { class: guess.class === id ? "guessed" : "guessed other" }, "Guess: ", named(its)),
    );
    return node;
  }

  function drawTools() {
    const n = selection.chosen().length;
    give.disabled = n === 0;
    put(words, n ? [`Label ${n} as `, named(className(store.get().project, id))] : "Choose some to label");
  }

  function label() {
    const rows = selection.chosen().flatMap((item) => shown.get(item) ?? []);
    if (!rows.length || id === null) {
      hint(`Choose ${thing}s first.`);
      return;
    }
    const class_ = id;
    const name = className(store.get().project, class_);
    acts.give(rows.map((row) => ({
      item: row.item, name: row.name, kind: /** @type {const} */ ("label"), class: class_, why: "alike",
      saw_guess: row.guess !== null,
    })), `${rows.length} labelled ${name}`);
    announce(`${rows.length} labelled ${name}. U takes all of them back.`);
    dialog.close();
  }

  const move = (/** @type {boolean} */ extend) => (/** @type {string} */ key) =>
    selection.move(key.replace("shift+", ""), extend);
  keys.hold(dialog, {
    ...Object.fromEntries(ARROWS.flatMap((key) => [[key, move(false)], [`shift+${key}`, move(true)]])),
    l: label,
    a: () => selection.all(),
    n: () => selection.clear(),
  });

  return {
    dialog,
    /** @returns {boolean} whether there is a model that could find any */
    possible: () => hasModel(store.get()),
    /** Show what is like an item with a label. @param {Reference} to */
    open(to) {
      reference = to;
      if (!dialog.open) dialog.showModal();
      void load();
    },
    /** Show what is like the item that got a label last. @returns {void|false} */
    openLast() {
      if (!last || !hasModel(store.get())) return false;
      this.open(last);
    },
    /** Note what was done: others like it may be wanted next. @param {import("./acts.js").Group} group */
    given({ acts: [one, ...more] }) {
      if (one.kind === "label" && !more.length) last = { item: one.item, name: one.name, uid: one.uid };
    },
    /** Note what was taken back. @param {import("./acts.js").Group} group */
    undone({ acts: taken }) {
      if (taken.some(({ uid }) => uid === last?.uid)) last = null;
    },
  };
}
