/** The server's side of the page: one function per request, what it sends as types, one kind of error. */

const PATIENCE = 15_000; // milliseconds until a request counts as failed

/** How the server is doing: unreachable, in trouble (an error of its own), refusing this browser, or fine.
 * @typedef {"ok"|"unreachable"|"trouble"|"loggedout"|"refused"} Reach */

/**
 * @typedef {{id: number, name: string}} ClassName
 * @typedef {ClassName & {labels: number}} CountedClass
 * @typedef {ClassName & {existing: boolean, change: number|null}} AddedClass
 * @typedef {{change: number, labels: number}} ClassChange change: the number by which it is taken back
 * @typedef {{name: string, id?: string, kind: import("./words.js").Kind, items: number, classes: ClassName[], annotator: string, several: boolean,
 *   target: number|null, audit: number, twice: number, ahead: number, login: boolean}} Project
 *
 * @typedef {string|number|null} Cell of a table; null: nothing is there
 * @typedef {[string, Cell]} Column its name, and what stands in it
 * @typedef {{kind: "text", text: string, beside: Column[], characters: number}} TextContent characters: of all of it
 * @typedef {{kind: "row", cells: Column[], columns: number}} RowContent columns: how many there are
 * @typedef {TextContent|RowContent|{kind: "text"|"row", problem: string}} Content
 *
 * @typedef {{item: number, name: string}} Question
 * @typedef {{questions: Question[], empty: string|null}} Questions empty: why there is nothing to ask
 *
 * @typedef {"label"|"skip"|"unsure"|"flag"|"unflag"|"veto"|"settle"|"note"|"undo"} ActKind
 * @typedef {{uid: string, item: number, kind: ActKind, class?: number|null, undoes?: string, seconds?: number,
 *   saw_guess?: boolean, why?: string, note?: string}} Act
 * @typedef {{uid: string, item: number, name: string, kind: ActKind, class: number|null, note?: string}} LastAct
 * @typedef {LastAct & {group?: LastAct[]}} Last what undo takes back; group: all of it, oldest first, if it is several
 * @typedef {{saved: string[], refused: {uid: string, reason: string}[], questions?: Question[], panel: Panel|null,
 *   last: Last|null}} Receipt
 * @typedef {{id: number, uid: string, item: number, name: string, kind: ActKind, class: number|null, annotator: string,
 *   at: string, label: number|null, why: string, asked?: Asked|null, note: string}} HistoryRow why: of labels only;
 *   asked: why the model asked; note: the newest on the item
 * @typedef {{rule: string, top: {class: number|null, share: number}[]}} Asked top: the likeliest classes when the
 *   question was handed out; null where the class was removed since
 * @typedef {{acts: HistoryRow[], more: boolean, people: string[]}} HistoryPage people: who gave any answer
 *
 * @typedef {{class: number, confidence: number, entropy: number}} Guess
 * @typedef {{item: number, name: string, distance: number, guess: Guess|null}} AlikeRow
 * @typedef {{class: number|null, why_none: string|null, items: AlikeRow[]}} AlikeAnswer class: that they may get
 * @typedef {{item: number, name: string, guess: number, confidence: number, entropy: number}} GuessRow
 * @typedef {Record<number, number>} ByClass a number for every class, by its id; 0 where there is none
 * @typedef {{items: GuessRow[], total: number, counts: ByClass, threshold: number}} GuessesPage
 * @typedef {{confidence: number, guesses: number, n: number, errors: number, estimate: number|null, low: number|null,
 *   high: number|null}} GuessLevel guesses that are at least so sure; n: test questions that the model was so sure of
 * @typedef {{default: number, levels: GuessLevel[]}} GuessLevels by rising confidence
 *
 * @typedef {{item: number, name: string, label: number, guess: number|null}} Mistake guess: null where it was removed
 * @typedef {{n: number, errors: number, balanced_accuracy?: number, macro_f1?: number,
 *   classes: {class: number, n: number, found: number, said: number}[],
 *   pairs: {is: number, taken_for: number|null, times: number}[], mistakes: Mistake[]}} AuditResults
 *
 * @typedef {{item: number, name: string, answers: {annotator: string, class: number}[]}} Disagreement
 * @typedef {{people: string[], n: number, kappa: number|null}} Agreement
 * @typedef {{items: Disagreement[], agreement: Agreement[]}} Disagreements
 *
 * @typedef {{n: number, errors: number, estimate: number, low: number, high: number, labels: number}} Audit the newest
 *   model's answers to the test questions; labels: how many it was trained with
 * @typedef {{labels: number, estimate: number, low: number, high: number}} ErrorPoint
 * @typedef {{verdict: "unknown"|"not useful yet"|"useful"|"good enough", why: string, way: string|null,
 *   commonest: number|null}} Worth what the model is worth, why, and what is left to do; commonest: the error of always
 *   saying the commonest class
 * @typedef {{target: number|null, takes: number|null, fits: boolean, way: string}} TargetChoice takes: test questions, if
 *   none is answered wrongly; fits: whether there are so many; way: what is left to do
 * @typedef {{doing: string, share: number|null, restarts: number, error: string|null, note?: string|null,
 *   background?: string|null}} Trainer
 * @typedef {{labels: number, by_class: ByClass, answers: number, skipped: number, unsure: number, flagged: number,
 *   flagged_labels: number, threshold: number, pseudo: number, known_to_model: number, iteration: number,
 *   median_seconds: number|null, audit: Audit|null, target: number|null, good_enough: string|null, standstill: string|null,
 *   believed: string|null, worth: Worth, history: ErrorPoint[], trainer: Trainer, people: {name: string, labels: number}[], disagreements: number,
 *   ready: {need: {class: number, have: number, need: number}[]}|null}} Panel flagged_labels: of the flagged images,
 *   those with a label; pseudo: guesses of at least the threshold on images without one
 *
 * @typedef {Record<string, string|number|null>} Query what is empty is not asked
 * @typedef {ReturnType<typeof createApi>} Api
 */

