/** The live panel: how far the labels are, how good the model is, and what the trainer does. */

import { drawChart } from "./chart.js";
import { button, el, letGo, named, put, say, soft } from "./dom.js";
import { className } from "./store.js";
import { capital, counted, number, percent, seconds } from "./words.js";

/**
 * @typedef {import("./api.js").Project} Project
 * @typedef {import("./api.js").Panel} Panel
 */

/** What the trainer says it does, in words for people. @type {Record<string, string>} */
const DOING = {
  "infer pool": "looking at all images",
  "infer known": "looking at labelled images",
  training: "learning",
  "adapting to the classes": "adapting to the changed classes, keeping what it learned",
  "initial training": "learning the first labels",
  evaluating: "measuring itself",
  loading: "loading the images",
  waiting: "waiting for labels",
  idle: "done with all labels so far",
};

/**
 * @param {{store: import("./store.js").Store, ahead: HTMLElement, onTest: () => void, onTarget: () => void}} options ahead:
 *   what is at hand; onTest: test questions are wanted now; onTarget: another target may be
 */
export function createPanel({ store, ahead, onTest, onTarget }) {
  const summary = el("span", { class: "brief" });
  const messages = el("div", { class: "messages", "aria-live": "polite" });
  const numbers = el("dl", { class: "numbers" });
  const error = part("Estimated error");
  const test = button({ label: "Ask me test questions now", class: "plain", click: onTest });
  const aim = el("span", {});
  const aimed = el("p", { class: "aim" }, aim, " ", button({
    label: "Change", class: "link", "aria-label": "Change the target", click: onTarget,
  }));
  error.root.append(aimed, el("div", { class: "error-links" }, test, el("a", { href: "#model" }, "Class by class, and its mistakes")));
  const trainer = part("Training");
  const balance = part("Labels by class");
  const people = part("People");
  const elsewhere = el("p", { class: "soft", hidden: true });
  const body = el(
    "div", { class: "panel-body" }, messages, numbers, error.root, trainer.root, people.root, balance.root, ahead, elsewhere,
  );
  const details = el("details", {}, el("summary", { click: letGo }, el("span", {}, "Progress"), summary), body);
  const title = el("h2", { class: "hidden-text" }, "Progress");
  const root = el("aside", { class: "panel", "aria-label": "Progress" }, title, details);

  const wide = matchMedia("(min-width: 62rem)");
  const unfold = () => void (details.open = wide.matches);
  wide.addEventListener("change", unfold);
  unfold();

  store.watch(({ project, panel }, change) => {
    if ((change.panel || change.project) && panel) draw(project, panel);
  });

  /** @param {Project} project @param {Panel} panel */
  function draw(project, panel) {
    say(summary, brief(panel));
    drawMessages(messages, panel);
    drawNumbers(numbers, panel);
    drawError(error.content, panel);
    test.hidden = aimed.hidden = project.audit === 0;
    say(aim, panel.target === null ? "There is no target." : `Target: an error below ${percent(panel.target)}.`);
    drawTrainer(trainer.content, panel, project.kind);
    drawBalance(balance.content, project, panel);
    people.root.hidden = panel.people.length < 2;
    put(people.content, el("ul", { class: "people" }, panel.people.map((one) =>
      el("li", {}, named(one.name), el("span", {}, counted(one.labels, "label"))))));
  }

  return {
    root,
    /** Say that answers of other people or projects wait in this browser. @param {number} count */
    elsewhere(count) {
      const wait = count === 1 ? "waits" : "wait";
      const text = `${counted(count, "answer")} by another person or for another project ${wait} in this browser, `
        + "to be sent when they log in or it is opened here again.";
      elsewhere.hidden = count === 0;
      say(elsewhere, count ? text : "");
    },
  };
}

/** @param {string} title */
function part(title) {
  const content = el("div", {});
  return { content, root: el("section", { class: "part" }, el("h3", {}, title), content) };
}

/** @param {Panel} panel */
function brief(panel) {
  const parts = [counted(panel.labels, "label")];
  const { audit } = panel;
  if (audit) parts.push(`error ${percent(audit.estimate)} (${percent(audit.low)} to ${percent(audit.high)})`);
  if (panel.good_enough) parts.push("good enough");
  return parts.join(" · ");
}

