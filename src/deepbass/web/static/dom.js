/** Elements made in code. Text is always a text node: no name, label or reason can ever become markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an HTML element.
 * @param {string} tag
 * @param {Object<string, any>} [attributes] functions are listeners ("click"), true and false set and leave out
 * @param {...(Node|string|number|null|undefined|false|any[])} children
 * @returns {any}
 */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element. @param {string} tag @param {Object<string, any>} [attributes] @param {...any} children */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Put new children in the place of the old ones. @param {Element} node @param {...any} children */
export function put(node, ...children) {
  node.replaceChildren(...nodes(children));
}

/** Change a text where it differs, or live regions would be spoken again. @param {Element} node @param {string} text */
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Make a key cap. Screen readers get aria-keyshortcuts of the button instead. @param {string} key */
export function cap(key) {
  return el("kbd", { "aria-hidden": "true" }, key);
}

/** Make a name: it keeps its own direction and may break anywhere. @param {string} name @param {string} [kind] */
export function named(name, kind = "") {
  return el("bdi", { class: `name ${kind}`.trim() }, name);
}

/**
 * Make a button. A click by a pointer leaves no focus behind: the next Space is a shortcut and not a second click.
 * @param {{label: any, key?: string, shortcut?: string, click: (event: MouseEvent) => void, [more: string]: any}} what
 */
export function button({ label, key = "", shortcut = "", click, ...attributes }) {
  return el(
    "button",
    {
      type: "button",
      "aria-keyshortcuts": shortcut || false,
      ...attributes,
      click: (/** @type {MouseEvent} */ event) => {
        letGo(event);
        click(event);
      },
    },
    el("span", { class: "words" }, label),
    key && cap(key),
  );
}

/** Give up the focus after a click by a pointer, not after one by the keyboard. @param {MouseEvent} event */
export function letGo(event) {
  if (event.detail > 0) /** @type {HTMLElement} */ (event.currentTarget).blur();
}

/** Make a paragraph in the background. @param {...any} children */
export function soft(...children) {
  return el("p", { class: "soft" }, ...children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...nodes(children));
  return node;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false && child !== "")
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}
