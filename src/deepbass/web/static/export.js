/** Everything to take away. */

import { el, put, soft } from "./dom.js";
import { counted } from "./words.js";

const FORMATS = [
  ["csv", "CSV table", "One row an image: name, label, who gave it and why. For spreadsheets and pandas."],
  ["jsonl", "JSON lines", "One image a line, with all that was said about it: every person's answer, skips, flags, the model's guess."],
  ["label-studio", "Label Studio", "JSON that Label Studio can import."],
  ["imagefolder", "Image folder (zip)", "The labelled images, a folder a class. For torchvision, fastai and Keras."],
  ["model", "Model (zip)", "The newest weights as safetensors, with their settings and classes."],
];

const NO_MODEL = "There is no model yet: training starts when every class has a few labels.";

/** @param {any} app */
export function createExportView({ store, outbox }) {
  const warning = el("p", { class: "problem", role: "status" });
  const list = el("ul", { class: "exports" });
  const root = el(
    "section", { class: "view export", "aria-labelledby": "export-title", tabindex: "-1" },
    el("h2", { id: "export-title" }, "Export"),
    soft("Files are made at the moment of the click. The command “deepbass export” makes the same without this page."),
    warning, list,
  );

  function draw() {
    const waiting = outbox.waiting().length;
    put(warning, waiting ? `${counted(waiting, "answer")} not sent yet, and so not in these files.` : "");
    const trained = store.get().panel?.iteration > 0;
    put(list, FORMATS.map(([format, title, text]) => {
      const there = format !== "model" || trained;
      const address = { href: `/api/export/${format}`, download: "", "aria-label": `Download: ${title}` };
      return el("li", {},
        el("div", {}, el("h3", {}, title), soft(there ? text : NO_MODEL)),
        there && el("a", { class: "plain", ...address }, "Download"));
    }));
  }

  return { root, title: "Export", show: draw, hide() {}, refresh: draw, keys: {} };
}
