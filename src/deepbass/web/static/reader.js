/** The frame that shows one text or row, to be read: it scrolls inside, by keys too, and its words can be selected. */

import { button, el, put, say } from "./dom.js";
import { drawContent } from "./contents.js";

const LINE = 48; // pixels that an arrow key moves
const PAGE = 0.85; // of the frame that a page key moves: the last lines stay in sight

/**
 * @param {{contents: import("./contents.js").Contents, kind: string, onShown?: () => void,
 *   onZoom?: (on: boolean) => void}} options onShown: it can be read, or it is clear that it cannot
 * @returns {import("./stage.js").Stage}
 */
export function createReader({ contents, kind, onShown = () => {}, onZoom = () => {} }) {
  let item = /** @type {number|null} */ (null);
  let alt = "";
  let zoomed = false;
  let seen = false;

  const place = el("div", { class: "page" });
  const note = el("div", { class: "stage-note" });
  const scroll = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": kind, scroll: mark }, place);
  const root = el("div", { class: "stage reader" }, scroll, note);

  /** Show an item, at once if it is loaded. @param {number|null} which @param {string} [text] its name */
  function show(which, text = "") {
    item = which;
    alt = text;
    seen = false;
    put(place);
    put(note);
    scroll.setAttribute("aria-label", text || kind);
    if (which === null) return;
    const loaded = contents.get(which);
    if (loaded.state !== "loading") {
      present(loaded);
      return;
    }
    const slow = setTimeout(() => item === which && !seen && say(note, `Loading the ${kind}…`), 300);
    void loaded.ready.then(() => {
      clearTimeout(slow);
      if (item === which && !seen) present(loaded);
    });
  }

  /** @param {import("./contents.js").Loaded} loaded */
  function present({ content }) {
    seen = true;
    put(note);
    if (content) {
      put(place, drawContent(content));
    } else {
      put(note, el("p", {}, `This ${kind} could not be loaded.`),
        button({ label: "Try again", class: "plain", click: () => show(item, alt) }));
    }
    scroll.scrollTo(0, 0);
    mark();
    onShown();
  }

  /** Let it be seen that there is more below. */
  function mark() {
    root.classList.toggle("more-below", scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight > 8);
  }

  /** @param {number} top pixels */
  const by = (top) => () => scroll.scrollBy(0, top);
  /** @param {number} pages */
  const turn = (pages) => () => scroll.scrollBy(0, pages * PAGE * scroll.clientHeight);

  /** @param {boolean} on in larger type */
  function zoom(on) {
    zoomed = on;
    root.classList.toggle("larger", on);
    mark();
    onZoom(on);
  }

  new ResizeObserver(mark).observe(scroll);

  return {
    root,
    show,
    side: () => 0,
    zoom,
    isZoomed: () => zoomed,
    isSeen: () => seen,
    keys: {
      space: turn(1), "shift+space": turn(-1), pagedown: turn(1), pageup: turn(-1),
      arrowdown: by(LINE), arrowup: by(-LINE),
      home: () => scroll.scrollTo(0, 0), end: () => scroll.scrollTo(0, scroll.scrollHeight),
    },
  };
}
