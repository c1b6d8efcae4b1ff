/** Earlier answers: to look through, and to change. */

import { button, el, named, put, say, soft } from "./dom.js";
import { inWords } from "./acts.js";
import { createFilters } from "./filters.js";
import { createLookThrough } from "./look_through.js";
import { className } from "./store.js";
import { capital, moment, percent, reason } from "./words.js";

const PAGE = 50;
const MARKS = new Set(["flag", "note"]); // kinds of acts that are marks on an answer

const NEAR = 0.3; // between the shares of two classes: up to here the model wavers between them

/** Why an item was looked at, in words; nothing where that is plain. @type {Record<string, string>} */
const WHY = {
  spread: "asked to see something new", rank: "asked because the model was unsure",
  audit: "test question, drawn at random to measure the error", twice: "second opinion",
  guesses: "from the model’s guesses", alike: "like another one", source: "from the source", import: "imported",
};

/** @typedef {import("./api.js").HistoryRow} Row */

/** @param {import("./main.js").App} app @returns {import("./router.js").View} */
export function createHistoryView({ store, api, acts, outbox, look, alike, showing }) {
  /** @type {Map<string, Row>} */
  let rows = new Map(); // the newest of an item and a person
  /** @type {Set<number>} */
  let unflagged = new Set(); // items whose newest flag was removed
  let before = /** @type {number|null} */ (null);
  let loading = 0;
  let busy = false;
  let done = false;

  const open = createLookThrough(look, sights, change);
  const list = el("ol", { class: "answers" });
  const empty = el("p", { class: "empty" });
  const more = button({ label: "Show more", class: "plain more", click: () => void load(false) });
  const filters = createFilters({ store });
  const root = el(
    "section", { class: "view history", "aria-labelledby": "history-title", tabindex: "-1" },
    el("h2", { id: "history-title" }, "Answers"),
    soft("Every answer can be changed at any time; the earlier one stays on record."),
    filters.root, list, empty, more,
  );
  const sight = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && void load(false));

  /** @param {boolean} afresh */
  async function load(afresh) {
    if (!afresh && (busy || done)) return;
    busy = true;
    const mine = (loading += 1);
    try {
      await outbox.drained();
      const answer = await api.history({ ...filters.query(), before: afresh ? null : before, limit: PAGE });
      if (mine !== loading) return;
      if (afresh) clear();
      take(answer);
    } catch (error) {
      if (mine === loading) say(empty, `The answers could not be loaded: ${reason(error)}`);
    } finally {
      if (mine === loading) busy = false;
    }
  }

  function clear() {
    rows = new Map();
    before = null;
    done = false;
    unflagged = new Set();
    put(list);
    more.hidden = true;
    say(empty, "Loading…");
  }

  /** @param {import("./api.js").HistoryPage} page */
  function take({ acts: read, more: further, people }) {
    filters.drawPeople(people);
    const { only, name } = filters.sought();
    for (const row of read) {
      before = row.id;
      if (row.kind === "unflag") unflagged.add(row.item);
      if ((row.kind === "flag" || only === "flagged") && !unflagged.has(row.item)) acts.knowFlag(row.item);
      if (row.kind !== "undo" && row.kind !== "unflag") show(row);
    }
    done = !further;
    more.hidden = done;
    sight.unobserve(more);
    sight.observe(more); // and so hear at once if it is in sight still
    say(empty, rows.size ? "" : "There are no such answers.");
    if (!rows.size && name) say(empty, `No such answer is about a name with “${name}” in it.`);
  }

  /** Show a row, unless a newer answer of the same person to the same item is there. @param {Row} row */
  function show(row) {
    const key = `${row.item} ${row.annotator}`;
    const newer = rows.get(key);
    if (newer && !MARKS.has(newer.kind)) return;
    if (newer) {
      list.querySelector(`[data-key="${CSS.escape(key)}"]`)?.replaceWith(line(row));
    } else {
      list.append(line(row));
    }
    rows.set(key, row);
  }

  /** @param {Row} row */
  function line(row) {
    const { project } = store.get();
    const flagged = acts.isFlagged(row.item) && row.kind !== "flag";
    const other = row.label !== null && row.label !== row.class;
    return el(
      "li", { "data-item": row.item, "data-key": `${row.item} ${row.annotator}` },
      showing.thumbnail(row.item, 64, `${capital(project.kind)} ${row.name}`),
      el("div", { class: "what" },
        el("span", {}, named(inWords(project, row), "answer"), flagged && el("span", { class: "mark" }, "flagged")),
        other && el("span", { class: "soft" }, "counts as ", named(className(project, row.label))),
        row.note && row.kind !== "note" && el("span", { class: "noted" }, "Note: ", named(row.note)),
        el("span", { class: "soft file" }, named(row.name), WHY[row.why] && [" · ", whyAsked(project, row)])),
      el("div", { class: "who soft" },
        project.several && named(row.annotator), el("time", { datetime: row.at }, moment(row.at))),
      el("div", { class: "row-actions" },
        button({
          label: "Change", class: "plain", "aria-label": `Change the answer to ${row.name}`, click: () => open(row.item),
        }),
        row.kind === "label" && row.class !== null && alike.possible() && button({
          label: "Others like this", class: "link", "aria-label": `Others like ${row.name}`, click: () => alike.open(row),
        })),
    );
  }

  function sights() {
    const { project } = store.get();
    const seen = new Set();
    return [...rows.values()]
      .filter(({ item }) => !seen.has(item) && seen.add(item))
      .map((row) => ({
        item: row.item, name: row.name, chosen: row.kind === "label" ? row.class : null,
        text: ["Answer: ", named(inWords(project, row)), row.annotator !== project.annotator && ` by ${row.annotator}`],
      }));
  }

  /** @param {number} item @param {import("./look_through.js").Change} kind @param {number|null} id */
  function change(item, kind, id) {
    const { project } = store.get();
    const row = [...rows.values()].find((one) => one.item === item);
    if (!row) return;
    acts.give([{ item, name: row.name, kind, class: id, why: "browse" }]);
    const by = { annotator: project.annotator, at: new Date().toISOString(), why: "browse" };
    const changed = { ...row, kind, class: id, label: id, ...by };
    const key = `${item} ${project.annotator}`;
    rows.set(key, changed);
    const mine = list.querySelector(`[data-key="${CSS.escape(key)}"]`);
    if (mine) mine.replaceWith(line(changed));
    else list.prepend(line(changed)); // another person's answer stays as it is
  }

  return {
    root,
    title: "Answers",
    /** @param {string[]} rest of the address */
    show(rest) {
      filters.show(rest);
      clear();
      void load(true);
    },
    hide: clear,
    refresh: () => void load(true),
    keys: { a: () => alike.openLast() },
  };
}

/**
 * Say why an item was asked, with what the model thought of it then.
 * @param {import("./api.js").Project} project @param {Row} row
 */
function whyAsked(project, { why, asked }) {
  const said = (asked?.top ?? []).map(({ class: id, share }) =>
    el("span", {}, id === null ? "a class that was removed" : named(className(project, id)), ` (${percent(share)})`));
  if (!asked || !said.length) return WHY[why];
  if (asked.rule === "veto") return el("span", {}, "asked because somebody refused the model’s guess, ", said[0]);
  if (asked.rule === "random") return el("span", {}, "drawn at random; the model took it for ", said[0]);
  const [first, second] = asked.top;
  if (second && first.share - second.share <= NEAR) {
    return el("span", {}, "asked because the model wavered between ", said[0], " and ", said[1]);
  }
  const left = "asked as one of the least sure that were left: the model took it for ";
  return el("span", {}, left, said[0], second && " or ", said[1]);
}
