/** The keyboard. Nothing happens inside inputs, with modifiers (but Ctrl+Z), or while a key is held down. */

/** Keys that mean something to the element which has the focus. @type {Record<string, string>} */
const OWN = {
  space: "button, summary, input", enter: "button, summary, a[href]",
  arrowleft: "input", arrowright: "input", arrowup: "input", arrowdown: "input",
};

/**
 * @typedef {{[name: string]: ((key: string) => void|false)|undefined}} KeyMap by names of keys as keyName gives them;
 *   "digit": all ten. false: the key does nothing just now
 * @typedef {ReturnType<typeof createKeys>} Keys
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

/** @param {KeyboardEvent} event */
function letterOf(event) {
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  const foreign = event.key.length === 1 && event.key.charCodeAt(0) > 127 && /^Key([A-Z])$/.exec(event.code);
  return foreign ? foreign[1].toLowerCase() : "";
}

/**
 * Listen to the keyboard of the whole page.
 * @param {() => KeyMap} base what holds while no dialog is open
 * @param {(key: string) => void} onUnused told of a key that does nothing, as it is written on keyboards
 */
export function createKeys(base, onUnused) {
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
    const open = scopes.filter(({ dialog }) => dialog.open);
    const keys = (open.find(({ dialog }) => dialog.contains(target)) ?? open.at(-1))?.keys ?? base();
    const handler = keys[name] ?? (/^[0-9]$/.test(name) ? keys.digit : undefined);
    if (handler) event.preventDefault();
    if (event.repeat && !name.includes("arrow")) return;
    if ((!handler || handler(name) === false) && isPlain(event)) onUnused(event.key.toUpperCase());
  });

  return {
    /** Let these keys alone hold while a dialog is open. @param {HTMLDialogElement} dialog @param {KeyMap} keys */
    hold(dialog, keys) {
      scopes.push({ dialog, keys });
    },
  };
}

/**
 * Whether nobody but this page could be meant: neither a modifier nor with one, nor a key that moves about or belongs
 * to the browser (in Firefox, / and ' search the page).
 * @param {KeyboardEvent} event
 */
function isPlain(event) {
  const modified = event.ctrlKey || event.metaKey || event.altKey || event.getModifierState("AltGraph");
  return !modified && (/^[^\s/']$/u.test(event.key) || event.key === "Enter");
}

/** @param {Element} target */
function isTyping(target) {
  return target.closest("textarea, select, [contenteditable], input:not([type=radio], [type=range])") !== null;
}

/**
 * Give classes their digit keys, in order of their ids: a class whose name is a digit gets that digit if it is free,
 * any other the next free one of 1 ... 9, 0. A class that is added later never changes the key of an earlier one. Nor
 * does one that goes: fingers know the keys of the others, so its key stays unused until there is no other left.
 * @param {import("./api.js").ClassName[]} classes
 * @returns {Map<string, number>} class id by key
 */
export function digitKeys(classes) {
  const order = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "0"];
  const names = new Map(classes.map(({ id, name }) => [id, name]));
  /** @type {Map<string, number>} */
  const keys = new Map();
  const free = (/** @type {string} */ key) => !names.has(keys.get(key) ?? -1);
  for (let id = 0; id <= Math.max(-1, ...names.keys()); id += 1) {
    const name = names.get(id); // none: the class is gone
    const unused = order.find((one) => !keys.has(one));
    const own = name !== undefined && order.includes(name) && free(name) ? name : undefined;
    const key = own ?? unused ?? (name === undefined ? undefined : order.find(free));
    if (key !== undefined) keys.set(key, id);
  }
  return new Map([...keys].filter(([, id]) => names.has(id)));
}
