/** Elements made in code. Text is always a text node: no name, label or reason can ever become markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @typedef {Node|string|number|boolean|null|undefined} Leaf
 * @typedef {Leaf|(Leaf|Leaf[])[]} Child what may stand inside an element; what is empty is left out
 */

/**
 * @typedef {string|number|boolean|null|undefined} Value true sets an attribute, false and nothing leave it out
 * @typedef {"autocomplete"|"class"|"datetime"|"dir"|"download"|"hidden"|"href"|"id"|"max"|"maxlength"|"min"|"name"
 *   |"placeholder"|"role"|"scope"|"spellcheck"|"step"|"tabindex"|"title"|"type"|"value"|`aria-${string}`
 *   |`data-${string}`} AttributeName
 * @typedef {{[K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void}} Listeners
 * @typedef {{[K in AttributeName]?: Value} & Listeners} Attributes
 */

/**
 * Make an HTML element.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Attributes} [attributes] functions are listeners ("click")
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * Make an SVG element.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string|number>} [attributes]
 * @param {...Child} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** Put new children in the place of the old ones. @param {Element} node @param {...Child} children */
export function put(node, ...children) {
  node.replaceChildren(...children.flatMap(nodes));
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
 * @param {{label: Child, key?: string, shortcut?: string, click: (event: MouseEvent) => void} & Attributes} what
 */
export function button({ label, key = "", shortcut = "", click, ...attributes }) {
  return el(
    "button",
    {
      type: "button",
      "aria-keyshortcuts": shortcut || false,
      ...attributes,
      click: (event) => {
        letGo(event);
        click(event);
      },
    },
    el("span", { class: "words" }, label),
    key && cap(key),
  );
}

/**
 * Make a button of the kind that stands in rows below a picture.
 * @param {string} label @param {string} key as on its cap @param {string} shortcut as screen readers want it
 * @param {() => void} click @param {Attributes} [more]
 */
export function action(label, key, shortcut, click, more = {}) {
  return button({ ...more, label, key, shortcut, click, class: "action" });
}

/** Give up the focus after a click by a pointer, not after one by the keyboard. @param {MouseEvent} event */
export function letGo(event) {
  if (event.detail > 0) /** @type {HTMLElement} */ (event.currentTarget).blur();
}

/** Make a paragraph in the background. @param {...Child} children */
export function soft(...children) {
  return el("p", { class: "soft" }, ...children);
}

/**
 * @template {Element} Made
 * @param {Made} node
 * @param {{[name: string]: Value|((event: never) => void)}} attributes
 * @param {Child[]} children
 * @returns {Made}
 */
function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, /** @type {EventListener} */ (value));
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.flatMap(nodes));
  return node;
}

/** @param {Child} child @returns {Node[]} */
function nodes(child) {
  if (Array.isArray(child)) return child.flatMap(nodes);
  if (child instanceof Node) return [child];
  const empty = child === null || child === undefined || child === "" || typeof child === "boolean";
  return empty ? [] : [document.createTextNode(String(child))];
}
