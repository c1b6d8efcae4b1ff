/** The keyboard. Nothing happens inside inputs, with modifiers (but Ctrl+Z), or while a key is held down. */

// keys that mean something to the element which has the focus
const OWN = {
  space: "button, summary, input", enter: "button, summary, a[href]",
  arrowleft: "input", arrowright: "input", arrowup: "input", arrowdown: "input",
};

/**
 * @typedef {Object<string, (key: string) => void>} KeyMap by names of keys as keyName gives them; "digit": all ten
 */

/**
 * Say which key it is, on every layout: digits also without Shift on AZERTY, letters also on Cyrillic keyboards.
 * @param {KeyboardEvent} event
 * @returns {string} "1", "d", "shift+f", "space", "arrowleft", "?"; "" if it is none of ours
 */
export function keyName(event) {
  const command = event.ctrlKey || event.metaKey;
  const letter = letterOf(event);
  if (command || event.altKey) return command && !event.altKey && !event.shiftKey && letter === "z" ? "ctrl+z" : "";
  if (/^[0-9]$/.test(event.key)) return event.key;
  if (letter) return event.shiftKey ? `shift+${letter}` : letter;
  if (event.key === "?" || event.key === "/") return event.key;
  const digit = /^Digit([0-9])$/.exec(event.code);
  if (digit) return event.shiftKey ? "" : digit[1];
  const name = event.key === " " ? "space" : event.key.toLowerCase();
  return event.shiftKey && name.length > 1 ? `shift+${name}` : name;
}

function letterOf(event) {
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  const foreign = event.key.length === 1 && event.key.charCodeAt(0) > 127 && /^Key([A-Z])$/.exec(event.code);
  return foreign ? foreign[1].toLowerCase() : "";
}

/**
 * Listen to the keyboard of the whole page.
 * @param {() => KeyMap} base what holds while no dialog is open
 */
export function createKeys(base) {
  /** @type {{dialog: HTMLDialogElement, keys: KeyMap}[]} */
  const scopes = [];

  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.defaultPrevented || event.isComposing || isTyping(target)) return;
    const name = keyName(event);
    if (target.closest(OWN[name] ?? "[none]")) {
      if (event.repeat && name === "enter") event.preventDefault(); // held down, it would press again and again
      return;
    }
    // a dialog's event "close" comes a moment after it is closed: what counts is whether it is open
    const keys = scopes.filter(({ dialog }) => dialog.open).at(-1)?.keys ?? base();
    const handler = keys[name] ?? (/^[0-9]$/.test(name) ? keys.digit : undefined);
    if (!handler) return;
    event.preventDefault();
    if (!event.repeat || name.includes("arrow")) handler(name);
  });

  return {
    /** Let these keys alone hold while a dialog is open. @param {HTMLDialogElement} dialog @param {KeyMap} keys */
    hold(dialog, keys) {
      scopes.push({ dialog, keys });
    },
  };
}

function isTyping(target) {
  return target.closest("textarea, select, [contenteditable], input:not([type=radio])") !== null;
}

/**
 * Give classes their digit keys, in order of their ids: a class whose name is a digit gets that digit if it is free,
 * any other the next free one of 1 ... 9, 0. A class that is added later never changes the key of an earlier one.
 * @param {import("./store.js").ClassName[]} classes
 * @returns {Map<string, number>} class id by key
 */
export function digitKeys(classes) {
  const order = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];
  /** @type {Map<string, number>} */
  const keys = new Map();
  for (const { id, name } of [...classes].sort((a, b) => a.id - b.id)) {
    const own = order.includes(name) && !keys.has(name) ? name : undefined;
    const key = own ?? order.find((one) => !keys.has(one));
    if (key === undefined) break;
    keys.set(key, id);
  }
  return keys;
}
