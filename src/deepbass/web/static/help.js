/** All keys, on one sheet. */

import { button, el, soft } from "./dom.js";

const KEYS = [
  ["Label", [
    [["1", "…", "9", "0"], "Give the class with this key, and go on"],
    [["/"], "Find a class by name, when there are many"],
    [["Space"], "Skip: the image comes back later"],
    [["D"], "Don’t know: looked at, cannot tell"],
    [["G"], "Show or hide the model’s guess"],
    [["Enter"], "Accept the shown guess"],
    [["F"], "Flag, or remove the flag"],
    [["Z"], "Zoom in or out; also by double click"],
    [["Shift+F"], "Full screen"],
  ]],
  ["Everywhere", [
    [["U", "Backspace", "Ctrl+Z"], "Undo, as often as you like, also after a restart"],
    [["?"], "This sheet"],
    [["Esc"], "Close a dialog, leave a field"],
  ]],
  ["Guesses", [
    [["←", "→", "↑", "↓"], "Move; with Shift, choose on the way"],
    [["Space"], "Choose or let go"],
    [["A"], "Choose all"],
    [["C"], "Confirm what is chosen"],
    [["V"], "Veto: not this class"],
    [["1", "…", "0"], "Correct to the class with this key"],
    [["O"], "Look closer"],
  ]],
];

/** @param {{keys: any}} options */
export function createHelp({ keys }) {
  const dialog = el(
    "dialog", { class: "help", "aria-labelledby": "help-title" },
    el("header", {}, el("h2", { id: "help-title" }, "Keys"),
      button({ label: "Close", key: "Esc", class: "plain", click: () => dialog.close() })),
    el("div", { class: "sheets" }, KEYS.map(([title, rows]) => el("section", {}, el("h3", {}, title),
      el("dl", {}, rows.map(([caps, text]) => el("div", {},
        el("dt", {}, caps.map((cap) => (cap === "…" ? " … " : el("kbd", {}, cap)))), el("dd", {}, text))))))),
    soft("Keys do nothing while you type in a field. Every answer is kept in this browser until the server has written "
      + "it down; without a connection you can go on with the images in hand."),
  );
  keys.hold(dialog, { "?": () => dialog.close() });

  return {
    dialog,
    open() {
      if (!dialog.open) dialog.showModal();
    },
  };
}
