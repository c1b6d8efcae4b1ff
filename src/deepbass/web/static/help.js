/** What the page's words mean, and all keys, on one sheet. */

import { button, el, put, soft } from "./dom.js";
import { a, percent } from "./words.js";

/**
 * @typedef {import("./words.js").Kind} Kind
 * @param {Kind} kind @returns {{title: string, rows: [string[], string][]}[]}
 */
const keysOf = (kind) => [
  { title: "Label", rows: [
    [["1", "…", "9", "0"], "Give the class with this key, and go on"],
    [["/"], "Find a class by name, when there are many"],
    ...(kind === "image" ? [] : READING),
    [[kind === "image" ? "Space" : "S"], `Skip: the ${kind} comes back later`],
    [["D"], "Don’t know: looked at, cannot tell"],
    [["G"], "Show or hide the model’s guess"],
    [["Enter"], "Accept the shown guess"],
    [["F"], "Flag, or remove the flag"],
    [["N"], `Write a note on the ${kind}`],
    [["A"], "Others like the one labelled last, to label at once"],
    [["Z"], kind === "image" ? "Zoom in or out; also by double click" : "Larger type, or as before"],
    ...(kind === "image" ? LOOKING : []),
    [["Shift+F"], "Full screen"],
    [["E"], "Edit classes: rename, merge, remove"],
  ] },
  { title: "Everywhere", rows: [
    [["U", "Backspace", "Ctrl+Z"], "Undo, as often as you like; answers also after a restart"],
    [["?"], "This sheet"],
    [["Esc"], "Close a dialog, leave a field"],
  ] },
  { title: "Guesses", rows: [
    [["←", "→", "↑", "↓"], "Move; with Shift, choose on the way"],
    [["Space"], "Choose or let go"],
    [["A"], "Choose all"],
    [["C"], "Confirm what is chosen"],
    [["V"], "Not this class"],
    [["1", "…", "0"], "Correct to the class with this key"],
    [["O"], "Look closer"],
  ] },
];

/** @type {[string[], string][]} */
const LOOKING = [
  [["Wheel"], "Zoom in or out where the pointer is; drag to move"],
  [["B", "C"], "Brighter, more contrast; with Shift, less"],
  [["I"], "Invert"],
  [["R"], "Light and contrast as they were"],
];

/** @type {[string[], string][]} */
const READING = [[["Space", "PgDn"], "Read on; back with Shift+Space or PgUp"], [["↓", "↑"], "A line on or back"]];

/**
 * Explain the page's words.
 * @param {import("./api.js").Project} project @param {number|null} target @returns {[string, string][]}
 */
function words({ audit, kind }, target) {
  const share = audit > 0 ? `About ${percent(audit)} of the questions` : "Some of the questions";
  const aim = target === null ? "below a target; for this project none is set"
    : `below the target of this project, ${percent(target)}, and not by luck`;
  return [
    ["The model", "A program that learns from your labels what each class is like. It trains by itself while you go "
      + `on, and asks for the ${kind}s that help it most. You never wait for it.`],
    ["A guess", `What the model takes ${a(kind)} for, and how sure it says it is. How often it is right when it is that `
      + "sure is measured, not believed: see the export."],
    ["Test questions", `${share} are ${kind}s drawn by lot. Your answers to them test the model, which never learns from `
      + "them. They look like all others: answer them alike. (Commands and files call them the audit.)"],
    ["Estimated error", "The share of test questions that the newest model gets wrong, and the range in which its "
      + `error on new ${kind}s lies, with 95 % confidence.`],
    ["Useful", "Said when the model is surely wrong less often than always saying the commonest class would be."],
    ["Good enough", `Said when the test questions show that the error is ${aim}.`],
    ["Not this class", `Refuses a guess. The model does not learn from it, and you are asked about the ${kind} soon.`],
    ["Others like this", `The ${kind}s without a label that are nearest to one with a label, as the model’s features `
      + "have it. You see them first, leave out some, label the others at once, and undo takes all of them back. Not for "
      + "test questions."],
    ["Flag", `Marks ${a(kind)} to come back to. While the flag is on, the model does not learn from the ${kind}.`],
  ];
}

/** @param {{keys: import("./keys.js").Keys, store: import("./store.js").Store}} options */
export function createHelp({ keys, store }) {
  const { project } = store.get();
  const meanings = el("dl", { class: "meanings" });
  const dialog = el(
    "dialog", { class: "help", "aria-labelledby": "help-title" },
    el("header", {}, el("h2", { id: "help-title" }, "Help"),
      button({ label: "Close", key: "Esc", class: "plain", click: () => dialog.close() })),
    meanings,
    el("h2", {}, "Keys"),
    el("div", { class: "sheets" }, keysOf(project.kind).map(({ title, rows }) => el("section", {}, el("h3", {}, title),
      el("dl", {}, rows.map(([caps, text]) => el("div", {},
        el("dt", {}, caps.map((cap) => (cap === "…" ? " … " : el("kbd", {}, cap)))), el("dd", {}, text))))))),
    soft("Keys do nothing while you type in a field. Every answer is kept in this browser until the server has written "
      + `it down; without a connection you can go on with the ${project.kind}s in hand.`),
  );
  keys.hold(dialog, { "?": () => dialog.close() });

  return {
    dialog,
    open() {
      const { panel } = store.get();
      put(meanings, words(project, panel ? panel.target : project.target).map(([word, meaning]) =>
        el("div", {}, el("dt", {}, word), el("dd", {}, meaning))));
      if (!dialog.open) dialog.showModal();
    },
  };
}
