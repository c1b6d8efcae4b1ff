/** The log-in page. */

import { createApi } from "./api.js";
import { say } from "./dom.js";
import { reason } from "./words.js";

const api = createApi(() => {});
const form = /** @type {HTMLFormElement} */ (document.getElementById("login"));
const problem = /** @type {HTMLElement} */ (document.getElementById("problem"));

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const given = new FormData(form);
  say(problem, "");
  try {
    await api.login(String(given.get("name")).trim(), String(given.get("password")));
    location.replace("/");
  } catch (error) {
    say(problem, reason(error));
    /** @type {HTMLInputElement} */ (form.elements.namedItem("password")).select();
  }
});

// only now: sent before this script was there, the form would go its own way, and reload the page
/** @type {HTMLButtonElement} */ (form.querySelector("button")).disabled = false;
