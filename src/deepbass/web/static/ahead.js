/** Taking questions along: loaded into this page, and one's own for hours, to go on where there is no server. */

import { button, el, say, soft } from "./dom.js";
import { capital, counted, moment, reason } from "./words.js";

const MOST = 200; // as the server has it
const USUAL = 50;
const HOURS = [[1, "an hour"], [4, "four hours"], [12, "twelve hours"], [24, "a day"], [72, "three days"]];
const LOOK = 500; // milliseconds between looks at what has arrived
const TRIES = 3; // at what did not come
const KEY = "deepbass.ahead";

/**
 * @typedef {{count: number, until: number}} Along how many, and until when, in milliseconds
 * @typedef {ReturnType<typeof createAhead>} Ahead
 */

/**
 * @param {{store: import("./store.js").Store, api: import("./api.js").Api, showing: import("./showing.js").Showing,
 *   announce: (text: string) => void}} options
 */
export function createAhead({ store, api, showing, announce }) {
  const { project } = store.get();
  const { kind } = project;
  let along = recall();
  let feed = /** @type {import("./feed.js").Feed|null} */ (null);
  let warm = (/** @type {import("./api.js").Question} */ _question) => {};
  /** @type {Map<number, number>} */
  let tries = new Map();
  let said = false; // that all is loaded

  const state = el("p", { class: "soft", role: "status" });
  const more = button({ label: "Take more along", class: "plain", click: () => open() });
  const back = button({ label: "Give the rest back", class: "link", click: () => void giveBack() });
  const part = el("section", { class: "part" }, el("h3", {}, "Without a connection"), state,
    el("div", { class: "error-links" }, more, back));

  const number = el("input", { type: "number", min: 2, max: MOST, step: 1, value: USUAL, name: "count" });
  const hours = el("select", { name: "hours" }, HOURS.map(([value, name]) => el("option", { value }, name)));
  hours.value = "4";
  const problem = el("p", { class: "problem", role: "status" });
  const form = el(
    "form", { class: "target-form", submit: (event) => { event.preventDefault(); void take(); } },
    el("label", { class: "field" }, `How many ${kind}s`, number),
    el("label", { class: "field" }, "For how long", hours), problem,
    el("div", { class: "actions" },
      el("button", { type: "submit", class: "plain main" }, "Take along"),
      button({ label: "Cancel", key: "Esc", class: "plain", click: () => dialog.close() })),
  );
  const dialog = el(
    "dialog", { class: "ahead-dialog", "aria-labelledby": "ahead-title" },
    el("h2", { id: "ahead-title" }, `Take ${kind}s along`),
    soft(`They are loaded into this page, and nobody else is asked about them meanwhile. Leave the page open: answers are `
      + "kept in this browser, and sent when the server can be reached. The model chose these by what it knows now, so take "
      + "no more than you need."),
    form,
  );

  const size = () => (along && along.until > Date.now() ? along.count : project.ahead);

  function open() {
    say(problem, "");
    if (!dialog.open) dialog.showModal();
    number.select();
  }

  async function take() {
    const count = Math.round(Number(number.value));
    if (!(count >= 2 && count <= MOST)) {
      say(problem, `Choose from 2 to ${MOST}.`);
      return;
    }
    try {
      await hold(count, Number(hours.value));
      dialog.close();
    } catch (error) {
      say(problem, `Nothing was taken along: ${reason(error)}`);
    }
  }

  /** @param {number} count @param {number} long hours; 0: as usual again */
  async function hold(count, long) {
    if (!feed) return;
    const from = feed.ticket();
    const answer = await api.takeAlong(count, long, feed.holding());
    along = long ? { count, until: (answer.until ?? 0) * 1000 } : null;
    remember(along);
    showing.hold(size());
    tries = new Map();
    said = false;
    feed.hold(answer.questions, from);
    draw();
  }

  async function giveBack() {
    try {
      await hold(project.ahead, 0);
      announce("The rest was given back.");
    } catch (error) {
      say(state, `Nothing was given back: ${reason(error)}`);
    }
  }

  /** Say what is at hand, and try again to get what did not come. */
  function draw() {
    if (!feed) return;
    const held = feed.holding();
    const there = held.filter((item) => showing.has(item));
    const taken = along !== null && along.until > Date.now();
    back.hidden = !taken;
    const until = taken && along ? ` They are yours until ${moment(new Date(along.until).toISOString())}.` : "";
    if (there.length < held.length) {
      say(state, `${there.length} of ${counted(held.length, kind)} loaded.${until}`);
      if (store.get().reach === "ok") again(held);
    } else {
      say(state, `${counted(there.length, kind)} at hand: as many can be answered without a connection.${until}`);
      if (taken && !said && there.length) announce(`${capital(counted(there.length, kind))} at hand. You can go offline.`);
      said = true;
    }
  }

  /** @param {number[]} held */
  function again(held) {
    for (const { item, name } of feed?.ahead() ?? []) {
      const tried = tries.get(item) ?? 0;
      if (!held.includes(item) || showing.has(item) || tried >= TRIES * 10) continue;
      tries.set(item, tried + 1);
      if (tried % 10 === 9) warm({ item, name }); // one that is still loading is not asked for twice
    }
  }

  return {
    part,
    dialog,
    size,
    /** @param {import("./feed.js").Feed} its @param {(question: import("./api.js").Question) => void} load */
    start(its, load) {
      feed = its;
      warm = load;
      showing.hold(size());
      setInterval(draw, LOOK);
      draw();
    },
  };
}

/** Keep it for a reload of this tab. @param {Along|null} along */
function remember(along) {
  try {
    if (along) sessionStorage.setItem(KEY, JSON.stringify(along));
    else sessionStorage.removeItem(KEY);
  } catch {
    // then a reload holds as many as usual
  }
}

/** @returns {Along|null} */
function recall() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
    return kept && kept.count >= 2 && kept.count <= MOST && kept.until > Date.now() ? kept : null;
  } catch {
    return null;
  }
}
