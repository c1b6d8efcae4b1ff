/** Many tiles chosen at once: by click, Shift-click, dragging a frame around them, or the keyboard. */

import { el } from "./dom.js";

const FAR = 6; // pixels a pointer moves before it is a drag and not a click

/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */

/**
 * @param {{grid: HTMLElement, tiles: () => HTMLElement[], onChange: () => void}} options tiles carry data-item and hold
 *   a button with the class "face"
 */
export function createSelection({ grid, tiles, onChange }) {
  /** @type {Set<number>} */
  const chosen = new Set();
  let anchor = /** @type {number|null} */ (null); // where a range begins
  let dragged = false;
  const band = el("div", { class: "band", hidden: true, "aria-hidden": "true" });
  grid.append(band);

  const idOf = (/** @type {HTMLElement} */ tile) => Number(tile.dataset.item);
  const face = (/** @type {HTMLElement} */ tile) => /** @type {HTMLElement} */ (tile.querySelector(".face"));

  function draw() {
    for (const tile of tiles()) {
      const on = chosen.has(idOf(tile));
      tile.classList.toggle("chosen", on);
      face(tile).setAttribute("aria-pressed", String(on));
    }
    onChange();
  }

  /** @param {number} from @param {number} to items, both included */
  function range(from, to) {
    const ids = tiles().map(idOf);
    const [a, b] = [ids.indexOf(from), ids.indexOf(to)].sort((one, other) => one - other);
    if (a >= 0) ids.slice(a, b + 1).forEach((id) => chosen.add(id));
  }

  /** A click on a tile's face. @param {number} item @param {{shiftKey: boolean}} event */
  function click(item, event) {
    if (dragged) return; // the click that ends a drag
    if (event.shiftKey && anchor !== null) range(anchor, item);
    else if (!chosen.delete(item)) chosen.add(item);
    anchor = item;
    draw();
  }

  /** Move the focus through the grid. @param {string} key @param {boolean} extend */
  function move(key, extend) {
    const all = tiles();
    if (!all.length) return;
    const at = all.findIndex((tile) => tile.contains(document.activeElement));
    const columns = Math.max(1, all.filter((tile) => tile.offsetTop === all[0].offsetTop).length);
    const steps = new Map([["arrowleft", -1], ["arrowright", 1], ["arrowup", -columns], ["arrowdown", columns]]);
    const by = steps.get(key) ?? 0;
    const next = at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by));
    if (extend && at >= 0) {
      anchor ??= idOf(all[at]);
      range(anchor, idOf(all[next]));
      draw();
    } else {
      anchor = idOf(all[next]);
    }
    rove(all[next]);
    face(all[next]).focus();
  }

  /** Leave one tile in the order of Tab. @param {HTMLElement|undefined} tile */
  function rove(tile) {
    for (const one of tiles()) face(one).tabIndex = one === tile ? 0 : -1;
  }

  grid.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch" || event.button !== 0) return; // a finger scrolls
    if (/** @type {Element} */ (event.target).closest("button:not(.face)")) return;
    const before = new Set(chosen);
    const start = toGrid(event);
    dragged = false;

    const follow = (/** @type {PointerEvent} */ moved) => {
      const [x, y] = toGrid(moved);
      if (!dragged && Math.hypot(x - start[0], y - start[1]) < FAR) return;
      dragged = true;
      const [left, right] = [Math.min(start[0], x), Math.max(start[0], x)];
      const [top, bottom] = [Math.min(start[1], y), Math.max(start[1], y)];
      const box = { left, top, right, bottom };
      frame(box);
      chosen.clear();
      before.forEach((id) => chosen.add(id));
      tiles().filter((tile) => touches(tile, box)).forEach((tile) => chosen.add(idOf(tile)));
      draw();
    };
    const end = () => {
      removeEventListener("pointermove", follow);
      band.hidden = true;
      setTimeout(() => void (dragged = false)); // after the click that may follow
    };
    addEventListener("pointermove", follow);
    for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, end, { once: true });
  });

  /** @param {PointerEvent} event */
  function toGrid(event) {
    const { left, top } = grid.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }

  /** @param {Box} box */
  function frame({ left, top, right, bottom }) {
    band.hidden = false;
    const size = { left, top, width: right - left, height: bottom - top };
    for (const [name, pixels] of Object.entries(size)) band.style.setProperty(name, `${pixels}px`);
  }

  const touches = (/** @type {HTMLElement} */ tile, /** @type {Box} */ box) =>
    tile.offsetLeft < box.right && tile.offsetLeft + tile.offsetWidth > box.left &&
    tile.offsetTop < box.bottom && tile.offsetTop + tile.offsetHeight > box.top;

  return {
    click,
    move,
    rove,
    band,
    /** @returns {number[]} in the order of the grid */
    chosen: () => tiles().map(idOf).filter((id) => chosen.has(id)),
    all() {
      tiles().forEach((tile) => chosen.add(idOf(tile)));
      draw();
    },
    clear() {
      chosen.clear();
      anchor = null;
      draw();
    },
  };
}
