/** What the page knows, in one place: whoever shows it watches it. */

/**
 * @typedef {{id: number, name: string}} ClassName
 * @typedef {{name: string, id?: string, items: number, classes: ClassName[], annotator: string, several: boolean,
 *   target: number|null, audit: number, twice: number, login: boolean}} Project
 * @typedef {{n: number, errors: number, estimate: number, low: number, high: number}} Audit
 * @typedef {{labels: number, by_class: number[], answers: number, skipped: number, unsure: number, flagged: number,
 *   pseudo: number, known_to_model: number, iteration: number, median_seconds: number|null, audit: Audit|null,
 *   target: number|null, good_enough: string|null, standstill: string|null,
 *   history: {labels: number, estimate: number, low: number, high: number}[],
 *   trainer: {doing: string, share: number|null, restarts: number, error: string|null, note?: string|null},
 *   people: {name: string, labels: number}[], disagreements: number,
 *   ready: {need: {class: number, have: number, need: number}[]}|null}} Panel
 * @typedef {{project: Project, panel: Panel|null, reach: import("./api.js").Reach}} State
 */

/**
 * Hold a state and tell watchers of every change.
 * @template {object} T
 * @param {T} state
 */
export function createStore(state) {
  /** @type {Set<(state: T, change: Partial<T>) => void>} */
  const watchers = new Set();
  return {
    get: () => state,
    /** @param {Partial<T>} change */
    set(change) {
      state = { ...state, ...change };
      for (const watcher of watchers) watcher(state, change);
    },
    /** Call now and after every change. @param {(state: T, change: Partial<T>) => void} watcher */
    watch(watcher) {
      watchers.add(watcher);
      watcher(state, state);
    },
  };
}

/** @param {Project} project @param {number|null|undefined} id @returns {string} */
export function className(project, id) {
  const found = project.classes.find((one) => one.id === id);
  return found ? found.name : `class ${id}`;
}
