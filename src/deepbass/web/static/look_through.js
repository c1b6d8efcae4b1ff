/** Looking closer at what a list shows, one after the other, to change answers on the way. */

/**
 * @typedef {"label"|"unsure"} Change what an answer may become
 */

/**
 * Make what opens the dialog at an item of a list.
 * @param {import("./look.js").Look} look @param {() => import("./look.js").Sight[]} list
 * @param {(item: number, kind: Change, id: number|null) => void} change
 * @returns {(item: number) => void}
 */
export function createLookThrough(look, list, change) {
  return (item) => look.open(item, {
    list,
    pick: (which, id) => change(which, "label", id),
    unsure: (which) => change(which, "unsure", null),
    veto: null,
  });
}
