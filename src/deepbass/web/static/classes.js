/** Class buttons with their keys, a filter when there are many, a field to add one, and the way to change them. */

import { button, el, named, put, say } from "./dom.js";
import { digitKeys } from "./keys.js";
import { reason } from "./words.js";

const MANY = 10; // more than there are digit keys
const LONG = 18; // letters: names that need wider buttons to be told apart

/**
 * @param {{store: import("./store.js").Store, label: string, onPick: (id: number) => void,
 *   change?: {add: (name: string) => Promise<import("./api.js").AddedClass>, edit: () => void}|null,
 *   onLeave?: () => void}} options change: absent where classes can only be picked; onLeave: the keys go back to the
 *   view
 */
export function createPicker({ store, label, onPick, change = null, onLeave = () => {} }) {
  /** @type {Map<number, HTMLElement>} */
  const buttons = new Map();
  /** @type {Map<string, number>} */
  let keys = new Map(); // class by digit
  let shown = "";
  let marked = /** @type {number|null} */ (null);

  const filter = el("input", {
    type: "search", class: "filter", placeholder: "Filter the classes", "aria-label": `${label}: filter by name`,
    autocomplete: "off", spellcheck: "false", "aria-keyshortcuts": "/", input: () => narrow(), keydown: onFilterKey,
  });
  const found = el("p", { class: "hidden-text", role: "status" });
  const list = el("div", { class: "classes", role: "group", "aria-label": label });
  const adder = change && createAdder({ add: change.add, keyOf, onLeave });
  const editor = change && button({
    label: "Edit classes", key: "E", shortcut: "E", class: "class opener", click: change.edit,
  });
  const root = el("div", { class: "picker" }, filter, found, list, adder && adder.form);

  store.watch(({ project }, change) => {
    const now = JSON.stringify(project.classes);
    if (!change.project || now === shown) return;
    shown = now;
    draw(project.classes);
  });

  /** @param {import("./api.js").ClassName[]} classes */
  function draw(classes) {
    keys = digitKeys(classes);
    buttons.clear();
    for (const { id, name } of classes) {
      const key = keyOf(id);
      buttons.set(id, button({
        label: named(name), key, shortcut: key, class: "class", title: name, "data-class": id, click: () => onPick(id),
      }));
    }
    const openers = adder && el("div", { class: "openers" }, adder.opener, classes.length > 0 && editor);
    put(list, ...buttons.values(), openers);
    root.classList.toggle("many", classes.length > MANY);
    root.classList.toggle("long", classes.filter(({ name }) => name.length > LONG).length > classes.length / 5);
    filter.hidden = classes.length <= MANY;
    if (adder) adder.done.hidden = !classes.length;
    if (adder && !classes.length) adder.open(false);
    narrow();
    mark(marked);
  }

  /** @param {number} id @returns {string} its digit, or "" */
  function keyOf(id) {
    return [...keys].find(([, one]) => one === id)?.[0] ?? "";
  }

  const visible = () => [...buttons].filter(([, node]) => !node.hidden);

  function narrow() {
    const wanted = filter.value.trim().toLowerCase();
    for (const node of buttons.values()) {
      const name = node.title.toLowerCase();
      node.hidden = wanted !== "" && !name.includes(wanted);
      node.classList.remove("first");
    }
    if (!wanted) {
      say(found, "");
      return;
    }
    // names that begin with what was typed come before names that contain it
    const best = bestMatch(wanted);
    best?.node.classList.add("first");
    say(found, best ? `Enter takes ${best.node.title}` : "No class has this in its name");
  }

  const bestMatch = (/** @type {string} */ wanted) => {
    const rows = visible().map(([id, node]) => ({ id, node, name: node.title.toLowerCase() }));
    return rows.find(({ name }) => name === wanted) ?? rows.find(({ name }) => name.startsWith(wanted)) ?? rows.at(0);
  };

  /** @param {KeyboardEvent} event */
  function onFilterKey(event) {
    if (event.isComposing) return;
    if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation(); // it leaves the field, not the dialog around it
      clear();
      filter.blur();
      onLeave();
    } else if (event.key === "Enter") {
      event.preventDefault();
      const wanted = filter.value.trim().toLowerCase();
      const best = wanted && !event.repeat ? bestMatch(wanted) : undefined;
      if (!best) return;
      clear();
      onPick(best.id); // the field keeps the focus: the next name can be typed at once
    } else if (event.key === "ArrowDown") {
      event.preventDefault();
      visible()[0]?.[1].focus();
    }
  }

  function clear() {
    filter.value = "";
    narrow();
  }

  /** Show which class is guessed or chosen. @param {number|null} id */
  function mark(id) {
    marked = id;
    for (const [one, node] of buttons) node.classList.toggle("marked", one === id);
  }

  return {
    root,
    mark,
    /** @param {string} key @returns {number|undefined} the class of a digit key */
    classOf: (key) => keys.get(key),
    /** @returns {false|void} false: there are so few classes that there is no filter */
    focusFilter: () => (filter.hidden ? false : filter.focus()),
  };
}

/**
 * @param {{add: (name: string) => Promise<import("./api.js").AddedClass>, keyOf: (id: number) => string,
 *   onLeave: () => void}} options
 */
function createAdder({ add: addClass, keyOf, onLeave }) {
  const input = el("input", {
    type: "text", "aria-label": "Name of the new class", placeholder: "Name of the new class", maxlength: 100,
    autocomplete: "off", spellcheck: "false",
    keydown: (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      close();
    },
  });
  const problem = el("p", { class: "problem", role: "alert" });
  const done = button({ label: "Done", class: "plain", click: () => close() });
  const form = el(
    "form", { class: "adder", hidden: true, submit: (event) => { event.preventDefault(); void add(); } },
    input,
    el("button", { type: "submit", class: "plain" }, "Add"),
    done,
    problem,
  );
  const opener = button({ label: "+ Add a class", class: "class opener", click: () => open(true) });

  async function add() {
    const name = input.value.trim();
    if (!name) return;
    say(problem, "");
    input.value = ""; // at once: the next name may be typed while this one is on its way
    try {
      const added = await addClass(name);
      const key = keyOf(added.id);
      if (added.existing) say(problem, `“${added.name}” is a class already${key && `: key ${key}`}.`);
    } catch (error) {
      say(problem, `Not added: ${reason(error)}`);
      input.value ||= name;
      open(false); // who had left the field is told, too
    }
    input.focus();
  }

  /** @param {boolean} focus */
  function open(focus) {
    form.hidden = false;
    opener.hidden = true;
    if (focus) input.focus();
  }

  function close() {
    form.hidden = true;
    opener.hidden = false;
    say(problem, "");
    input.blur();
    onLeave();
  }

  return { form, opener, open, done };
}
