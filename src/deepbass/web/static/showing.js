/** How items are shown, by their kind: pictures, or what texts and rows say. */

import { createContents } from "./contents.js";
import { createPictures, thumbnail } from "./pictures.js";
import { createReader } from "./reader.js";
import { createStage } from "./stage.js";
import { createTone } from "./tone.js";

/**
 * warm: load ahead; stage: make a frame for one; thumbnail: make a small one for lists, which loads once it is in sight;
 * copy: a small one of what is at hand; has: whether it is at hand, without a server; hold: make room for so many ahead.
 * @typedef {{warm: (item: number, side: number) => void, has: (item: number) => boolean, hold: (count: number) => void,
 *   copy: (item: number) => HTMLElement|null,
 *   stage: (on: {onShown?: () => void, onZoom?: (on: boolean) => void}) => import("./stage.js").Stage,
 *   thumbnail: (item: number, side: number, alt: string) => HTMLElement}} Showing
 */

/** @param {import("./words.js").Kind} kind @returns {Showing} */
export function createShowing(kind) {
  if (kind === "image") {
    const pictures = createPictures();
    const tone = createTone();
    return {
      warm: (item, side) => void pictures.get(item, side),
      stage: (on) => createStage({ pictures, tone, ...on }),
      copy: (item) => pictures.copy(item),
      has: (item) => pictures.any(item) !== null,
      hold: pictures.hold,
      thumbnail,
    };
  }
  const contents = createContents();
  return {
    warm: (item) => void contents.get(item),
    stage: (on) => createReader({ contents, kind, ...on }),
    copy: contents.copy,
    has: contents.has,
    hold: contents.hold,
    thumbnail: contents.excerpt,
  };
}