/** @typedef {{error?: string, kind?: string, labels?: number}} Told what a refusal says; labels: how many there are */

export class ApiError extends Error {
  /**
   * @param {string} message @param {number} [status] 0: no answer came @param {number} [pause] seconds to wait
   * @param {Told} [told]
   */
  constructor(message, status = 0, pause = 0, told = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.pause = pause;
    this.told = told;
  }

  /** @returns {Reach} */
  get reach() {
    if (this.status === 0) return "unreachable";
    if (this.status === 401) return "loggedout";
    if (this.status === 403) return "refused";
    return this.status >= 500 ? "trouble" : "ok";
  }
}

/**
 * @param {(reach: Reach, message: string) => void} onReach told after every request
 */
export function createApi(onReach) {
  /**
   * @template Answer
   * @param {string} path
   * @param {object} [body] if there is one, it is sent by POST
   * @returns {Promise<Answer>}
   */
  async function call(path, body) {
    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), PATIENCE);
    try {
      const answer = await request(path, body, giveUp.signal);
      onReach("ok", "");
      return answer;
    } catch (error) {
      const known = error instanceof ApiError ? error : new ApiError("The server cannot be reached.");
      onReach(known.reach, known.message);
      throw known;
    } finally {
      clearTimeout(timer);
    }
  }

  return {
    /** @returns {Promise<Project>} */
    project: () => call("/api/project"),
    /** @returns {Promise<Panel>} */
    panel: () => call("/api/panel"),
    /** @returns {Promise<Last|null>} */
    last: () => call("/api/last"),
    /** @returns {Promise<Disagreements>} */
    disagreements: () => call("/api/disagreements"),
    /** @returns {Promise<AuditResults>} */
    auditResults: () => call("/api/audit"),
    /** @param {number} count @param {number|null} showing @returns {Promise<{questions: number}>} */
    auditFirst: (count, showing) => call("/api/audit", { count, showing }),
    /** @returns {Promise<{targets: TargetChoice[]}>} */
    targets: () => call("/api/targets"),
    /** @param {number|null} target @returns {Promise<{panel: Panel}>} */
    chooseTarget: (target) => call("/api/target", { target }),
    /**
     * Take questions along. @param {number} count @param {number} hours 0: as usual again @param {number[]} holding
     * @returns {Promise<Questions & {until: number|null}>} until: when they are no longer one's own, in seconds
     */
    takeAlong: (count, hours, holding) => call("/api/ahead", { count, hours, holding }),
    /** @param {number} count @returns {Promise<Questions>} */
    next: (count) => call(`/api/next?count=${count}`),
    /** @param {number} item @returns {Promise<{guess: Guess|null}>} */
    guess: (item) => call(`/api/guess/${item}`),
    /** @param {number} item @param {number} count @returns {Promise<AlikeAnswer>} */
    alike: (item, count) => call(`/api/alike/${item}?count=${count}`),
    /** @param {number} item @returns {Promise<{note: string}>} */
    note: (item) => call(`/api/note/${item}`),
    /** @param {Query} query @returns {Promise<HistoryPage>} */
    history: (query) => call(`/api/history?${ask(query)}`),
    /** @param {Query} query @returns {Promise<GuessesPage>} */
    guesses: (query) => call(`/api/guesses?${ask(query)}`),
    /** @returns {Promise<GuessLevels>} */
    guessLevels: () => call("/api/guess-levels"),
    /** @returns {Promise<{classes: CountedClass[]}>} */
    classes: () => call("/api/classes"),
    /** @param {string} name @returns {Promise<AddedClass>} */
    addClass: (name) => call("/api/classes", { name }),
    /** @param {number} id @param {string} name @returns {Promise<ClassName & {change: number}>} */
    renameClass: (id, name) => call(`/api/classes/${id}/rename`, { name }),
    /** @param {number} id @param {number} into @returns {Promise<ClassChange>} */
    mergeClasses: (id, into) => call(`/api/classes/${id}/merge`, { into }),
    /** @param {number} id @param {number} labels that the person knows to be lost @returns {Promise<ClassChange>} */
    removeClass: (id, labels) => call(`/api/classes/${id}/remove`, { labels }),
    /** @param {number} change @returns {Promise<{classes: ClassName[]}>} */
    undoClassChange: (change) => call("/api/classes/undo", { change }),
    /** @param {Act[]} acts @param {number} want further ones @param {number[]} holding @returns {Promise<Receipt>} */
    acts: (acts, want, holding) => call("/api/acts", { acts, want, holding }),
    /** @param {string} name @param {string} password @returns {Promise<void>} */
    login: (name, password) => call("/login", { name, password }),
    /** @returns {Promise<void>} */
    logout: () => call("/logout", {}),
  };
}

/** Make the address of a picture. @param {number} item @param {number} side its longer side at most */
export function pictureAddress(item, side) {
  return `/image/${item}?side=${side}`;
}

/** Make the address of what a text or row says. @param {number} item @param {"whole"|"short"} part */
export function contentAddress(item, part) {
  return `/content/${item}?part=${part}`;
}

/** @param {string} path @param {object|undefined} body @param {AbortSignal} signal */
async function request(path, body, signal) {
  const headers = new Headers({ Accept: "application/json", "X-Deepbass": "1" });
  if (body !== undefined) headers.set("Content-Type", "application/json");
  const response = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
    credentials: "same-origin",
    cache: "no-store",
    signal,
  });
  if (!response.ok) throw await failure(response);
  if (response.status === 204) return null;
  return response.json(); // an answer cut off in the middle fails here: to the page, none came
}

/** @param {Response} response */
async function failure(response) {
  /** @type {Told} */
  const told = await response.json().then((read) => read ?? {}, () => ({}));
  const pause = Number(response.headers.get("Retry-After")) || 0;
  return new ApiError(told.error || `The server answered ${response.status}.`, response.status, pause, told);
}

/** @param {Query} query */
function ask(query) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== "");
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}
