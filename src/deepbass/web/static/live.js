/** News from the server: server-sent events, and asking every few seconds where those do not come through. */

const ASK = 4000; // milliseconds between questions while there is no stream
const MOST = 20_000;

/**
 * What the server tells of, and what it sends with it; null: it was no JSON.
 * @typedef {{panel: import("./api.js").Panel|null, trainer: Partial<import("./api.js").Trainer>|null, ranking: unknown,
 *   classes: import("./api.js").ClassName[]|null}} News
 * @typedef {{[K in keyof News]: (data: News[K]) => void}} Listeners
 */

/** @param {{api: import("./api.js").Api, on: Listeners, onOpen: () => void}} options */
export function startLive({ api, on, onOpen }) {
  let source = /** @type {EventSource|null} */ (null);
  let timer = 0;
  let pause = ASK;

  function open() {
    close();
    if (typeof EventSource === "function") {
      source = new EventSource("/api/live");
      for (const [kind, hear] of Object.entries(on)) {
        source.addEventListener(kind, (event) => hear(read(event.data)));
      }
      source.onopen = () => {
        clearTimeout(timer);
        pause = ASK;
        onOpen();
      };
      source.onerror = () => plan(500); // the browser reconnects by itself, except after an answer that is no stream
    } else {
      plan(0);
    }
  }

  /** @param {number} wait milliseconds */
  function plan(wait) {
    clearTimeout(timer);
    timer = setTimeout(look, wait);
  }

  async function look() {
    if (document.hidden || source?.readyState === 1) return;
    try {
      on.panel(await api.panel());
      pause = ASK;
    } catch {
      pause = Math.min(pause * 1.5, MOST);
    }
    if (source?.readyState === 1) return;
    if (source?.readyState === 2) open();
    plan(pause);
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
  }

  // a hidden page gives its connection back: browsers allow six to a server, which forgotten tabs would use up
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("online", open);
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
  open();
}

/** @param {string} text */
function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
