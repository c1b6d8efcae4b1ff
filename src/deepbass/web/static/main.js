/** Puts the page together. What is known stands in the store; every part gets what it needs from here. */

import { createActs, scopeOf } from "./acts.js";
import { createApi } from "./api.js";
import { createAskView } from "./ask.js";
import { createBar } from "./bar.js";
import { createConnection } from "./connection.js";
import { button, el, named, put } from "./dom.js";
import { createExportView } from "./export.js";
import { createFeed } from "./feed.js";
import { createGuessesView } from "./guesses.js";
import { createHelp } from "./help.js";
import { createHistoryView } from "./history.js";
import { createKeys } from "./keys.js";
import { openKeep } from "./keep.js";
import { startLive } from "./live.js";
import { createLook } from "./look.js";
import { createAnnouncer, createNotices } from "./notices.js";
import { createOutbox } from "./outbox.js";
import { createPanel } from "./panel.js";
import { createPictures } from "./pictures.js";
import { createRouter, drawHead } from "./router.js";
import { createSettleView } from "./settle.js";
import { createStore } from "./store.js";

const ASKED = new Set(["label", "skip", "unsure"]); // kinds of acts that answer a question

/** @param {string} id @returns {HTMLElement} */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Ask for the project until the server answers. */
async function loadProject(api) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10_000)) {
    try {
      return await api.project();
    } catch (error) {
      if (error.status === 401) location.replace("/login");
      put(byId("view"), el("p", { class: "empty", role: "status" }, `${error.message} Trying again…`));
      await new Promise((ready) => setTimeout(ready, pause));
    }
  }
}

