/** A dialog in which classes are renamed, merged and removed. It says first what becomes of how many labels. */

import { ApiError } from "./api.js";
import { button, el, named, put, say, soft } from "./dom.js";
import { counted, reason } from "./words.js";

/**
 * @typedef {import("./api.js").CountedClass} CountedClass
 * @typedef {import("./api.js").ClassName} ClassName
 * @typedef {ReturnType<typeof createClassDialog>} ClassDialog
 *
 * A form below a class. first: what gets the focus, else the way out; act: do it, and say in words what was done and by
 * which change.
 * @typedef {{fields: HTMLElement[], submit: HTMLElement, first?: HTMLElement,
 *   act: () => Promise<{words: string, change: number}>}} Form
 */

const KEPT = "Renaming and merging keep every label, and all can be undone. The model keeps what it has learned.";

/** @param {import("./main.js").Shared} app */
export function createClassDialog({ store, api, acts, outbox, keys, announce }) {
  /** @type {CountedClass[]} */
  let classes = [];
  let form = /** @type {HTMLElement|null} */ (null); // the one that is open
  let busy = false;
  let loading = 0; // rises with every load, so that an old one's answer is dropped

  const list = el("ul", { class: "class-rows" });
  const done = el("p", { class: "done", role: "status" });
  const dialog = el(
    "dialog", { class: "class-dialog", "aria-labelledby": "class-dialog-title", tabindex: "-1", close: closeForm },
    el("header", {}, el("h2", { id: "class-dialog-title" }, "Classes"),
      button({ label: "Close", key: "Esc", class: "plain", click: () => dialog.close() })),
    soft(KEPT), done, list,
  );

  async function load() {
    const mine = (loading += 1);
    try {
      await outbox.drained(); // answers on their way count, too
      const read = await api.classes();
      if (mine !== loading || form) return;
      classes = read.classes;
      put(list, classes.map(row));
    } catch (error) {
      const problem = `The classes could not be loaded: ${reason(error)}`;
      if (mine === loading) put(list, el("li", { class: "problem" }, problem));
    }
  }

  /** @param {CountedClass} one */
  function row(one) {
    const { id, name, labels } = one;
    const opener = (/** @type {string} */ label, /** @type {(one: CountedClass) => Form} */ make) => {
      const click = () => openForm(one, make, node);
      const node = button({ label, class: "action", "aria-label": `${label} ${name}`, click });
      return node;
    };
    return el("li", { "data-class": id },
      el("div", { class: "class-row" },
        named(name, "answer"), el("span", { class: "soft" }, counted(labels, "label")),
        el("div", { class: "actions" }, opener("Rename", renaming),
          classes.length > 1 && opener("Merge", merging), opener("Remove", removing))));
  }

  /** @param {CountedClass} one @param {(one: CountedClass) => Form} make @param {HTMLElement} from */
  function openForm(one, make, from) {
    closeForm();
    say(done, "");
    const { fields, submit, first, act } = make(one);
    const problem = el("p", { class: "problem", role: "alert" });
    const leave = () => {
      closeForm();
      from.focus();
    };
    const cancel = button({ label: "Cancel", class: "plain", click: leave });
    form = el("form", {
      class: "class-form",
      submit: (event) => {
        event.preventDefault();
        void finish(act, problem);
      },
      keydown: (event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.preventDefault(); // it leaves the form, not the dialog around it
        event.stopPropagation();
        leave();
      },
    }, fields, el("div", { class: "actions" }, submit, cancel), problem);
    list.querySelector(`[data-class="${one.id}"]`)?.append(form);
    (first ?? cancel).focus();
    form.scrollIntoView({ block: "nearest" });
  }

  function closeForm() {
    form?.remove();
    form = null;
  }

  /** @param {Form["act"]} act @param {HTMLElement} problem */
  async function finish(act, problem) {
    if (busy) return;
    busy = true;
    try {
      const { words, change } = await act();
      closeForm();
      acts.changed(change, words);
      announce(words);
      put(done, `${words} `, button({ label: "Undo", key: "U", shortcut: "U", class: "link", click: undo }));
      await load();
      dialog.focus();
    } catch (error) {
      say(problem, reason(error));
    } finally {
      busy = false;
    }
  }

  /** @param {CountedClass} one @returns {Form} */
  function renaming({ id, name, labels }) {
    const input = el("input", { type: "text", maxlength: 100, autocomplete: "off", spellcheck: "false", value: name });
    return {
      fields: [
        el("label", {}, "New name ", input),
        el("p", {}, `${counted(labels, "label")} of “${name}” will have it, and nothing else changes.`),
      ],
      submit: el("button", { type: "submit", class: "plain main" }, "Rename"),
      first: input,
      async act() {
        const wanted = input.value.trim();
        if (!wanted || wanted === name) throw new Error("Type another name.");
        if (classes.some((one) => one.id !== id && one.name === wanted)) {
          throw new Error(`There is a class “${wanted}” already. To put both together, merge them.`);
        }
        const answer = await api.renameClass(id, wanted);
        return { words: `Class “${name}” is now “${answer.name}”.`, change: answer.change };
      },
    };
  }

  /** @param {CountedClass} one @returns {Form} */
  function merging({ id, name, labels }) {
    const others = classes.filter((one) => one.id !== id);
    const select = el("select", { change: tell }, others.map((one) => el("option", { value: one.id }, one.name)));
    const effect = el("p", { role: "status" });
    const chosen = () => others.find((one) => String(one.id) === select.value) ?? others[0];

    function tell() {
      const verb = labels === 1 ? "becomes" : "become";
      say(effect, `${counted(labels, "label")} of “${name}” ${verb} “${chosen().name}”, and “${name}” is gone.`);
    }

    tell();
    return {
      fields: [el("label", {}, "Into ", select), effect],
      submit: el("button", { type: "submit", class: "plain main" }, "Merge"),
      first: select,
      async act() {
        const into = chosen();
        const answer = await api.mergeClasses(id, into.id);
        const words = `Class “${name}” is merged into “${into.name}”: ${counted(answer.labels, "label")} moved.`;
        return { words, change: answer.change };
      },
    };
  }

  /** @param {CountedClass} one @returns {Form} */
  function removing({ id, name, labels }) {
    let told = labels;
    const effect = el("p", { role: "status" });
    const submit = el("button", { type: "submit", class: "plain danger" });

    function tell() {
      const things = `${store.get().project.kind}s`;
      const cost = `${counted(told, "answer")} will no longer count; the ${things} are asked again.`;
      say(effect, told ? cost : "No answer has this class: nothing is lost.");
      say(submit, told ? `Remove “${name}” and let ${counted(told, "answer")} go` : `Remove “${name}”`);
    }

    tell();
    return {
      fields: [effect], submit,
      async act() {
        try {
          const answer = await api.removeClass(id, told);
          const lost = `: ${counted(answer.labels, "answer")} no longer ${answer.labels === 1 ? "counts" : "count"}`;
          return { words: `Class “${name}” is removed${answer.labels ? lost : ""}.`, change: answer.change };
        } catch (error) {
          if (!(error instanceof ApiError && error.told.kind === "LabelsChanged")) throw error;
          told = error.told.labels ?? told;
          tell();
          throw new Error("The number of answers has just changed. If this is still right, press again.");
        }
      },
    };
  }

  /** Take the last change back, but no answer: that is done where answers are seen. */
  async function undo() {
    if (!acts.lastIsChange()) return;
    say(done, await acts.undo());
    await load();
    dialog.focus();
  }

  store.watch((_, change) => {
    if (change.project && dialog.open && !form && !busy) void load();
  });
  keys.hold(dialog, { u: () => void undo(), backspace: () => void undo(), "ctrl+z": () => void undo() });

  return {
    dialog,
    open() {
      if (dialog.open) return;
      say(done, "");
      put(list, el("li", { class: "soft" }, "Loading…"));
      dialog.showModal();
      void load();
    },
  };
}
