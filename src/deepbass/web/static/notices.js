/** Messages that stay until their cause is over, or until they are put away. */

import { button, el } from "./dom.js";

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
     * @param {{kind?: "info"|"good"|"bad", text: any, actions?: HTMLElement[], dismiss?: (() => void)|null}} notice
     */
    show(key, { kind = "info", text, actions = [], dismiss = null }) {
      const close = dismiss && button({ label: "Close", class: "link", click: () => { this.hide(key); dismiss(); } });
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
