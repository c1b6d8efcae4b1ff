/** Brightness, contrast and inversion of large pictures, for eyes that look for what is faint. Nothing else changes. */

import { button, el, letGo, say } from "./dom.js";

const STEP = 1.25; // of a key
const FURTHEST = 8;

/** @typedef {ReturnType<typeof createTone>} Tone */

/** One for all frames of the page: what is set holds for the pictures that follow. */
export function createTone() {
  let brightness = 1;
  let contrast = 1;
  let inverted = false;
  /** @type {HTMLElement[]} */
  const marks = [];

  const within = (/** @type {number} */ value) => Math.min(FURTHEST, Math.max(1 / FURTHEST, value));
  const isPlain = () => Math.abs(brightness - 1) < 0.01 && Math.abs(contrast - 1) < 0.01 && !inverted;

  function draw() {
    const filter = `invert(${inverted ? 1 : 0}) brightness(${brightness}) contrast(${contrast})`;
    document.documentElement.style.setProperty("--tone", isPlain() ? "none" : filter);
    for (const mark of marks) say(mark, isPlain() ? "" : "changed");
  }

  const brighten = (/** @type {number} */ by) => () => {
    brightness = within(brightness * by);
    draw();
  };
  const sharpen = (/** @type {number} */ by) => () => {
    contrast = within(contrast * by);
    draw();
  };
  const invert = () => {
    inverted = !inverted;
    draw();
  };
  const reset = () => {
    [brightness, contrast, inverted] = [1, 1, false];
    draw();
  };

  return {
    /** Make the small buttons for a frame. */
    tools() {
      const mark = el("span", { class: "changed" });
      marks.push(mark);
      const one = (/** @type {string} */ label, /** @type {string} */ title, /** @type {string} */ shortcut,
        /** @type {() => void} */ click) =>
        button({ label, title: `${title} (${shortcut})`, "aria-label": title, shortcut, class: "single", click });
      return el("details", { class: "tones" },
        el("summary", { click: letGo, title: "Brightness, contrast, inversion" }, "◐",
          el("span", { class: "hidden-text" }, "Brightness, contrast, inversion"), mark),
        el("div", { role: "group", "aria-label": "Brightness, contrast, inversion" },
          one("☀−", "Darker", "Shift+B", brighten(1 / STEP)), one("☀+", "Brighter", "B", brighten(STEP)),
          one("◐−", "Less contrast", "Shift+C", sharpen(1 / STEP)), one("◐+", "More contrast", "C", sharpen(STEP)),
          one("◩", "Invert", "I", invert), one("↺", "As it was", "R", reset)));
    },
    /** @type {import("./keys.js").KeyMap} */
    keys: {
      b: brighten(STEP), "shift+b": brighten(1 / STEP), c: sharpen(STEP), "shift+c": sharpen(1 / STEP), i: invert,
      r: reset,
    },
  };
}
