/** One of a few, as a row of buttons: radio buttons to the keyboard and to screen readers. */

import { el, say } from "./dom.js";

/** @typedef {[value: string, text: string]} Option */

/** @param {string} title @param {string} name @param {Option[]} options @param {(value: string) => void} onChoice */
export function createChoice(title, name, options, onChoice) {
  const parts = options.map(([value, text]) => ({
    value,
    input: el("input", { type: "radio", name, value, change: () => onChoice(value) }),
    text: el("span", {}, text),
  }));
  const root = el(
    "fieldset", { class: "choice" }, el("legend", {}, title),
    parts.map(({ input, text }) => el("label", {}, input, text)),
  );
  return {
    root,
    /** Show which one holds. @param {string} value */
    set(value) {
      for (const part of parts) part.input.checked = part.value === value;
    },
    /** Call one something else. @param {string} value @param {string} text */
    name(value, text) {
      for (const part of parts) if (part.value === value) say(part.text, text);
    },
  };
}
