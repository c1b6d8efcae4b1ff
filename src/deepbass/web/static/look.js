/** A dialog to look at one item closely and give it another answer. */

import { action, button, el, named, put } from "./dom.js";
import { createPicker } from "./classes.js";
import { capital } from "./words.js";

/**
 * @typedef {{item: number, name: string, text: import("./dom.js").Child, chosen: number|null}} Sight what is looked at,
 *   with a line about it
 * @typedef {{list: () => Sight[], pick: (item: number, id: number) => void, unsure: ((item: number) => void)|null,
 *   veto: ((item: number) => void)|null}} Looking
 * @typedef {ReturnType<typeof createLook>} Look
 */

/** @param {import("./main.js").Looking} app */
export function createLook({ store, api, acts, keys, showing, outbox, note }) {
  let looking = /** @type {Looking|null} */ (null);
  let sight = /** @type {Sight|null} */ (null);
  const { kind } = store.get().project;

  const onZoom = (/** @type {boolean} */ on) => zoomButton.setAttribute("aria-pressed", String(on));
  const stage = showing.stage({ onZoom });
  const title = el("h2", { id: "look-title" });
  const text = el("p", { class: "soft" });
  const noted = el("p", { class: "noted", hidden: true });
  const picker = createPicker({ store, label: "Classes", onPick: pick, onLeave: () => dialog.focus() });
  const vetoButton = action("Not this class", "V", "V", veto);
  const unsureButton = action("Don’t know", "D", "D", unsure);
  const zoomButton = action(kind === "image" ? "Zoom" : "Larger", "Z", "Z", () => stage.zoom(!stage.isZoomed()), { "aria-pressed": "false" });
  const flagButton = action("Flag", "F", "F", flag, { "aria-pressed": "false" });
  const dialog = el(
    "dialog", { class: "look", "aria-labelledby": "look-title", close: onClose, tabindex: "-1" },
    el("header", {}, title, button({ label: "Close", key: "Esc", class: "plain", click: () => dialog.close() })),
    text, noted, stage.root, picker.root,
    el("div", { class: "actions" },
      action("Previous", "←", "ArrowLeft", () => step(-1)), action("Next", "→", "ArrowRight", () => step(1)),
      vetoButton, unsureButton, flagButton, action("Note", "N", "N", write), zoomButton),
  );

  function draw() {
    if (!sight) return;
    put(title, named(sight.name));
    put(text, sight.text);
    picker.mark(sight.chosen);
    stage.show(sight.item, `${capital(kind)} ${sight.name}`);
    flagButton.setAttribute("aria-pressed", String(acts.isFlagged(sight.item)));
    vetoButton.hidden = !looking?.veto;
    unsureButton.hidden = !looking?.unsure;
    void drawNote();
  }

  /** Show what was noted about it, once that is known. */
  async function drawNote() {
    const about = sight;
    noted.hidden = true;
    if (!about) return;
    try {
      await outbox.drained();
      const read = await api.note(about.item);
      if (sight !== about) return;
      put(noted, "Note: ", named(read.note));
      noted.hidden = !read.note;
    } catch {
      // the banner says that the server cannot be reached
    }
  }

  function write() {
    if (sight) void note.open(sight, () => void drawNote());
  }

  const place = () => (looking?.list() ?? []).findIndex((one) => one.item === sight?.item);

  /** @param {number} by */
  function step(by) {
    const list = looking?.list() ?? [];
    const next = list[place() + by];
    if (!next) return;
    sight = next;
    draw();
  }

  /** Do it to the item in sight, and go on to the next; close after the last. @param {(item: number) => void} work */
  function settle(work) {
    if (!sight || !looking || !stage.isSeen()) return;
    const at = place();
    const { item } = sight;
    const after = looking.list()[at + 1];
    work(item);
    if (!after) {
      dialog.close();
      return;
    }
    sight = looking.list().find((one) => one.item === after.item) ?? after;
    draw();
  }

  /** @param {number} id */
  function pick(id) {
    settle((item) => looking?.pick(item, id));
  }

  function unsure() {
    if (looking?.unsure) settle(looking.unsure);
  }

  function veto() {
    if (looking?.veto) settle(looking.veto);
  }

  function flag() {
    if (!sight) return;
    const kind = acts.isFlagged(sight.item) ? "unflag" : "flag";
    acts.give([{ item: sight.item, name: sight.name, kind, why: "browse" }]);
    flagButton.setAttribute("aria-pressed", String(acts.isFlagged(sight.item)));
  }

  /** Go back to the list, which shows what is taken back. */
  function undo() {
    dialog.close();
    void acts.undo();
  }

  function onClose() {
    looking = null;
    sight = null;
    stage.show(null);
  }

  keys.hold(dialog, {
    ...stage.keys,
    digit: (/** @type {string} */ key) => {
      const id = picker.classOf(key);
      return id === undefined ? false : pick(id);
    },
    arrowleft: () => step(-1),
    arrowright: () => step(1),
    d: () => (looking?.unsure ? unsure() : false),
    v: () => (looking?.veto ? veto() : false),
    f: flag,
    n: write,
    z: () => stage.zoom(!stage.isZoomed()),
    "/": () => picker.focusFilter(),
    u: undo,
    backspace: undo,
    "ctrl+z": undo,
  });

  return {
    dialog,
    /** Open at an item. @param {number} item @param {Looking} how */
    open(item, how) {
      looking = how;
      sight = how.list().find((one) => one.item === item) ?? null;
      if (!sight) return;
      dialog.showModal();
      dialog.focus();
      draw();
    },
  };
}
