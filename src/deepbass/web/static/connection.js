/** Whether the server can be reached, from what every request and the outbox have to say; and the banner that tells. */

import { button, el } from "./dom.js";

const KEPT = "Go on: answers are kept in this browser and sent when it is back.";

/**
 * @typedef {import("./api.js").Reach} Reach
 * @param {{store: import("./store.js").Store, notices: import("./notices.js").Notices, onRetry: () => void,
 *   onBack: () => void}} options onRetry: the person wants it now; onBack: the server answers again
 */
export function createConnection({ store, notices, onRetry, onBack }) {
  let reach = /** @type {Reach} */ ("ok"); // by the last request of any kind
  let said = "";
  let failed = /** @type {string|null} */ (null); // by the outbox: why answers do not get through

  function draw() {
    const now = reach !== "ok" ? reach : failed === null ? "ok" : "trouble";
    if (store.get().reach !== now) store.set({ reach: now });
    if (now === "ok") notices.hide("reach");
    else notices.show("reach", { kind: "bad", ...banner(now) });
  }

  /** @param {Reach} now */
  function banner(now) {
    const retry = button({ label: "Try now", class: "plain", click: onRetry });
    if (now === "loggedout") {
      const text = "You are logged out. Your answers are kept in this browser and sent when you are back.";
      return { text, actions: [el("a", { class: "plain", href: "/login" }, "Log in")] };
    }
    if (now === "refused") {
      return { text: `The server refuses this page: ${said} Answers are kept in this browser.`, actions: [retry] };
    }
    if (now === "trouble") return { text: `Answers do not get through: ${failed ?? said} ${KEPT}`, actions: [retry] };
    return { text: `Offline: the server cannot be reached. ${KEPT}`, actions: [retry] };
  }

  return {
    /** A request ended so. @param {Reach} how @param {string} message */
    heard(how, message) {
      if (how === "trouble") return; // of one request only: whoever made it says so
      const back = how === "ok" && reach !== "ok";
      reach = how;
      said = message;
      draw();
      if (back) onBack();
    },
    /** The outbox's last attempt ended so. @param {string|null} reason null: it went */
    outbox(reason) {
      failed = reason;
      draw();
    },
  };
}
