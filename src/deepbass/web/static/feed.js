/** The questions in hand: the current one, and a few ahead whose pictures are loaded already. */

const SOON = 1500; // milliseconds before the server is asked again after an answer that was out of date
const LOW = 3; // below this, ask for more without waiting for an answer to carry the wish

/**
 * @typedef {import("./api.js").Question} Question
 * @typedef {import("./api.js").Questions} Questions
 * @typedef {ReturnType<typeof createFeed>} Feed
 * @typedef {{begun: number, acts: Set<number>}} Ticket when a request for questions began, and the items whose last
 *   answer it carried
 */

/**
 * @param {{api: import("./api.js").Api, size: () => number, warm: (question: Question) => void, onChange: () => void}}
 *   options size: how many questions to hold, with the current one; warm: load the picture of a question ahead; onChange:
 *   the current question is another one, or there is none
 */
export function createFeed({ api, size, warm, onChange }) {
  let current = /** @type {Question|null} */ (null);
  /** @type {Question[]} */
  let ahead = [];
  let empty = /** @type {string|null} */ (null);
  let asking = false;
  let timer = 0;
  let clock = 0;
  let since = Date.now(); // when the server last handed out or renewed what is in hand
  /** @type {Map<number, number>} */
  const answered = new Map(); // item -> when the server acknowledged it; Infinity: not yet

  const holding = () => [...(current ? [current] : []), ...ahead].map((question) => question.item);

  /** Note the moment before a request. @returns {Ticket} */
  const ticket = () => ({ begun: (clock += 1), acts: new Set() });

  /** Whether the server may still have thought this item open when it made its answer. */
  const outdated = (/** @type {number} */ item, /** @type {Ticket} */ { begun, acts }) =>
    !acts.has(item) && (answered.get(item) ?? 0) > begun;

  /** Take questions that came with a request. @param {Question[]} questions @param {Ticket} from */
  function take(questions, from) {
    const held = new Set(holding());
    const fresh = questions.filter(({ item }) => !held.has(item) && !outdated(item, from));
    ahead.push(...fresh);
    fresh.forEach(warm);
    since = Date.now();
    if (!current && ahead.length) advance();
  }

  function advance() {
    current = ahead.shift() ?? null;
    if (current) remember(current.item);
    onChange();
    if (ahead.length < LOW) plan(current ? 400 : 0); // the answer just given may bring some by itself
  }

  /** @param {number} wait milliseconds */
  function plan(wait) {
    clearTimeout(timer);
    timer = setTimeout(refill, wait);
  }

  /** Ask for questions when few are left. */
  async function refill() {
    if (asking || ahead.length >= LOW) return;
    await ask((answer, from) => {
      take(answer.questions, from);
      if (current) return;
      empty = answer.empty ?? null;
      onChange();
      // all that came is answered already, but the server does not know yet: it has more when it does
      if (answer.questions.length) plan(SOON);
    });
  }

  /** @param {(answer: Questions, from: Ticket) => void} use */
  async function ask(use) {
    asking = true;
    try {
      const from = ticket();
      use(await api.next(size()), from);
    } catch {
      // the banner says that the server cannot be reached
    } finally {
      asking = false;
    }
  }

  return {
    current: () => current,
    ahead: () => ahead,
    /** @returns {string|null} why there is nothing to ask */
    empty: () => empty,
    holding,
    /** @returns {number} how many further questions are wanted */
    want: () => Math.max(0, size() - holding().length),
    /** @returns {number} milliseconds since the server last renewed what is in hand */
    age: () => Date.now() - since,
    ticket,
    take,
    refill,

    /** Ask for the first questions; after a reload, the one that was current before comes first. */
    async start() {
      const was = recall();
      await ask((answer, from) => {
        const first = answer.questions.filter(({ item }) => item === was);
        take([...first, ...answer.questions.filter(({ item }) => item !== was)], from);
        if (!current) empty = answer.empty ?? null;
        onChange();
      });
    },

    /** The current question is answered: go on to the next. */
    next() {
      if (current) answered.set(current.item, Infinity);
      advance();
    },

    /** These items are answered somewhere else: they are not asked any more. @param {number[]} items */
    drop(items) {
      const gone = new Set(items);
      for (const item of gone) answered.set(item, Infinity);
      ahead = ahead.filter(({ item }) => !gone.has(item));
      if (current && gone.has(current.item)) advance();
    },

    /** The server has written down the answers to these. @param {number[]} items */
    acknowledged(items) {
      for (const item of items) if (answered.has(item)) answered.set(item, (clock += 1));
      if (!current) plan(0);
    },

    /** The answers to these were taken back in another tab. @param {number[]} items */
    reopen(items) {
      for (const item of items) answered.delete(item);
    },

    /** Make a question current again: its answer was taken back. @param {Question} question */
    bring(question) {
      answered.delete(question.item);
      ahead = ahead.filter(({ item }) => item !== question.item);
      if (current && current.item !== question.item) ahead.unshift(current);
      current = question;
      remember(question.item);
      warm(question);
      onChange();
    },

    /** Hold these from now on, the current one first. @param {Question[]} questions @param {Ticket} from */
    hold(questions, from) {
      ahead = questions.filter(({ item }) => item !== current?.item && !outdated(item, from));
      ahead.forEach(warm);
      since = Date.now();
      if (!current) advance();
    },

    /** Ask anew: a ranking or a pause may have changed what is to be asked. @param {boolean} replace the current too */
    async renew(replace) {
      if (asking) return;
      await ask((answer, from) => {
        const asked = answer.questions.filter(({ item }) => !outdated(item, from));
        const still = new Set(asked.map(({ item }) => item));
        const kept = current && (still.has(current.item) || !replace) ? current : null;
        ahead = asked.filter(({ item }) => item !== kept?.item);
        ahead.forEach(warm);
        since = Date.now();
        if (kept) return;
        empty = answer.empty ?? null;
        advance();
      });
    },
  };
}

/** Keep it for a reload, of this tab, so that two tabs keep their own. @param {number} item */
function remember(item) {
  try {
    sessionStorage.setItem("deepbass.current", String(item));
  } catch {
    // then the server's order decides
  }
}

function recall() {
  try {
    const kept = sessionStorage.getItem("deepbass.current");
    return kept === null ? null : Number(kept);
  } catch {
    return null;
  }
}
