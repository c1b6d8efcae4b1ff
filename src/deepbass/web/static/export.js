/** Everything to take away: people's labels, and as many of the model's guesses as one wants, by how sure they are. */

import { el, put, say, soft } from "./dom.js";
import { hasModel } from "./store.js";
import { counted, number, percent, reason } from "./words.js";

/** @typedef {import("./words.js").Kind} Kind */

/** What an item brings along in tables. @type {Record<Kind, string>} */
const ALONG = { image: "", text: " and the text", row: " and its columns" };

/** @param {Kind} kind @returns {{format: string, title: string, text: string}[]} */
const formatsOf = (kind) => [
  { format: "csv", title: "CSV table",
    text: `One line per ${kind}: name, label, who gave it and why${ALONG[kind]}. For spreadsheets and pandas.` },
  { format: "jsonl", title: "JSON lines",
    text: `One ${kind} per line, with all that was said about it: everyone’s answers, skips, flags, the model’s guess.` },
  { format: "label-studio", title: "Label Studio",
    text: "JSON that Label Studio can import: people’s labels as annotations, the model’s guesses as predictions." },
  ...FOLDERS[kind],
  { format: "model", title: "Model (zip)",
    text: "The newest model: its weights (safetensors), settings, classes and estimated error." },
];

/** @type {Record<Kind, {format: string, title: string, text: string}[]>} */
const FOLDERS = {
  image: [{ format: "imagefolder", title: "Image folder (zip)",
    text: "The images in a folder per class, people’s apart from the model’s. For torchvision, fastai and Keras." }],
  text: [{ format: "textfolder", title: "Text folder (zip)",
    text: "A file per text in a folder per class, people’s apart from the model’s. For deepbass, scikit-learn and others." },
  { format: "textfiles", title: "A file per class (zip)",
    text: "The texts of a class in one file, a text on every line, people’s apart from the model’s. For reading and searching." }],
  row: [],
};

const NO_MODEL = "There is no model yet: training starts when every class has a few labels.";

/** @typedef {import("./api.js").GuessLevel} GuessLevel */

/** @param {import("./main.js").App} app @returns {import("./router.js").View} */
export function createExportView({ store, api, outbox }) {
  /** @type {GuessLevel[]} */
  let levels = [];
  let chosen = /** @type {number|null} */ (null); // how sure guesses have to be; null: as the server suggests
  let shown = false;
  let timer = 0; // until the numbers are asked for again
  let loading = 0; // rises with every load, so that an old one's answer is dropped

  const { kind } = store.get().project;
  const warning = el("p", { class: "problem", role: "status" });
  const list = el("ul", { class: "exports" });
  const people = el("input", { type: "radio", name: "guesses", value: "none", change: draw });
  const guesses = el("input", { type: "radio", name: "guesses", value: "some", change: draw });
  guesses.checked = true;
  const count = el("span", { class: "soft" });
  const slider = el("input", {
    type: "range", min: 0, max: 0, step: 1, "aria-label": "How sure guesses have to be", input: slide,
  });
  const least = el("output", { class: "least" });
  const level = el("p", { class: "level", role: "status" });
  const root = el(
    "section", { class: "view export", "aria-labelledby": "export-title", tabindex: "-1" },
    el("h2", { id: "export-title" }, "Export"),
    soft("Files are made at the moment of the click. The command “deepbass export” makes the same without this page."),
    warning,
    el("fieldset", { class: "wanted" },
      el("legend", {}, "What is in the files"),
      el("label", { class: "want" }, people, el("span", {}, "People’s labels only ", count)),
      el("label", { class: "want" }, guesses, el("span", {}, "and the model’s guesses that are ", least)),
      slider, level),
    list,
  );

  async function load() {
    const mine = (loading += 1);
    try {
      await outbox.drained();
      const read = await api.guessLevels();
      if (mine !== loading) return;
      levels = read.levels;
      chosen ??= read.default;
      slider.max = String(Math.max(0, levels.length - 1));
      slider.value = String(place());
    } catch (error) {
      if (mine === loading) say(level, `How many guesses there are could not be loaded: ${reason(error)}`);
      return;
    }
    draw();
  }

  /** Find the level that is chosen, or the next surer one. */
  function place() {
    const at = levels.findIndex(({ confidence }) => confidence >= (chosen ?? 0));
    return at < 0 ? levels.length - 1 : at;
  }

  function slide() {
    chosen = levels[Number(slider.value)]?.confidence ?? chosen;
    guesses.checked = true;
    draw();
  }

  function draw() {
    const { panel } = store.get();
    const waiting = outbox.waiting().length;
    const trained = hasModel(store.get());
    const now = trained ? levels[place()] : undefined;
    say(warning, waiting ? `${counted(waiting, "answer")} not sent yet, and so not in these files.` : "");
    say(count, panel ? `(${number(panel.labels)})` : "");
    guesses.disabled = slider.disabled = !trained;
    if (!trained) people.checked = true;
    say(least, now ? sureness(now.confidence) : "sure enough");
    slider.setAttribute("aria-valuetext", least.textContent ?? "");
    say(level, !trained ? NO_MODEL : now ? describe(now, kind) : "");
    level.classList.toggle("soft", people.checked);
    const query = people.checked ? "?guesses=none" : now ? `?guesses=${now.confidence}` : "";
    put(list, formatsOf(kind).map(({ format, title, text }) => {
      const there = format !== "model" || trained;
      const address = `/api/export/${format}${format === "model" ? "" : query}`;
      return el("li", {},
        el("div", {}, el("h3", {}, title), soft(there ? text : NO_MODEL)),
        there && el("a",
          { class: "plain", href: address, download: "", "aria-label": `Download: ${title}` }, "Download"));
    }));
  }

  function refresh() {
    draw();
    void load();
  }

  // other people label meanwhile, and the model learns: then these numbers would differ from the panel's
  store.watch((_, change) => {
    if (!change.panel || !shown) return;
    clearTimeout(timer);
    timer = setTimeout(refresh, 500);
  });

  return {
    root,
    title: "Export",
    show() {
      shown = true;
      refresh();
    },
    hide() {
      shown = false;
      clearTimeout(timer);
    },
    refresh,
    keys: {},
  };
}

/** @param {number} confidence */
function sureness(confidence) {
  return confidence > 0 ? `at least ${percent(confidence)} sure` : "sure or unsure: all of them";
}

/** Say how many guesses are so sure, and how many of them to expect wrong. @param {GuessLevel} level @param {Kind} kind */
function describe({ guesses, n, errors, estimate, low, high }, kind) {
  const many = `${counted(guesses, "guess", "guesses")} on ${kind}s without a label.`;
  if (estimate === null || low === null || high === null) {
    return `${many} How many of them are wrong is not known yet: no test question is answered that the model is this `
      + "sure of.";
  }
  return `${many} Expect about ${percent(estimate)} of them to be wrong (${percent(low)} to ${percent(high)}): of `
    + `${counted(n, "test question")} that the model was this sure of, it got ${number(errors)} wrong.`;
}
