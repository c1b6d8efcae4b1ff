/** What the page knows, in one place: whoever shows it watches it. */

/**
 * @typedef {import("./api.js").Project} Project
 * @typedef {{project: Project, panel: import("./api.js").Panel|null, reach: import("./api.js").Reach}} State
 * @typedef {(state: State, change: Partial<State>) => void} Watcher
 * @typedef {ReturnType<typeof createStore>} Store
 */

/** Hold a state and tell watchers of every change. @param {State} state */
export function createStore(state) {
  /** @type {Set<Watcher>} */
  const watchers = new Set();
  return {
    get: () => state,
    /** @param {Partial<State>} change */
    set(change) {
      state = { ...state, ...change };
      for (const watcher of watchers) watcher(state, change);
    },
    /** Call now and after every change. @param {Watcher} watcher */
    watch(watcher) {
      watchers.add(watcher);
      watcher(state, state);
    },
  };
}

/** Whether there is a model: its first one has had no round beyond its first training. @param {State} state */
export function hasModel({ panel }) {
  return panel !== null && (panel.iteration > 0 || panel.known_to_model > 0);
}

/** @param {Project} project @param {number|null|undefined} id @returns {string} */
export function className(project, id) {
  const found = project.classes.find((one) => one.id === id);
  return found ? found.name : `class ${id}`;
}
