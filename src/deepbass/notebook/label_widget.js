/** The labelling widget of a notebook: a question at a time, a button and a key per class. Texts are never markup. */

import { digitKeys, keyName } from "../web/static/keys.js";

/**
 * @typedef {{row?: number, picture?: string, text?: string}} WidgetQuestion none: there is nothing to ask
 * @typedef {{get(name: string): any, send(message: object): void,
 *   on(name: string, heard: () => void): void, off(name: string, heard: () => void): void}} Model anywidget's
 */

const PIXEL_ART = 128; // pixels up to which every single one is to be seen

/**
 * Make an element with children, which are nodes or texts.
 * @param {string} kind @param {Record<string, string>} attributes @param {(Node|string)[]} children
 * @returns {HTMLElement}
 */
function make(kind, attributes = {}, ...children) {
  const made = document.createElement(kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** @param {{model: Model, el: HTMLElement}} given */
function render({ model, el }) {
  const stage = make("div", { class: "stage" });
  const classes = make("div", { class: "classes", role: "group", "aria-label": "Classes" });
  const field = /** @type {HTMLInputElement} */ (make("input", { type: "text", "aria-label": "New class" }));
  field.placeholder = "another class";
  const fresh = make("form", { class: "fresh" }, field, make("button", { type: "submit" }, "Label with it"));
  const skip = button("Skip", "Space", () => send({ kind: "skip" }));
  const undo = button("Undo", "U", () => send({ kind: "undo" }));
  const progress = make("span", { class: "progress" });
  const note = make("p", { class: "note", role: "status" });
  const root = make(
    // JupyterLab's own shortcuts must not hear of the keys: twice 0 would restart the kernel
    "div", { class: "deepbass-label", tabindex: "0", role: "group", "aria-label": "Label", "data-lm-suppress-shortcuts": "true" },
    stage, classes, fresh, make("div", { class: "actions" }, skip, undo, progress), note,
  );
  /** Class by key. @type {Map<string, number>} */
  let keys = new Map();
  let waiting = false; // for the kernel to hear of an answer, so that none is given to a question that is gone

  /** @param {string} words @param {string} key @param {() => void} act */
  function button(words, key, act) {
    const made = make("button", { type: "button", title: words }, ...(key ? [make("kbd", {}, key)] : []), words);
    made.addEventListener("click", () => {
      act();
      root.focus({ preventScroll: true }); // else Space would press it once more
    });
    return made;
  }

  /** @param {Record<string, unknown>} message */
  function send(message) {
    const { row } = /** @type {WidgetQuestion} */ (model.get("question"));
    if (waiting || (row === undefined && message.kind !== "undo")) return;
    wait(true);
    model.send({ ...message, row });
  }

  /** @param {boolean} so */
  function wait(so) {
    waiting = so;
    root.setAttribute("aria-busy", String(so));
  }

  function draw() {
    const question = /** @type {WidgetQuestion} */ (model.get("question"));
    const names = /** @type {string[]} */ (model.get("classes")).map((name, id) => ({ id, name }));
    keys = digitKeys(names);
    const keyOf = new Map([...keys].map(([key, id]) => [id, key]));
    const asked = question.row !== undefined;
    stage.replaceChildren(...(asked ? [face(question), make("small", {}, `row ${question.row}`)] : []));
    classes.replaceChildren(
      ...names.map(({ id, name }) => button(name, keyOf.get(id) ?? "", () => send({ kind: "label", class: id }))),
    );
    fresh.hidden = !model.get("may_add");
    for (const part of [...classes.children, ...fresh.children, skip]) part.toggleAttribute("disabled", !asked);
    undo.toggleAttribute("disabled", !model.get("may_undo"));
    progress.textContent = model.get("progress");
    note.textContent = model.get("note");
    wait(Boolean(model.get("busy")));
  }

  fresh.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = field.value.trim();
    if (!name) return;
    field.value = "";
    send({ kind: "new", name });
    root.focus({ preventScroll: true });
  });

  root.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const target = /** @type {Element} */ (event.target);
    const name = keyName(event);
    if (target === field) {
      if (name === "escape") root.focus({ preventScroll: true });
      return;
    }
    if (["space", "enter"].includes(name) && target.closest("button")) return; // it presses the button
    const class_ = keys.get(name);
    const message = { space: { kind: "skip" }, u: { kind: "undo" }, backspace: { kind: "undo" }, "ctrl+z": { kind: "undo" } }[name];
    if (class_ === undefined && !message) return;
    event.preventDefault();
    if (!event.repeat) send(message ?? { kind: "label", class: class_ });
  });

  model.on("change:turn", draw);
  draw();
  el.append(root);
  return () => model.off("change:turn", draw);
}

/** @param {WidgetQuestion} question */
function face({ row, picture, text }) {
  if (!picture) return make("pre", { tabindex: "0" }, text ?? "");
  const image = /** @type {HTMLImageElement} */ (make("img", { alt: `row ${row}` }));
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth <= PIXEL_ART));
  image.src = picture;
  return image;
}

export default { render };
