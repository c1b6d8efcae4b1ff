/** The server's side of the page: one function a request, one kind of error. */

const PATIENCE = 15_000; // milliseconds until a request counts as failed

/** How the server is doing: unreachable, in trouble (an error of its own), refusing this browser, or fine.
 * @typedef {"ok"|"unreachable"|"trouble"|"loggedout"|"refused"} Reach */

/** @typedef {{item: number, name: string}} Question */
/** @typedef {{uid: string, item: number, kind: string, class?: number, undoes?: string, seconds?: number,
 *   saw_guess?: boolean, why?: string}} Act */
/** @typedef {{saved: string[], refused: {uid: string, reason: string}[], questions: Question[],
 *   panel: import("./store.js").Panel|null, last: object|null}} Receipt */

export class ApiError extends Error {
  /** @param {string} message @param {number} [status] 0: no answer came @param {number} [pause] seconds to wait */
  constructor(message, status = 0, pause = 0) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.pause = pause;
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
    project: () => call("/api/project"),
    panel: () => call("/api/panel"),
    last: () => call("/api/last"),
    disagreements: () => call("/api/disagreements"),
    /** @param {number} count */
    next: (count) => call(`/api/next?count=${count}`),
    /** @param {number} item */
    guess: (item) => call(`/api/guess/${item}`),
    /** @param {Object<string, any>} query */
    history: (query) => call(`/api/history?${ask(query)}`),
    /** @param {Object<string, any>} query */
    guesses: (query) => call(`/api/guesses?${ask(query)}`),
    /** @param {string} name */
    addClass: (name) => call("/api/classes", { name }),
    /** @param {Act[]} acts @param {number} want further ones @param {number[]} holding @returns {Promise<Receipt>} */
    acts: (acts, want, holding) => call("/api/acts", { acts, want, holding }),
    /** @param {string} name @param {string} password */
    login: (name, password) => call("/login", { name, password }),
    logout: () => call("/logout", {}),
  };
}

/** Make the address of a picture. @param {number} item @param {number} side its longer side at most */
export function pictureAddress(item, side) {
  return `/image/${item}?side=${side}`;
}

async function request(path, body, signal) {
  const headers = { Accept: "application/json", "X-Deepbass": "1" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
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

async function failure(response) {
  const said = await response.json().then((read) => read && read.error, () => null);
  const pause = Number(response.headers.get("Retry-After")) || 0;
  return new ApiError(said || `The server answered ${response.status}.`, response.status, pause);
}

function ask(query) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}
