/** News from the server: server-sent events, and asking every few seconds where those do not come through. */

const ASK = 4000; // milliseconds between questions while there is no stream
const MOST = 20_000;

/**
 * @typedef {"panel"|"trainer"|"ranking"|"classes"} News
 * @param {{api: any, onNews: (kind: News, data: any) => void, onOpen: () => void}} options
 */
export function startLive({ api, onNews, onOpen }) {
  let source = /** @type {EventSource|null} */ (null);
  let timer = 0;
  let pause = ASK;

  function open() {
    close();
    if (typeof EventSource === "function") {
      source = new EventSource("/api/live");
      for (const kind of /** @type {News[]} */ (["panel", "trainer", "ranking", "classes"])) {
        source.addEventListener(kind, (event) => onNews(kind, read(event.data)));
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

  function plan(wait) {
    clearTimeout(timer);
    timer = setTimeout(look, wait);
  }

  async function look() {
    if (document.hidden || source?.readyState === 1) return;
    try {
      onNews("panel", await api.panel());
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

function read(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
