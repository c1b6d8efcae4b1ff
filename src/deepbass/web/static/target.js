/** A dialog to choose another target: what each takes is said before it is chosen. */

import { button, el, put, say } from "./dom.js";
import { number, percent, reason } from "./words.js";

/**
 * @typedef {import("./api.js").TargetChoice} TargetChoice
 * @param {import("./main.js").Shared} app
 */
export function createTargetDialog({ store, api, outbox, keys, announce }) {
  const problem = el("p", { class: "problem", role: "status" });
  const list = el("fieldset", { class: "target-list" });
  const form = el(
    "form", { class: "target-form", submit: (event) => { event.preventDefault(); void save(); } }, list, problem,
    el("div", { class: "actions" },
      el("button", { type: "submit", class: "plain main" }, "Choose"),
      button({ label: "Cancel", key: "Esc", class: "plain", click: () => dialog.close() })),
  );
  const dialog = el(
    "dialog", { class: "target-dialog", "aria-labelledby": "target-title" },
    el("header", {}, el("h2", { id: "target-title" }, "When is the model good enough?")),
    el("p", { class: "soft" }, "It is called good enough when test questions show that its error is below the target, and "
      + "not by luck. A stricter target takes more of them. It counts for everybody in this project, from now on, and "
      + "can be changed again."),
    form,
  );
  keys.hold(dialog, {});

  /** @param {TargetChoice} choice @param {number|null} now */
  function line({ target, takes, fits, way }, now) {
    const name = target === null ? "No target" : `Error below ${percent(target)}`;
    const cost = takes === null ? "" : `takes ${number(takes)} test questions without a mistake`;
    return el("label", { class: fits ? "target" : "target too-many" },
      el("input", { type: "radio", name: "target", value: String(target), "data-now": target === now }),
      el("span", { class: "target-words" },
        el("span", {}, el("b", {}, name), cost && ` ${cost}`, !fits && ", and there are not so many"),
        el("span", { class: "soft" }, way)));
  }

  async function save() {
    const picked = list.querySelector("input:checked");
    if (!(picked instanceof HTMLInputElement)) return;
    const target = picked.value === "null" ? null : Number(picked.value);
    try {
      const { panel } = await api.chooseTarget(target);
      store.set({ panel });
      dialog.close();
      announce(target === null ? "There is no target now." : `The target is an error below ${percent(target)} now.`);
    } catch (error) {
      say(problem, `Not changed: ${reason(error)}`);
    }
  }

  return {
    dialog,
    async open() {
      put(list, el("legend", { class: "hidden-text" }, "Target"), el("p", { class: "loading" }, "Loading…"));
      say(problem, "");
      if (!dialog.open) dialog.showModal();
      try {
        await outbox.drained();
        const { targets } = await api.targets();
        const now = store.get().panel?.target ?? null;
        put(list, el("legend", { class: "hidden-text" }, "Target"), targets.map((one) => line(one, now)));
        const chosen = list.querySelector("[data-now]");
        if (chosen instanceof HTMLInputElement) {
          chosen.checked = true;
          chosen.focus();
        }
      } catch (error) {
        put(list);
        say(problem, `The targets could not be loaded: ${reason(error)}`);
      }
    },
  };
}
