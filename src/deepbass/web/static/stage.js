/** The frame that shows one large picture: fitted, zoomed, moved; and what to say when it does not come. */

import { button, el, put, say } from "./dom.js";
import { fit, sideFor } from "./pictures.js";

const ZOOM = 3; // of a key or a double click
const LARGEST = 12; // of the wheel
const WHEEL = 1.0015; // per pixel that a wheel turns

/**
 * side: pixels to ask for; isSeen: whether the person has the item, or the news that there is none, before their eyes;
 * keys: that move about in it.
 * @typedef {{root: HTMLElement, show: (item: number|null, text?: string) => void, side: () => number,
 *   zoom: (on: boolean) => void, isZoomed: () => boolean, isSeen: () => boolean,
 *   keys: import("./keys.js").KeyMap}} Stage
 */

/**
 * @param {{pictures: import("./pictures.js").Pictures, tone: import("./tone.js").Tone, onShown?: () => void, onZoom?: (on: boolean) => void}} options
 *   onShown: the picture can be seen, or it is clear that it cannot
 * @returns {Stage}
 */
export function createStage({ pictures, tone, onShown = () => {}, onZoom = () => {} }) {
  let item = /** @type {number|null} */ (null);
  let alt = "";
  let image = /** @type {HTMLImageElement|null} */ (null);
  let scale = 1; // above 1, it is zoomed
  let seen = false;
  let length = 500; // of the frame's longer side

  const place = el("div", { class: "place" });
  const note = el("div", { class: "stage-note" });
  const scroll = el("div", { class: "scroll", tabindex: "-1" }, place);
  const root = el("div", { class: "stage" }, scroll, note, tone.tools());

  /** @returns {number} pixels to ask for; while the frame is hidden, as many as before */
  function side() {
    length = Math.max(scroll.clientWidth, scroll.clientHeight) || length;
    return sideFor(length);
  }

  /** Show a picture, at once if it is loaded. @param {number|null} which @param {string} [text] to read instead */
  function show(which, text = "") {
    item = which;
    alt = text;
    seen = false;
    image = null;
    put(place);
    put(note);
    if (which === null) return;
    const picture = pictures.get(which, side());
    if (picture.state === "ready") {
      present(picture);
      return;
    }
    const slow = setTimeout(() => item === which && !seen && say(note, "Loading the image…"), 300);
    void picture.ready.then(() => {
      clearTimeout(slow);
      // without a server, one of another size will do: the window may have been turned since it was loaded
      if (item === which && !seen) present(picture.state === "failed" ? pictures.any(which) ?? picture : picture);
    });
  }

  /** @param {import("./pictures.js").Picture} picture */
  function present(picture) {
    seen = true;
    put(note);
    if (picture.state === "failed") {
      put(
        note,
        el("p", {}, "This image could not be loaded."),
        button({ label: "Try again", class: "plain", click: () => show(item, alt) }),
      );
    } else {
      image = picture.element;
      image.alt = alt;
      put(place, image);
      layout();
      if (scale > 1) sharpen();
    }
    onShown();
  }

  function layout() {
    if (!image) return;
    const [width, height] = [scroll.clientWidth, scroll.clientHeight];
    if (width && height) fit(image, width, height, scale);
  }

  /** Fetch more pixels where there may be more. */
  function sharpen() {
    if (!image || item === null || Math.max(image.naturalWidth, image.naturalHeight) < side()) return;
    const large = pictures.get(item, 2048);
    void large.ready.then(() => {
      if (item !== large.item || large.state !== "ready" || scale === 1) return;
      const { scrollLeft, scrollTop } = scroll;
      image = large.element;
      image.alt = alt;
      put(place, image);
      layout();
      scroll.scrollTo(scrollLeft, scrollTop);
    });
  }

  function centre() {
    scroll.scrollTo((scroll.scrollWidth - scroll.clientWidth) / 2, (scroll.scrollHeight - scroll.clientHeight) / 2);
  }

  /** @param {boolean} on */
  function zoom(on) {
    resize(on ? ZOOM : 1);
    if (on) centre();
  }

  /** @param {number} to */
  function resize(to) {
    const on = to > 1;
    scale = to;
    root.classList.toggle("zoomed", on);
    scroll.tabIndex = on ? 0 : -1; // so that arrow keys can move it
    layout();
    if (on) sharpen();
    onZoom(on);
  }

  /** Zoom by the wheel, so that what is under the pointer stays there. @param {WheelEvent} event */
  function turn(event) {
    const to = Math.min(LARGEST, Math.max(1, scale * WHEEL ** -event.deltaY));
    if (!image || to === scale) return; // the page may scroll
    event.preventDefault();
    const before = image.getBoundingClientRect();
    const [x, y] = [(event.clientX - before.left) / before.width, (event.clientY - before.top) / before.height];
    resize(to < 1.02 ? 1 : to);
    const after = image.getBoundingClientRect();
    scroll.scrollBy(after.left + x * after.width - event.clientX, after.top + y * after.height - event.clientY);
  }

  scroll.addEventListener("dblclick", () => zoom(scale === 1));
  scroll.addEventListener("wheel", turn, { passive: false });
  dragToMove(scroll, () => scale > 1);
  new ResizeObserver(layout).observe(scroll);

  return {
    root,
    show,
    side,
    zoom,
    isZoomed: () => scale > 1,
    isSeen: () => seen,
    keys: tone.keys,
  };
}

/** @param {HTMLElement} node @param {() => boolean} active */
function dragToMove(node, active) {
  node.addEventListener("pointerdown", (event) => {
    if (!active() || event.pointerType === "touch" || event.button !== 0) return;
    const start = [event.clientX + node.scrollLeft, event.clientY + node.scrollTop];
    node.setPointerCapture(event.pointerId);
    const move = (/** @type {PointerEvent} */ at) => node.scrollTo(start[0] - at.clientX, start[1] - at.clientY);
    node.addEventListener("pointermove", move);
    for (const end of ["pointerup", "pointercancel"]) {
      node.addEventListener(end, () => node.removeEventListener("pointermove", move), { once: true });
    }
  });
}
