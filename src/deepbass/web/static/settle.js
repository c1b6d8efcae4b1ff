/** Where people disagree: who said what, and a last word. */

import { button, el, named, put, say, soft } from "./dom.js";
import { createPicker } from "./classes.js";
import { className } from "./store.js";
import { capital, number, reason } from "./words.js";

/** @param {import("./main.js").App} app @returns {import("./router.js").View} */
export function createSettleView({ store, api, acts, outbox, announce, look, showing }) {
  let chosen = /** @type {number|null} */ (null); // the item for which the class list is open
  /** @type {Map<number, import("./api.js").Disagreement>} */
  let items = new Map();

  const agreement = el("div", { class: "agreement" });
  const list = el("ul", { class: "cards" });
  const empty = el("p", { class: "empty" });
  const picker = createPicker({ store, label: "All classes", onPick: (id) => chosen !== null && settle(chosen, id) });
  const root = el(
    "section", { class: "view settle", "aria-labelledby": "settle-title", tabindex: "-1" },
    el("h2", { id: "settle-title" }, "Disagreements"),
    soft("People gave different answers to these. Settle what each one is: that is what counts from then on."),
    list, empty, agreement,
  );

  async function load() {
    try {
      await outbox.drained();
      draw(await api.disagreements());
    } catch (error) {
      say(empty, `The disagreements could not be loaded: ${reason(error)}`);
    }
  }

  /** @param {import("./api.js").Disagreements} answer */
  function draw(answer) {
    chosen = null;
    items = new Map(answer.items.map((one) => [one.item, one]));
    put(list, answer.items.map(card));
    say(empty, answer.items.length ? "" : "People agree on everything they were both asked.");
    put(agreement, answer.agreement.length ? table(answer.agreement, store.get().project.kind) : null);
  }

  /** @param {import("./api.js").Disagreement} disagreement */
  function card({ item, name, answers }) {
    const { project } = store.get();
    const said = [...new Set(answers.map((one) => one.class))];
    return el(
      "li", { class: "card", "data-item": item },
      showing.thumbnail(item, 192, `${capital(project.kind)} ${name}`),
      el("div", {},
        named(name, "file soft"),
        el("ul", { class: "said" }, answers.map((one) =>
          el("li", {}, named(one.annotator), ": ", named(className(project, one.class), "answer")))),
        el("div", { class: "actions" },
          said.map((id) => button({
            label: ["It is ", named(className(project, id))], class: "action", click: () => settle(item, id),
          })),
          button({ label: "Another class…", class: "action", click: () => openPicker(item) }),
          button({ label: "Look closer…", class: "action", click: () => open(item) }))),
    );
  }

  const cardOf = (/** @type {number} */ item) => list.querySelector(`[data-item="${item}"]`);

  /** Look at all of it, and settle it there. @param {number} item */
  function open(item) {
    look.open(item, {
      list: () => [...items.values()].map((one) => ({
        item: one.item, name: one.name, chosen: null,
        text: one.answers.flatMap(({ annotator, class: id }, place) =>
          [place ? ", " : "", named(annotator), ": ", named(className(store.get().project, id))]),
      })),
      pick: settle,
      unsure: null,
      veto: null,
    });
  }

  /** @param {number} item */
  function openPicker(item) {
    chosen = item;
    cardOf(item)?.append(picker.root);
    picker.focusFilter();
  }

  /** @param {number} item @param {number} id */
  function settle(item, id) {
    const { project } = store.get();
    const one = items.get(item);
    if (!one) return;
    acts.give([{ item, name: one.name, kind: "settle", class: id }]);
    announce(`Settled: ${className(project, id)}`);
    picker.root.remove();
    chosen = null;
    items.delete(item);
    cardOf(item)?.remove();
    if (!items.size) void load();
  }

  return { root, title: "Disagreements", show: () => void load(), hide() {}, refresh: () => void load(), keys: {} };
}

/** @param {import("./api.js").Agreement[]} rows @param {import("./words.js").Kind} kind */
function table(rows, kind) {
  const heads = ["People", `${capital(kind)}s both answered`, "Kappa"];
  return [
    el("h3", {}, "Agreement"),
    soft("Cohen’s kappa: 1 is full agreement, 0 no more than chance would give."),
    el("table", {},
      el("thead", {}, el("tr", {}, heads.map((text) => el("th", { scope: "col" }, text)))),
      el("tbody", {}, rows.map(({ people, n, kappa }) => el("tr", {},
        el("th", { scope: "row" }, named(people[0]), " and ", named(people[1])),
        el("td", {}, number(n)), el("td", {}, kappa === null ? "–" : kappa.toFixed(2)))))),
  ];
}