async function start() {
  let heard = (/** @type {import("./api.js").Reach} */ _reach, /** @type {string} */ _message) => {};
  const api = createApi((reach, message) => heard(reach, message));
  const project = await loadProject(api);
  const store = createStore({ project, panel: null, reach: "ok" });
  const notices = createNotices();
  const { region, announce } = createAnnouncer();
  const pictures = createPictures();
  const connection = createConnection({ store, notices, onRetry, onBack });
  heard = connection.heard;
  let same = true; // whether this is the server that the page came from, with the same project and person

  const warm = (/** @type {import("./api.js").Question} */ { item }) => void pictures.get(item, ask.stage.side());
  const feed = createFeed({ api, warm, onChange: () => ask.draw() });
  const outbox = createOutbox({
    keep: await openKeep(),
    scope: scopeOf(project),
    send,
    onState: (state) => {
      bar.saved(state);
      connection.outbox(state.failed);
      panel.elsewhere(state.elsewhere);
    },
    onRefused,
    onSettled,
    onElsewhere,
  });
  const bar = createBar({ pictures, onUndo: () => void acts.undo() });
  const panel = createPanel({ store });
  const acts = createActs({ outbox, api, store, onGiven, onUndone, onNote: (text) => bar.note(text) });
  const keys = createKeys(() => ({
    ...router.view().keys,
    u: () => void acts.undo(),
    backspace: () => void acts.undo(),
    "ctrl+z": () => void acts.undo(),
    "?": () => help.open(),
  }));

  /** @type {any} */
  const app = { store, api, feed, acts, outbox, pictures, bar, keys, announce, addClass, unsentLabels };
  app.look = createLook(app);
  const ask = createAskView(app);
  const help = createHelp({ keys });
  const views = {
    label: ask,
    guesses: createGuessesView(app),
    answers: createHistoryView(app),
    disagreements: createSettleView(app),
    export: createExportView(app),
  };

  put(byId("title"), drawHead(project));
  put(byId("tools"), person(project),
    button({ label: "Keys", key: "?", shortcut: "?", class: "plain", click: () => help.open() }));
  byId("above").append(notices.root, bar.root);
  byId("side").append(panel.root);
  document.body.append(region, app.look.dialog, help.dialog);
  const router = createRouter({ views, place: byId("view"), tabs: byId("tabs"), store });

  /** Send acts, and take what comes back with the receipt. */
  async function send(batch) {
    if (!same) await recognise();
    const from = feed.ticket();
    const receipt = await api.acts(batch, feed.want(), feed.holding());
    const sent = new Set(batch.map(({ uid }) => uid));
    const open = new Set(outbox.waiting().filter(({ act }) => !sent.has(act.uid)).map(({ act }) => act.item));
    const done = batch.map(({ item }) => item).filter((item) => !open.has(item));
    feed.take(receipt.questions ?? [], { ...from, acts: new Set(done) });
    if (receipt.panel) store.set({ panel: receipt.panel });
    return receipt;
  }

  /** After a pause another project may be served at this address: its server must not get the answers to this one. */
  async function recognise() {
    const read = await api.project();
    if (scopeOf(read) !== scopeOf(project)) {
      location.reload();
      await new Promise(() => {}); // nothing more happens on this page
    }
    same = true;
    setClasses(read.classes); // there may be more by now
  }

  function doubt() {
    same = false;
  }

  function onOpen() {
    heard("ok", "");
    doubt();
    void recognise().catch(() => {}); // then before the next answer is sent
  }

  function onGiven(group) {
    bar.echo(group);
    const given = group.acts.filter(({ kind, why }) => why && ASKED.has(kind)).map(({ item }) => item);
    if (given.length) feed.drop(given); // answered in another view: not asked any more
  }

  function onUndone(group) {
    bar.undone(group);
    announce(`Taken back: ${group.words}`);
    const [{ item, name, kind, why }] = group.acts;
    if (group.acts.length === 1 && !why && ASKED.has(kind)) feed.bring({ item, name });
    else if (feed.current()?.item === item) ask.drawFlag();
    if (router.name() !== "label") router.view().refresh?.();
  }

  function onSettled(settled) {
    const open = new Set(outbox.waiting().map(({ act }) => act.item));
    feed.acknowledged(settled.map(({ item }) => item).filter((item) => !open.has(item)));
    if (router.name() === "export") views.export.refresh();
  }

  /** Another tab of the same person answered, or took back. */
  function onElsewhere(given) {
    feed.reopen(given.filter(({ kind }) => kind === "undo").map(({ item }) => item));
    feed.drop(given.filter(({ kind }) => ASKED.has(kind)).map(({ item }) => item));
  }

  function onRefused(entry, reason) {
    acts.forget(entry.act.uid);
    const text = ["Not saved: “", named(entry.about.answer), "” for ", named(entry.about.name), `. ${reason}`];
    notices.show(entry.act.uid, { kind: "bad", text, dismiss() {} });
  }

  function unsentLabels() {
    return outbox.waiting().filter(({ act }) => act.kind === "label").length;
  }

  /** @param {string} name */
  async function addClass(name) {
    const added = await api.addClass(name);
    const { classes } = store.get().project;
    if (!classes.some(({ id }) => id === added.id)) setClasses([...classes, added]);
    announce(`Class ${added.name} added`);
  }

  function setClasses(classes) {
    store.set({ project: { ...store.get().project, classes } });
  }

  /** The server is back: send what waits, and ask for what is missing. */
  function onBack() {
    announce("The server is back.");
    outbox.nudge();
    void feed.refill();
  }

  function onRetry() {
    outbox.kick();
    void api.panel().catch(() => {});
  }

  function onNews(kind, data) {
    if (kind === "panel" && data) store.set({ panel: data });
    const { panel: known } = store.get();
    if (kind === "trainer" && data && known) store.set({ panel: { ...known, trainer: { ...known.trainer, ...data } } });
    if (kind === "classes" && Array.isArray(data)) setClasses(data);
    if (kind === "ranking") {
      if (!outbox.waiting().length) void feed.renew(false);
      if (router.name() === "guesses") views.guesses.onRanking();
    }
  }

  function person({ login, annotator, several }) {
    if (!login && !several) return null;
    const leave = () => void api.logout().then(() => location.assign("/login"), () => {});
    const out = button({ label: "Log out", class: "link", click: leave });
    return el("span", { class: "person" }, named(annotator), login && out);
  }

  const left = await outbox.open();
  acts.adopt(left);
  feed.drop(left.filter(({ act }) => ASKED.has(act.kind)).map(({ act }) => act.item));
  document.addEventListener("visibilitychange", doubt);
  startLive({ api, onNews, onOpen });
  await Promise.all([feed.start(), api.panel().then((read) => store.set({ panel: read }), () => {})]);
  document.body.dataset.ready = "true";
}

byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address's hash belongs to the views
  byId("view").focus();
});
void start();
