/** Pictures, loaded and decoded ahead of time, and fitted into a frame. */

import { pictureAddress } from "./api.js";

const KEPT = 34; // pictures in memory beside those ahead: some behind for undo, and larger ones
const SMALL = 96; // pixels: up to here every pixel is shown as a square
const LARGEST = 24; // screen pixels per side of such a square: of larger ones the eye makes no picture
const MINI = 64; // pixels of a copy
const SIDES = [256, 512, 1024, 2048];

/**
 * @typedef {{item: number, side: number, element: HTMLImageElement, state: "loading"|"ready"|"failed",
 *   ready: Promise<void>}} Picture
 * @typedef {ReturnType<typeof createPictures>} Pictures
 */

/** Keep pictures at hand, the last used ones. */
export function createPictures() {
  /** @type {Map<string, Picture>} */
  const kept = new Map();
  let ahead = 6;

  return {
    /** Make room for so many that are loaded ahead. @param {number} count */
    hold(count) {
      ahead = count;
    },
    /** Find a picture that is at hand, of whatever size. @param {number} item @returns {Picture|null} */
    any: (item) => [...kept.values()].reverse().find((one) => one.item === item && one.state === "ready") ?? null,

    /** Load a picture, or give the one that is there. @param {number} item @param {number} side @returns {Picture} */
    get(item, side) {
      const key = `${item}/${side}`;
      let picture = kept.get(key);
      if (!picture || picture.state === "failed") picture = load(item, side);
      kept.delete(key); // the newest stand last
      kept.set(key, picture);
      for (const old of kept.keys()) {
        if (kept.size <= KEPT + ahead) break;
        kept.delete(old);
      }
      return picture;
    },

    /** Draw a small copy of a picture, if it is at hand. @param {number} item @returns {HTMLElement|null} */
    copy(item) {
      const picture = this.any(item);
      return picture ? miniature(picture.element) : null;
    },
  };
}

/** @param {HTMLImageElement} image */
function miniature(image) {
  const [wide, high] = [image.naturalWidth || MINI, image.naturalHeight || MINI];
  const scale = Math.min(MINI / wide, MINI / high);
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = MINI;
  canvas.className = "thumb";
  canvas.setAttribute("aria-hidden", "true");
  const pen = canvas.getContext("2d");
  if (!pen) return canvas;
  pen.imageSmoothingEnabled = Math.max(wide, high) > SMALL;
  pen.drawImage(image, (MINI - wide * scale) / 2, (MINI - high * scale) / 2, wide * scale, high * scale);
  return canvas;
}

/** @param {number} item @param {number} side @returns {Picture} */
function load(item, side) {
  const element = new Image();
  element.draggable = false;
  element.src = pictureAddress(item, side);
  /** @type {Picture} */
  const picture = { item, side, element, state: "loading", ready: Promise.resolve() };
  picture.ready = element.decode().then(
    () => void (picture.state = "ready"),
    () => void (picture.state = "failed"),
  );
  return picture;
}

/** Tell which side to ask for, so that a screen's every pixel has one. @param {number} length in CSS pixels */
export function sideFor(length) {
  const pixels = length * (globalThis.devicePixelRatio || 1);
  return SIDES.find((side) => side >= pixels) ?? SIDES[SIDES.length - 1];
}

/**
 * Give a picture the largest size that fits. Small ones grow by whole factors, every pixel a square.
 * @param {HTMLImageElement} image @param {number} width @param {number} height of the frame @param {number} [zoom]
 */
export function fit(image, width, height, zoom = 1) {
  const [wide, high] = [image.naturalWidth || width, image.naturalHeight || height];
  const small = Math.max(wide, high) <= SMALL;
  const scale = Math.min(width / wide, height / high);
  const whole = small && scale >= 1 ? Math.min(Math.floor(scale), LARGEST) : scale;
  image.classList.toggle("pixels", small);
  image.style.width = `${Math.max(1, Math.floor(wide * whole * zoom))}px`;
  image.style.height = `${Math.max(1, Math.floor(high * whole * zoom))}px`;
}

/** Make a thumbnail that loads once it is in sight. @param {number} item @param {number} side @param {string} alt */
export function thumbnail(item, side, alt) {
  const image = new Image();
  image.loading = "lazy";
  image.decoding = "async";
  image.draggable = false;
  image.alt = alt;
  image.className = "thumb";
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth <= SMALL));
  image.addEventListener("error", () => image.classList.add("broken"));
  image.src = pictureAddress(item, sideFor(side));
  return image;
}
