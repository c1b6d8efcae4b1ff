/** The model's guesses: a grid for every class, most doubtful first, to confirm, correct or refuse. */

import { action, button, el, named, put, say, soft } from "./dom.js";
import { createChoice } from "./choice.js";
import { createPicker } from "./classes.js";
import { createSelection } from "./selection.js";
import { className } from "./store.js";
import { capital, counted, number, percent, reason } from "./words.js";

const PAGE = 60;

const ARROWS = ["arrowleft", "arrowright", "arrowup", "arrowdown"];

/** @typedef {import("./api.js").GuessRow} GuessRow */

/** @param {import("./main.js").App} app @returns {import("./router.js").View & {onRanking: () => void}} */
export function createGuessesView({ store, api, acts, outbox, look, announce, hint, showing }) {
  /** @type {Map<number, GuessRow>} */
  let shown = new Map();
  const things = `${store.get().project.kind}s`;
  let kind = 0; // the class whose guesses are shown
  let all = false; // or only those of at least the threshold
  let total = 0;
  let loading = 0; // rises with every load, so that an old one's answer is dropped
  let busy = false;

  const intro = soft();
  const which = createChoice("Which", "least", [["sure", ""], ["all", "All guesses"]], (value) => {
    location.hash = address(kind, value === "all");
  });
  const tabs = el("nav", { class: "tabs", "aria-label": "Guesses by class" });
  const news = el("div", { class: "news", hidden: true });
  const grid = el("ul", { class: "grid" });
  const empty = el("p", { class: "empty" });
  const more = button({ label: "Show more", class: "plain more", click: () => void load(false) });
  const count = el("p", { class: "count", role: "status" });
  const onLeave = () => root.focus({ preventScroll: true });
  const picker = createPicker({ store, label: "It is in truth", onPick: correct, onLeave });
  const tools = el(
    "div", { class: "tools", role: "group", "aria-label": `What to do with the chosen ${things}` },
    count,
    el("div", { class: "actions" },
      action("Confirm", "C", "C", confirm), action("Not this class", "V", "V", veto),
      action("Select all", "A", "A", () => selection.all()), action("Clear", "Esc", "Escape", () => selection.clear())),
    el("p", { class: "soft or" }, "or give them the right class:"),
    picker.root,
  );
  const root = el(
    "section", { class: "view guesses", "aria-labelledby": "guesses-title", tabindex: "-1" },
    el("h2", { id: "guesses-title" }, "The model’s guesses"),
    intro, which.root, tabs, news, grid, empty, more, tools,
  );
  const tiles = () => /** @type {HTMLElement[]} */ ([...grid.querySelectorAll(".tile")]);
  const selection = createSelection({ grid, tiles, onChange: drawTools });
  const sight = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && void load(false));

  /** @param {number} id @param {boolean} unsure whether those below the threshold are shown, too */
  function address(id, unsure) {
    return `#guesses/${id}${unsure ? "/all" : ""}`;
  }

  /** Say which guesses these are. @param {number|undefined} threshold undefined: the server has not said it yet */
  function drawWords(threshold) {
    const sure = threshold === undefined ? "sure enough" : `at least ${percent(threshold)} sure`;
    say(intro, `${all ? "All guesses" : `Guesses ${sure}`} on ${things} without a label, most doubtful first. Choose some `
      + "by clicking, dragging or with Shift; then confirm them, correct them, or say “Not this class”.");
    which.name("sure", capital(sure));
    which.set(all ? "all" : "sure");
  }

  /** @param {boolean} afresh */
  async function load(afresh) {
    if (busy && !afresh) return;
    busy = true;
    const mine = (loading += 1);
    try {
      await outbox.drained();
      const offset = afresh ? 0 : shown.size;
      const answer = await api.guesses({ class: kind, offset, limit: PAGE, least: all ? 0 : null });
      if (mine !== loading) return;
      if (afresh) clear();
      take(answer);
    } catch (error) {
      if (mine === loading) say(empty, `The guesses could not be loaded: ${reason(error)}`);
    } finally {
      if (mine === loading) busy = false;
    }
  }

  function clear() {
    shown = new Map();
    put(grid, selection.band);
    selection.clear();
    news.hidden = true;
    more.hidden = true;
    say(empty, "Loading…");
  }

  /** @param {import("./api.js").GuessesPage} page */
  function take({ items, total: there, counts, threshold }) {
    const waiting = new Set(outbox.waiting().map(({ act }) => act.item));
    const fresh = items.filter(({ item }) => !shown.has(item) && !waiting.has(item));
    for (const one of fresh) shown.set(one.item, one);
    total = there;
    grid.append(...fresh.map(tile));
    if (!grid.querySelector(".face[tabindex='0']")) selection.rove(tiles()[0]);
    drawWords(threshold);
    drawTabs(counts);
    more.hidden = !fresh.length || shown.size >= total;
    sight.unobserve(more);
    sight.observe(more); // and so hear at once if it is in sight still
    const none = all ? `The model guesses this class of no ${store.get().project.kind}.` :
      `The model has no guess of this class that it is at least ${percent(threshold)} sure of.`;
    say(empty, shown.size ? "" : none);
    drawTools();
  }

  /** @param {GuessRow} guess */
  function tile({ item, name, confidence }) {
    const sure = percent(confidence);
    const single = (/** @type {string} */ label, /** @type {string} */ text, /** @type {() => void} */ click) =>
      button({ label, class: "single", tabindex: "-1", "aria-label": `${text}: ${name}`, title: text, click });
    const press = el("button", {
      type: "button", class: "face", "aria-pressed": "false", tabindex: "-1", title: name,
      "aria-label": `${name}, ${sure} sure`, click: (event) => { selection.rove(node); selection.click(item, event); },
      dblclick: () => open(item),
    }, showing.thumbnail(item, 128, ""));
    const node = el(
      "li", { class: "tile", "data-item": item }, press,
      el("div", { class: "under" }, single("✓", "Confirm", () => giveEach([item], "label", null)),
        el("span", { class: "sure" }, sure), single("✕", "Not this class", () => giveEach([item], "veto", null)),
        single("…", "Look closer or correct", () => open(item))),
    );
    return node;
  }

  /** @param {import("./api.js").ByClass} counts */
  function drawTabs(counts) {
    const { project } = store.get();
    put(tabs, project.classes.map(({ id, name }) =>
      el("a", { href: address(id, all), "aria-current": id === kind ? "true" : false }, named(name),
        el("span", { class: "number" }, number(counts[id] ?? 0)))));
    tabs.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function drawTools() {
    const n = selection.chosen().length;
    tools.classList.toggle("none", n === 0);
    const name = className(store.get().project, kind);
    say(count, n ? `${counted(n, store.get().project.kind)} chosen, guessed ${name}` : shown.size ? "Nothing chosen" : "");
    tools.hidden = shown.size === 0;
  }

  /** Whatever is chosen, or else the tile that has the focus. */
  function targets() {
    const chosen = selection.chosen();
    if (chosen.length) return chosen;
    const here = tiles().find((one) => one.contains(document.activeElement));
    return here ? [Number(here.dataset.item)] : [];
  }

  /** @param {number[]} items @param {"label"|"veto"} act @param {number|null} id the class; null: the guessed one */
  function giveEach(items, act, id) {
    const guesses = items.flatMap((item) => shown.get(item) ?? []);
    if (!guesses.length) {
      hint(`Choose ${things} first.`);
      return;
    }
    const { project } = store.get();
    const name = className(project, id ?? kind);
    const verb = act === "veto" ? "not" : id === null ? "confirmed as" : "corrected to";
    const group = guesses.map((one) => ({
      item: one.item, name: one.name, kind: act, class: id ?? one.guess, why: "guesses", saw_guess: true,
    }));
    const words = `${guesses.length} ${verb} ${name}`;
    acts.give(group, words);
    announce(words);
    remove(items);
  }

  /** @param {number[]} items */
  function remove(items) {
    const gone = new Set(items);
    const all = tiles();
    const at = all.findIndex((one) => gone.has(Number(one.dataset.item)));
    const focused = all.some((one) => gone.has(Number(one.dataset.item)) && one.contains(document.activeElement));
    for (const one of all) if (gone.has(Number(one.dataset.item))) one.remove();
    for (const item of gone) shown.delete(item);
    total -= gone.size;
    selection.clear();
    const next = tiles()[Math.min(at, tiles().length - 1)];
    selection.rove(next);
    if (focused) /** @type {HTMLElement|null} */ (next?.querySelector(".face"))?.focus();
    if (shown.size < PAGE / 2 && shown.size < total) void load(false);
    if (!shown.size && total <= 0) void load(true);
    drawTools();
  }

  function confirm() {
    giveEach(targets(), "label", null);
  }

  function veto() {
    giveEach(targets(), "veto", null);
  }

  /** @param {number} id */
  function correct(id) {
    giveEach(targets(), "label", id);
  }

  /** @param {number} item */
  function open(item) {
    const { project } = store.get();
    look.open(item, {
      list: () => [...shown.values()].map((one) => ({
        item: one.item, name: one.name, chosen: one.guess,
        text: ["Guess: ", named(className(project, one.guess)), `, ${percent(one.confidence)} sure`],
      })),
      pick: (which, id) => giveEach([which], "label", id),
      veto: (which) => giveEach([which], "veto", null),
      unsure: null,
    });
  }

  const move = (/** @type {boolean} */ extend) => (/** @type {string} */ key) =>
    selection.move(key.replace("shift+", ""), extend);
  return {
    root,
    title: "Guesses",
    /** @param {string[]} rest of the address */
    show([wanted, least]) {
      all = least === "all";
      const { classes } = store.get().project;
      const id = Number(wanted);
      kind = classes.some((one) => one.id === id) && wanted !== undefined ? id : classes[0]?.id ?? 0;
      clear();
      drawWords(store.get().panel?.threshold);
      drawTabs({});
      void load(true);
    },
    hide: clear,
    refresh() {
      const { classes } = store.get().project;
      if (!classes.some((one) => one.id === kind)) kind = classes[0]?.id ?? 0; // its class is gone
      void load(true);
    },
    /** The model has made up its mind anew: say so, but move nothing under the person's hand. */
    onRanking() {
      if (!shown.size) {
        void load(true);
        return;
      }
      news.hidden = false;
      const show = button({ label: "Show them", class: "link", click: () => void load(true) });
      put(news, "The model has new guesses. ", show);
    },
    /** @type {import("./keys.js").KeyMap} */
    keys: {
      ...Object.fromEntries(ARROWS.flatMap((key) => [[key, move(false)], [`shift+${key}`, move(true)]])),
      c: confirm, v: veto, a: () => selection.all(), escape: () => selection.clear(),
      o: () => targets().slice(0, 1).forEach(open),
      "/": () => picker.focusFilter(),
      digit: (key) => {
        const id = picker.classOf(key);
        return id === undefined ? false : correct(id);
      },
    },
  };
}
