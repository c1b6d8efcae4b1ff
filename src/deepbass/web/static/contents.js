/** Texts and rows, loaded ahead of time and drawn. Whatever they hold is shown as text, never as markup. */

import { contentAddress } from "./api.js";
import { el, put, soft } from "./dom.js";
import { counted, number } from "./words.js";

const KEPT = 34; // contents in memory beside those ahead: some behind for undo

/**
 * @typedef {import("./api.js").Cell} Cell
 * @typedef {import("./api.js").Content} Content
 * @typedef {{item: number, state: "loading"|"ready"|"failed", content: Content|null, ready: Promise<void>}} Loaded
 * @typedef {ReturnType<typeof createContents>} Contents
 */

/** Keep contents at hand, the last used ones. */
export function createContents() {
  /** @type {Map<number, Loaded>} */
  const kept = new Map();
  /** @type {WeakMap<Element, number>} */
  const items = new WeakMap(); // of excerpts that wait to be in sight
  const sight = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) if (isIntersecting) void fill(target);
  }, { rootMargin: "200px" });

  /** @param {Element} node */
  async function fill(node) {
    sight.unobserve(node);
    try {
      put(node, brief(await load(items.get(node) ?? 0, "short")));
    } catch {
      node.classList.add("broken");
      put(node, "could not be loaded");
    }
  }

  let ahead = 6;

  return {
    /** Make room for so many that are loaded ahead. @param {number} count */
    hold(count) {
      ahead = count;
    },
    /** Whether a content is at hand. @param {number} item */
    has: (item) => kept.get(item)?.state === "ready",
    /** Load a content, or give the one that is there. @param {number} item @returns {Loaded} */
    get(item) {
      let loaded = kept.get(item);
      if (!loaded || loaded.state === "failed") loaded = begin(item);
      kept.delete(item); // the newest stand last
      kept.set(item, loaded);
      for (const old of kept.keys()) {
        if (kept.size <= KEPT + ahead) break;
        kept.delete(old);
      }
      return loaded;
    },

    /** Make a small copy of a content, if it is at hand. @param {number} item @returns {HTMLElement|null} */
    copy(item) {
      const content = kept.get(item)?.content;
      return content ? el("span", { class: "thumb excerpt", "aria-hidden": "true" }, brief(content)) : null;
    },

    /** Make an excerpt that loads once it is in sight. @param {number} item */
    excerpt(item) {
      const node = el("span", { class: "thumb excerpt" });
      items.set(node, item);
      sight.observe(node);
      return node;
    },
  };
}

/** @param {number} item @returns {Loaded} */
function begin(item) {
  /** @type {Loaded} */
  const loaded = { item, state: "loading", content: null, ready: Promise.resolve() };
  loaded.ready = load(item, "whole").then(
    (content) => {
      loaded.content = content;
      loaded.state = "ready";
    },
    () => void (loaded.state = "failed"),
  );
  return loaded;
}

/** @param {number} item @param {"whole"|"short"} part @returns {Promise<Content>} */
async function load(item, part) {
  const response = await fetch(contentAddress(item, part), { credentials: "same-origin" });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  return response.json();
}

/** Draw all of a content. @param {Content} content @returns {HTMLElement} */
export function drawContent(content) {
  if ("problem" in content) return el("p", { class: "soft" }, `Cannot be shown: ${content.problem}`);
  if (content.kind === "row") {
    const rest = content.columns - content.cells.length;
    return el("div", { class: "record" },
      el("table", { class: "cells" }, el("tbody", {}, content.cells.map(([name, cell]) =>
        el("tr", {}, el("th", { scope: "row", dir: "auto" }, name), cellOf("td", cell))))),
      rest > 0 && soft(`${counted(rest, "further column")} not shown.`));
  }
  const { text, beside, characters } = content;
  const cut = characters > [...text].length;
  return el("div", { class: beside.length ? "reading with-beside" : "reading" },
    beside.length > 0 && el("dl", { class: "beside" }, beside.map(([name, cell]) =>
      el("div", {}, el("dt", { dir: "auto" }, name), cellOf("dd", cell)))),
    el("div", { class: "words-of" },
      text.trim() ? el("div", { class: "text", dir: "auto" }, text) : soft("There is no text here."),
      cut && el("p", { class: "cut" }, `Cut off here: the first ${number([...text].length)} of `
        + `${counted(characters, "character")} are shown.`)));
}

/** @param {"td"|"dd"} tag @param {Cell} cell */
function cellOf(tag, cell) {
  if (cell === null || cell === "") return el(tag, { class: "missing" }, "missing");
  if (typeof cell === "number") return el(tag, { class: "figure" }, figure(cell));
  return el(tag, { dir: "auto" }, cell);
}

/** Write a number with the digits that it has, not with those that the computer adds. @param {number} value */
function figure(value) {
  return String(Number(value.toPrecision(12)));
}

/** The beginning of a content, for lists. @param {Content} content @returns {HTMLElement[]} */
function brief(content) {
  if ("problem" in content) return [el("span", { class: "line missing" }, content.problem)];
  if (content.kind === "text") {
    const start = content.text.slice(0, 500).trim();
    return [el("span", { class: start ? "lines" : "lines missing", dir: "auto" }, start || "no text")];
  }
  return content.cells.slice(0, 6).map(([name, cell]) => el("span", { class: "line" },
    el("span", { class: "column" }, `${name} `),
    cell === null || cell === "" ? el("span", { class: "missing" }, "missing")
      : el("bdi", {}, typeof cell === "number" ? figure(cell) : cell)));
}
