/** The view that asks: one item, one key, the next item. */

import { action, button, el, named, put, say } from "./dom.js";
import { createPicker } from "./classes.js";
import { className, hasModel } from "./store.js";
import { capital, counted, listed, percent } from "./words.js";

const OLD = 60_000; // milliseconds in the background after which questions in hand are asked for again
const RENEW = 240_000; // well within the ten minutes for which a question is ours
const AGAIN = 15_000; // between looks when there was nothing to ask

/**
 * @typedef {import("./api.js").Guess} Guess
 * @typedef {import("./api.js").Question} Question
 */

/** @param {import("./main.js").App} app */
export function createAskView(app) {
  const { store, feed, acts, api, announce } = app;
  let spent = 0; // milliseconds with this question before their eyes
  let since = /** @type {number|null} */ (null); // when the clock was set going; null: it stands
  let guess = /** @type {Guess|null} */ (null);
  let sawGuess = false;
  let active = false;

  const { kind } = store.get().project;
  const reading = kind !== "image"; // then Space reads on, and another key skips
  const stage = app.showing.stage({ onShown: startClock, onZoom: (on) => press(zoomButton, on) });
  const caption = el("p", { class: "caption" });
  const hint = el("div", { class: "suggestion" });
  const start = el("p", { class: "start", role: "note" });
  const nothing = el("div", { class: "nothing", hidden: true });
  const picker = createPicker({
    store, label: "Classes", onPick: label, onLeave: () => root.focus({ preventScroll: true }),
    change: { add: app.addClass, edit: () => app.classDialog.open() },
  });

  const zoomButton = action(reading ? "Larger" : "Zoom", "Z", "Z", toggleZoom, { "aria-pressed": "false" });
  const flagButton = action("Flag", "F", "F", flag, { "aria-pressed": "false" });
  const guessButton = action("Show guess", "G", "G", () => void showGuess(), { "aria-pressed": "false" });
  const fullButton = action("Full screen", "⇧F", "Shift+F", toggleFull, { "aria-pressed": "false" });
  fullButton.hidden = !document.fullscreenEnabled;
  const actions = el(
    "div", { class: "actions", role: "group", "aria-label": "Other answers and tools" },
    action("Skip", reading ? "S" : "Space", reading ? "S" : "Space", () => answer("skip")),
    action("Don’t know", "D", "D", () => answer("unsure")),
    action("Undo", "U", "U Backspace Control+Z", () => void acts.undo()),
    flagButton, action("Note", "N", "N", () => void note()), guessButton, zoomButton, fullButton,
  );
  const root = el(
    "section", { class: "view ask", "aria-labelledby": "ask-title", tabindex: "-1" },
    el("h2", { id: "ask-title", class: "hidden-text" }, "Label"),
    start,
    el("div", { class: "question" }, stage.root, el("div", { class: "below" }, caption, hint)),
    nothing, picker.root, actions,
  );

  /** @param {Element} node @param {boolean} on */
  function press(node, on) {
    node.setAttribute("aria-pressed", String(on));
  }

  /** Show the question that is current now. */
  function draw() {
    const question = feed.current();
    guess = null;
    sawGuess = false;
    put(hint);
    picker.mark(null);
    press(guessButton, false);
    root.classList.toggle("idle", !question);
    nothing.hidden = Boolean(question);
    stage.show(question ? question.item : null, question ? `${capital(kind)} to label: ${question.name}` : "");
    put(caption, question && named(question.name));
    drawFlag();
    if (question) {
      const done = (store.get().panel?.labels ?? 0) + app.unsentLabels();
      announce(`${capital(kind)} ${question.name}. ${counted(done, "label")} given.`);
    } else {
      explain();
    }
  }

  function drawFlag() {
    const question = feed.current();
    press(flagButton, question !== null && acts.isFlagged(question.item));
  }

  /** Say why there is nothing to ask, and what to do next. */
  function explain() {
    const { reach } = store.get();
    const why = feed.empty();
    const again = button({ label: "Look again", class: "plain", click: () => void feed.refill() });
    if (why) {
      put(
        nothing,
        el("h3", {}, "Nothing to ask just now"),
        el("p", {}, why),
        el("p", {}, "You can look through ", link("guesses", "the model’s guesses"), ", ",
          link("answers", "change earlier answers"), ", or ", link("export", "export the labels"), "."),
        again,
      );
    } else if (reach !== "ok") {
      put(
        nothing,
        el("h3", {}, `No more ${kind}s in hand`),
        el("p", {}, "The next ones come as soon as the server can be reached. Your answers are kept in this browser."),
        again,
      );
    } else {
      put(nothing, el("p", { class: "loading" }, `Loading the next ${kind}s…`));
    }
  }

  function startClock() {
    spent = 0;
    since = null;
    runClock();
  }

  /** Let the clock go while the question can be seen, and stand while not. */
  function runClock() {
    const now = performance.now();
    if (since !== null) spent += now - since;
    since = active && !document.hidden && stage.isSeen() ? now : null;
  }

  function secondsSpent() {
    runClock();
    return Math.round(spent) / 1000;
  }

  /** @param {number} id */
  function label(id) {
    answer("label", id);
  }

  /** @param {"label"|"skip"|"unsure"} kind @param {number} [id] */
  function answer(kind, id) {
    const question = feed.current();
    if (!question || !active || !stage.isSeen()) return; // what nobody has seen yet, nobody can answer
    const known = guess;
    acts.give([{ ...question, kind, class: id, seconds: secondsSpent(), saw_guess: sawGuess }]);
    feed.next();
    if (kind === "label") void compareWithGuess(question.item, id, known);
  }

  /**
   * Say after the answer what the model had thought, where that was something else.
   * @param {number} item @param {number|undefined} id @param {Guess|null} known
   */
  async function compareWithGuess(item, id, known) {
    if (!hasModel(store.get())) return;
    const its = known ?? (await askGuess(item));
    if (!its || its.class === id) return;
    app.bar.addNote(item, `the model’s guess: ${className(store.get().project, its.class)}`);
  }

  /** @param {number} item */
  async function askGuess(item) {
    try {
      return (await api.guess(item)).guess;
    } catch {
      return null;
    }
  }

  /** Show the guess, or hide it again. */
  async function showGuess() {
    const question = feed.current();
    if (!question) return;
    if (hint.hasChildNodes()) hideGuess();
    else await revealGuess(question);
  }

  function hideGuess() {
    put(hint); // not unseen: sawGuess stays
    picker.mark(null);
    guess = null;
    press(guessButton, false);
  }

  /** @param {Question} question */
  async function revealGuess(question) {
    const its = await askGuess(question.item);
    if (feed.current()?.item !== question.item) return;
    press(guessButton, true);
    if (!its) {
      const none = `The model has no guess for this ${kind} yet.`;
      put(hint, none);
      announce(none);
      return;
    }
    guess = its;
    sawGuess = true;
    picker.mark(its.class);
    const name = className(store.get().project, its.class);
    put(hint, el("span", {}, "Guess: ", named(name), ` (${percent(its.confidence)})`),
      button({ label: "Accept", key: "Enter", shortcut: "Enter", class: "plain", click: accept }));
    announce(`The model’s guess: ${name}, ${percent(its.confidence)}. Enter accepts it.`);
  }

  function accept() {
    if (guess) label(guess.class);
  }

  function flag() {
    const question = feed.current();
    if (!question) return;
    acts.give([{ ...question, kind: acts.isFlagged(question.item) ? "unflag" : "flag" }]);
    drawFlag();
  }

  /** @returns {void|false} */
  function note() {
    const question = feed.current();
    if (!question) return false;
    void app.note.open(question);
  }

  function toggleZoom() {
    stage.zoom(!stage.isZoomed());
  }

  /** The column with the banner, what was done last, and the question: in full screen all of it is needed. */
  const frame = () => root.closest(".main-column") ?? root;

  function toggleFull() {
    const change = document.fullscreenElement ? document.exitFullscreen() : frame().requestFullscreen();
    change.catch(() => announce("Full screen is not possible here."));
  }

  /** Say before training starts what it still needs. @param {import("./store.js").State} state */
  function drawStart({ project, panel }) {
    say(start, needed(project, panel));
    start.hidden = start.textContent === "";
  }

  document.addEventListener("fullscreenchange", () => press(fullButton, document.fullscreenElement !== null));
  document.addEventListener("visibilitychange", () => {
    runClock();
    if (!document.hidden && feed.age() > OLD) void feed.renew(true);
  });
  setInterval(() => {
    if (document.hidden) return;
    if (feed.age() > RENEW) void feed.renew(false);
    else if (!feed.current()) void feed.refill();
  }, AGAIN);
  store.watch((state, change) => {
    if (change.project || change.panel) drawStart(state);
    if (guess && !state.project.classes.some(({ id }) => id === guess?.class)) hideGuess(); // its class is gone
    if (change.reach && !feed.current()) explain();
  });

  return {
    root,
    draw,
    drawFlag,
    stage,
    title: "Label",
    show() {
      active = true;
      runClock();
    },
    hide() {
      active = false;
      runClock();
    },
    /** @type {import("./keys.js").KeyMap} */
    keys: {
      digit: (/** @type {string} */ key) => {
        const id = picker.classOf(key);
        return id === undefined ? false : label(id);
      },
      [reading ? "s" : "space"]: () => answer("skip"),
      ...stage.keys,
      d: () => answer("unsure"),
      g: () => void showGuess(),
      n: note,
      a: () => app.alike.openLast(),
      f: flag,
      "shift+f": toggleFull,
      z: toggleZoom,
      enter: () => (guess ? accept() : false),
      e: () => app.classDialog.open(),
      "/": () => picker.focusFilter(),
    },
  };
}

/**
 * Say what training waits for; "" if for nothing.
 * @param {import("./api.js").Project} project @param {import("./api.js").Panel|null} panel
 */
function needed(project, panel) {
  if (project.classes.length === 0) return "What are the classes? Add at least two to begin.";
  if (project.classes.length === 1) return "Add a second class to begin.";
  /** @type {Map<number, string[]>} */
  const missing = new Map(); // how many more -> of which classes
  for (const { class: id, have, need } of panel?.ready?.need ?? []) {
    if (need > have) missing.set(need - have, [...(missing.get(need - have) ?? []), className(project, id)]);
  }
  if (!missing.size) return "";
  const parts = [...missing].sort(([a], [b]) => b - a).map(([more, names]) => `${more} more of: ${listed(names, 6)}`);
  return `Training starts by itself when every class has a few labels. ${parts.join("; ")}.`;
}

/** @param {string} view @param {string} text */
function link(view, text) {
  return el("a", { href: `#${view}` }, text);
}
