/** What the test questions show of the model, class by class, and its mistakes: to look at, and to correct. */

import { button, el, named, put, say, soft } from "./dom.js";
import { createLookThrough } from "./look_through.js";
import { className } from "./store.js";
import { capital, counted, number, percent, reason } from "./words.js";

const MATRIX = 30; // classes up to which all pairs are shown; of more, those that are confused
const PAIRS = 20;

/**
 * @typedef {import("./api.js").AuditResults} Results
 * @typedef {import("./api.js").Mistake} Mistake
 */

/** @param {import("./main.js").App} app @returns {import("./router.js").View} */
export function createModelView({ store, api, acts, outbox, look, showing }) {
  /** @type {Map<number, Mistake>} */
  let mistakes = new Map();
  let loading = 0;

  const open = createLookThrough(look, sights, change);
  const classes = el("div", { class: "by-class" });
  const matrix = el("div", { class: "confusion" });
  const list = el("ol", { class: "answers" });
  const wrong = el("section", { class: "mistakes", hidden: true }, el("h3", {}, "Its mistakes"),
    soft(`${capital(store.get().project.kind)}s that the model gets wrong, of the test questions. Where it is right and the answer is not, change the `
      + "answer; change no other, for the model is measured with them."), list);
  const empty = el("p", { class: "empty" });
  const root = el(
    "section", { class: "view model", "aria-labelledby": "model-title", tabindex: "-1" },
    el("h2", { id: "model-title" }, "The model"), empty, classes, matrix, wrong,
  );

  async function load() {
    const mine = (loading += 1);
    try {
      await outbox.drained();
      const results = await api.auditResults();
      if (mine === loading) draw(results);
    } catch (error) {
      if (mine === loading) say(empty, `The test questions could not be loaded: ${reason(error)}`);
    }
  }

  /** @param {Results} results */
  function draw(results) {
    const { project } = store.get();
    say(empty, results.n ? "" : "Nothing is known of the model yet. Test questions measure it, once there is one.");
    put(classes, results.n ? [summary(results), byClass(project, results)] : null);
    put(matrix, results.n ? confusion(project, results) : null);
    mistakes = new Map(results.mistakes.map((one) => [one.item, one]));
    wrong.hidden = mistakes.size === 0;
    put(list, results.mistakes.map(line));
  }

  /** @param {Mistake} mistake */
  function line({ item, name, label, guess }) {
    const { project } = store.get();
    const said = guess === null ? "a class that was removed" : named(className(project, guess), "answer");
    return el(
      "li", { "data-item": item },
      showing.thumbnail(item, 64, `${capital(project.kind)} ${name}`),
      el("div", { class: "what" },
        el("span", {}, "Answer: ", named(className(project, label), "answer")),
        el("span", {}, "Model: ", said), named(name, "soft file")),
      el("div", { class: "who" }),
      button({
        label: "Look", class: "plain", "aria-label": `Look at ${name}, and change the answer`, click: () => open(item),
      }),
    );
  }

  function sights() {
    const { project } = store.get();
    return [...mistakes.values()].map(({ item, name, label, guess }) => ({
      item, name, chosen: label,
      text: ["Answer: ", named(className(project, label)),
        guess !== null && [". Model: ", named(className(project, guess))]],
    }));
  }

  /** @param {number} item @param {import("./look_through.js").Change} kind @param {number|null} id */
  function change(item, kind, id) {
    const mistake = mistakes.get(item);
    if (!mistake || (kind === "label" && id === mistake.label)) return;
    acts.give([{ item, name: mistake.name, kind, class: id, why: "browse" }]);
    if (id === null) mistakes.delete(item);
    else mistakes.set(item, { ...mistake, label: id });
    void load();
  }

  return {
    root,
    title: "Model",
    show: () => void load(),
    hide() {},
    refresh: () => void load(),
    keys: {},
  };
}

/** @param {Results} results */
function summary({ n, errors, balanced_accuracy: balanced, macro_f1: f1 }) {
  const right = percent(1 - errors / n);
  return soft(`From ${counted(n, "test question")}: ${right} right; balanced over the classes ${percent(balanced ?? 0)}, `
    + `macro F1 ${(f1 ?? 0).toFixed(2)}.`);
}

/** @param {import("./api.js").Project} project @param {Results} results */
function byClass(project, { classes }) {
  const share = (/** @type {number} */ part, /** @type {number} */ whole) => (whole ? percent(part / whole) : "–");
  const order = [...classes].sort((a, b) => rank(a) - rank(b) || b.n - a.n);
  return scrolling(el("table", {},
    el("thead", {}, el("tr", {}, ["Class", "Found", "Right when said"].map((head) =>
      el("th", { scope: "col" }, head)))),
    el("tbody", {}, order.map((one) => el("tr", {},
      el("th", { scope: "row" }, named(className(project, one.class))),
      el("td", {}, share(one.found, one.n), one.n ? el("span", { class: "soft" }, ` ${one.found} of ${one.n}`) : null),
      el("td", {}, share(one.found, one.said)))))), "Class by class, the worst first");
}

/** The worst first; classes that no test question was about last. @param {Results["classes"][number]} one */
function rank({ n, found }) {
  return n ? found / n : 2;
}

/** @param {import("./api.js").Project} project @param {Results} results */
function confusion(project, { classes, pairs }) {
  const ids = classes.map((one) => one.class);
  if (ids.length > MATRIX) return confusedPairs(project, pairs);
  const times = new Map(pairs.map((pair) => [`${pair.is} ${pair.taken_for}`, pair.times]));
  const total = new Map(classes.map((one) => [one.class, one.n]));
  const columns = pairs.some((pair) => pair.taken_for === null) ? [...ids, null] : ids;
  return scrolling(el("table", { class: "matrix" },
    el("thead", {}, el("tr", {}, el("td", { class: "soft" }, "is ↓ taken for →"), columns.map((id) =>
      el("th", { scope: "col" }, named(id === null ? "removed" : className(project, id)))))),
    el("tbody", {}, ids.map((is) => el("tr", {},
      el("th", { scope: "row" }, named(className(project, is))),
      columns.map((id) => cell(times.get(`${is} ${id}`) ?? 0, total.get(is) ?? 0, is === id)))))), "What is taken for what");
}

/** @param {number} count @param {number} total @param {boolean} right */
function cell(count, total, right) {
  const made = el("td", { class: count ? (right ? "right" : "wrong") : "" }, count ? number(count) : "");
  if (count) made.style.setProperty("--share", `${Math.round(15 + 45 * (count / total))}%`);
  return made;
}

/** @param {import("./api.js").Project} project @param {Results["pairs"]} pairs */
function confusedPairs(project, pairs) {
  const wrong = pairs.filter((pair) => pair.is !== pair.taken_for).sort((a, b) => b.times - a.times).slice(0, PAIRS);
  if (!wrong.length) return null;
  return scrolling(el("table", {},
    el("thead", {}, el("tr", {}, ["Is", "Taken for", "Times"].map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, wrong.map((pair) => el("tr", {},
      el("th", { scope: "row" }, named(className(project, pair.is))),
      el("td", {}, pair.taken_for === null ? "a class that was removed" : named(className(project, pair.taken_for))),
      el("td", {}, number(pair.times)))))), "What is taken for what, most often first");
}

/** A table that scrolls by itself, also by keyboard. @param {HTMLElement} table @param {string} title */
function scrolling(table, title) {
  return [el("h3", {}, title), el("div", { class: "scrolls", tabindex: "0", role: "group", "aria-label": title }, table)];
}