/** @param {HTMLElement} node @param {Panel} panel */
function drawMessages(node, panel) {
  const wanted = [
    { kind: "good", title: "Good enough", text: panel.good_enough },
    { kind: "info", title: "Labels stop helping", text: panel.standstill },
  ].filter(({ text }) => text);
  if (node.dataset.shown === JSON.stringify(wanted)) return; // or it would be spoken again
  node.dataset.shown = JSON.stringify(wanted);
  put(node, wanted.map(({ kind, title, text }) =>
    el("div", { class: `message ${kind}` }, el("h3", {}, title), el("p", {}, text))));
}

/** @param {HTMLElement} node @param {Panel} panel */
function drawNumbers(node, panel) {
  /** @type {([string, string]|null)[]} */
  const rows = [
    ["Labels", number(panel.labels)],
    [`Guesses at least ${percent(panel.threshold)} sure`, number(panel.pseudo)],
    ["Time per label", panel.median_seconds ? seconds(panel.median_seconds) : "–"],
    panel.unsure ? ["Don’t know", number(panel.unsure)] : null,
    panel.skipped ? ["Skipped", number(panel.skipped)] : null,
    panel.flagged ? [`Flagged${aside(panel.flagged_labels)}`, number(panel.flagged)] : null,
  ];
  put(node, rows.map((row) => row && el("div", {}, el("dt", {}, row[0]), el("dd", {}, row[1]))));
}

/** Say what becomes of flagged labels. @param {number} n */
function aside(n) {
  return n ? ` (${number(n)} of them labelled: not trained on until the flag is off)` : "";
}

/** @param {HTMLElement} node @param {Panel} panel */
function drawError(node, panel) {
  const { audit, worth } = panel;
  if (!audit) {
    put(node, soft("Not known yet. Test questions measure it, once there is a model."), worth.way && soft(worth.way));
    return;
  }
  const { estimate, low, high, n, errors, labels } = audit;
  put(
    node,
    el("p", { class: `verdict ${worth.verdict.replaceAll(" ", "-")}` }, capital(worth.verdict)),
    el("p", { class: "estimate" },
      el("b", {}, percent(estimate)), el("span", {}, `${percent(low)} to ${percent(high)}`)),
    drawChart([...panel.history.slice(0, -1), audit], panel.target), // the last point is the number above, always
    soft(`${number(errors)} of ${counted(n, "test question")} wrong, model trained on ${counted(labels, "label")}. `
      + "With 95 % confidence the error lies in this range."),
    soft(worth.why),
    worth.way && soft(worth.way),
    panel.believed && soft(`Learning from ${panel.believed}.`),
  );
}

/** @param {HTMLElement} node @param {Panel} panel @param {import("./words.js").Kind} kind */
function drawTrainer(node, panel, kind) {
  const { doing, share, restarts, error, note, background } = panel.trainer;
  const often = restarts === 1 ? "once" : `${restarts} times`;
  const where = panel.iteration ? `, round ${number(panel.iteration)}` : "";
  put(
    node,
    el("p", { class: "doing" }, capital(`${(DOING[doing] ?? (doing || "not running")).replaceAll("images", `${kind}s`)}${where}`)),
    el("progress", { max: 1, value: typeof share === "number" ? share : 0, "aria-label": "Progress of this step" }),
    panel.known_to_model ? soft(`The model knows ${counted(panel.known_to_model, "label")}.`) : null,
    background ? soft(named(capital(background))) : null,
    note ? soft(named(note)) : null,
    restarts ? soft(`It stopped and was started again ${often}. No label is lost.`) : null,
    error ? el("p", { class: "problem" }, named(error)) : null,
  );
}

/** @param {HTMLElement} node @param {Project} project @param {Panel} panel */
function drawBalance(node, project, panel) {
  const counts = panel.by_class;
  const most = Math.max(1, ...Object.values(counts));
  if (!project.classes.length) {
    put(node, soft("No classes yet."));
    return;
  }
  put(node, el("ul", { class: "bars" }, project.classes.map(({ id }) => {
    const fill = el("span", { class: "fill" });
    fill.style.width = `${((counts[id] ?? 0) / most) * 100}%`;
    const name = className(project, id);
    return el("li", {}, el("bdi", { class: "name", title: name }, name),
      el("span", { class: "track", "aria-hidden": "true" }, fill),
      el("span", { class: "count" }, number(counts[id] ?? 0)));
  })));
}
