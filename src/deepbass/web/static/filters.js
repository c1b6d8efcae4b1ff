/** Which earlier answers are shown: by person, kind, class, day and name. All of it stands in the address. */

import { el, put } from "./dom.js";
import { createChoice } from "./choice.js";

/** @type {import("./choice.js").Option[]} */
const WHO = [["me", "Mine"], ["all", "Everyone’s"]];
/** @type {import("./choice.js").Option[]} */
const ONLY = [["", "All"], ["flagged", "Flagged"], ["unsure", "Don’t know"], ["skipped", "Skipped"]];

/**
 * @typedef {{who: string, only: string, class: string, by: string, from: string, to: string, name: string}} Sought by:
 *   a person, where all are shown; from, to: days, both included
 */

/** @param {{store: import("./store.js").Store}} options */
export function createFilters({ store }) {
  /** @type {Sought} */
  let sought = read([]);
  let timer = 0; // until what is typed is looked for

  const whose = createChoice("Whose", "who", WHO, (who) => go({ who, by: "" }));
  const which = createChoice("Which", "only", ONLY, (only) => go({ only }));
  const classes = el("select", { "aria-label": "Class", change: () => go({ class: classes.value }) });
  const people = el("select", { "aria-label": "Person", change: () => go({ by: people.value }) });
  const from = el("input", { type: "date", change: () => go({ from: from.value }) });
  const to = el("input", { type: "date", change: () => go({ to: to.value }) });
  const search = el("input", {
    type: "search", placeholder: "Search by name", "aria-label": "Search by name", autocomplete: "off",
    spellcheck: "false", maxlength: 200, input: () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        location.replace(address({ ...sought, name: search.value.trim() })); // one step back leaves the search
      }, 250);
    },
  });
  const root = el(
    "div", { class: "filters" },
    el("div", { class: "choices" }, whose.root, which.root),
    el("div", { class: "choices" }, classes, people,
      el("div", { class: "days" }, el("label", {}, "From", from), el("label", {}, "to", to)), search),
  );

  /** @param {Partial<Sought>} change */
  function go(change) {
    location.hash = address({ ...sought, ...change });
  }

  /** @param {string[]} names of people that have answered */
  function drawPeople(names) {
    const known = sought.by && !names.includes(sought.by) ? [...names, sought.by] : names;
    put(people, option("", "Any person"), known.map((name) => option(name, name)));
    people.value = sought.by;
  }

  return {
    root,
    drawPeople,
    /** Take what an address says. @param {string[]} rest */
    show(rest) {
      const { project } = store.get();
      sought = read(rest);
      whose.root.hidden = !project.several;
      whose.set(sought.who);
      which.set(sought.only);
      put(classes, option("", "Any class"), project.classes.map(({ id, name }) => option(String(id), name)));
      classes.value = sought.class;
      people.hidden = !project.several || sought.who === "me";
      drawPeople([]);
      from.value = sought.from;
      to.value = sought.to;
      if (search.value.trim() !== sought.name) search.value = sought.name;
    },
    /** @returns {Sought} */
    sought: () => sought,
    /** @returns {import("./api.js").Query} as the server wants it */
    query: () => ({
      who: sought.who, only: sought.only, class: sought.class, by: sought.by, name: sought.name,
      since: startOf(sought.from, 0), until: startOf(sought.to, 1),
    }),
  };
}

/** @param {string} value @param {string} text */
function option(value, text) {
  return el("option", { value }, text);
}

/** @param {string[]} rest @returns {Sought} */
function read([who, only, more]) {
  const given = new URLSearchParams(more ?? "");
  const word = (/** @type {string} */ name) => given.get(name) ?? "";
  return {
    who: who === "all" ? "all" : "me",
    only: ONLY.some(([value]) => value === only) ? only : "",
    class: /^\d{1,9}$/.test(word("class")) ? word("class") : "",
    by: who === "all" ? word("by") : "",
    from: startOf(word("from"), 0) ? word("from") : "",
    to: startOf(word("to"), 0) ? word("to") : "",
    name: word("name"),
  };
}

/** @param {Sought} sought @returns {string} */
function address({ who, only, ...rest }) {
  const given = Object.entries(rest).filter(([, value]) => value);
  const more = new URLSearchParams(given).toString();
  return `#answers/${who}${only || more ? `/${only}` : ""}${more ? `/${more}` : ""}`;
}

/** Tell when a day begins here, or one so many days later; "" if it is none. @param {string} day @param {number} later */
function startOf(day, later) {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(day);
  if (!parts) return "";
  const at = new Date(Number(parts[1]), Number(parts[2]) - 1, Number(parts[3]) + later);
  return Number.isNaN(at.getTime()) ? "" : at.toISOString();
}
