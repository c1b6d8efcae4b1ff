/** Messages that stay until their cause is over, or until they are put away. */

import { button, el } from "./dom.js";

/** @typedef {ReturnType<typeof createNotices>} Notices */

/** Make the place of notices. */
export function createNotices() {
  /** @type {Map<string, HTMLElement>} */
  const shown = new Map();
  const root = el("div", { class: "notices", role: "region", "aria-label": "Notices", "aria-live": "polite" });

  return {
    root,
    /**
     * Show a notice, in the place of the one with the same key.
     * @param {string} key
     * @param {{kind?: "info"|"good"|"bad", text: import("./dom.js").Child, actions?: HTMLElement[],
     *   closes?: boolean}} notice closes: it can be put away
     */
    show(key, { kind = "info", text, actions = [], closes = false }) {
      const close = closes && button({ label: "Close", class: "link", click: () => this.hide(key) });
      const node = el("div", { class: `notice ${kind}`, "data-notice": key }, el("p", {}, text), ...actions, close);
      const old = shown.get(key);
      if (old?.textContent === node.textContent) return; // said already
      shown.set(key, node);
      if (old) old.replaceWith(node);
      else root.append(node);
    },
    /** @param {string} key */
    hide(key) {
      shown.get(key)?.remove();
      shown.delete(key);
    },
  };
}

/** Make a line that is said quietly, and goes by itself. */
export function createHint() {
  const line = el("p", { class: "hint", role: "status", hidden: true });
  let timer = 0;
  /** @param {string} text */
  return (text) => {
    const dialog = [...document.querySelectorAll("dialog[open]")].at(-1); // what is outside cannot be seen
    (dialog ?? document.fullscreenElement ?? document.body).append(line);
    line.hidden = false;
    line.textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => void (line.hidden = true), 3000);
  };
}

/** Make a region that screen readers speak, and a function to speak with. */
export function createAnnouncer() {
  const region = el("p", { class: "hidden-text", "aria-live": "polite", "data-announcer": true });
  let timer = 0;
  return {
    region,
    /** @param {string} text */
    announce(text) {
      clearTimeout(timer); // of ten images in two seconds, the last is worth speaking of
      timer = setTimeout(() => void (region.textContent = text), 150);
    },
  };
}
