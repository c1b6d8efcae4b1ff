/** Puts the page together. What is known stands in the store; every part gets what it needs from here. */

import { createActs, scopeOf } from "./acts.js";
import { ApiError, createApi } from "./api.js";
import { createAhead } from "./ahead.js";
import { createAlike } from "./alike.js";
import { createAskView } from "./ask.js";
import { createBar } from "./bar.js";
import { createClassDialog } from "./class_dialog.js";
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
import { createModelView } from "./model.js";
import { createNote } from "./note.js";
import { createAnnouncer, createHint, createNotices } from "./notices.js";
import { createOutbox } from "./outbox.js";
import { createPanel } from "./panel.js";
import { createRouter, drawHead } from "./router.js";
import { createSettleView } from "./settle.js";
import { createShowing } from "./showing.js";
import { createStore } from "./store.js";
import { createTargetDialog } from "./target.js";
import { counted, reason } from "./words.js";

/**
 * @typedef {import("./api.js").Act} Act
 * @typedef {import("./api.js").ClassName} ClassName
 * @typedef {import("./acts.js").Group} Group
 *
 * What every view gets. announce: speak to screen readers; hint: say quietly; unsentLabels: how many wait to be sent.
 * @typedef {{store: import("./store.js").Store, api: import("./api.js").Api, feed: import("./feed.js").Feed,
 *   acts: import("./acts.js").Acts, outbox: import("./outbox.js").Outbox, bar: import("./bar.js").Bar,
 *   showing: import("./showing.js").Showing, keys: import("./keys.js").Keys, announce: (text: string) => void,
 *   hint: (text: string) => void, addClass: (name: string) => Promise<import("./api.js").AddedClass>,
 *   unsentLabels: () => number}} Shared
 * @typedef {Shared & {note: import("./note.js").Note}} Looking
 * @typedef {Looking & {look: import("./look.js").Look, alike: import("./alike.js").Alike,
 *   classDialog: import("./class_dialog.js").ClassDialog}} App
 */

const TESTS = 20; // test questions that are asked at a wish

/** Kinds of acts that answer a question. @type {Set<Act["kind"]>} */
const ASKED = new Set(["label", "skip", "unsure"]);

/** @param {string} id @returns {HTMLElement} */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Ask for the project until the server answers. @param {import("./api.js").Api} api */
async function loadProject(api) {
  for (let pause = 500; ; pause = Math.min(pause * 2, 10_000)) {
    try {
      return await api.project();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) location.replace("/login");
      put(byId("view"), el("p", { class: "empty", role: "status" }, `${reason(error)} Trying again…`));
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
  const hint = createHint();
  const showing = createShowing(project.kind);
  document.body.dataset.kind = project.kind;
  const connection = createConnection({ store, notices, onRetry, onBack });
  heard = connection.heard;
  let same = true; // whether this is the server that the page came from, with the same project and person

  const warm = (/** @type {import("./api.js").Question} */ { item }) => showing.warm(item, ask.stage.side());
  const ahead = createAhead({ store, api, showing, announce });
  const feed = createFeed({ api, size: ahead.size, warm, onChange: () => ask.draw() });
  /** @type {import("./outbox.js").Outbox} */
  const outbox = createOutbox({
    keep: await openKeep(),
    scope: scopeOf(project),
    send,
    onState(state) {
      bar.saved(state);
      connection.outbox(state.failed);
      panel.elsewhere(state.elsewhere);
    },
    onRefused,
    onSettled,
    onElsewhere,
  });
  const bar = createBar({
    showing, onUndo: () => void acts.undo(), onAlike: () => void alike.openLast(), findsAlike: () => alike.possible(),
  });
  const panel = createPanel({ store, ahead: ahead.part, onTest: () => void testNow(), onTarget: () => void target.open() });
  const acts = createActs({
    outbox, api, store, onGiven, onUndone, onChanged: bar.changed, onChangeUndone, onNote: bar.note,
  });
  const keys = createKeys(() => ({
    ...router.view().keys,
    u: () => void acts.undo(),
    backspace: () => void acts.undo(),
    "ctrl+z": () => void acts.undo(),
    "?": () => help.open(),
  }), (key) => hint(`${key} does nothing here. ? shows the keys.`));

  const shared = { store, api, feed, acts, outbox, showing, bar, keys, announce, hint, addClass, unsentLabels };
  const alike = createAlike(shared);
  const note = createNote(shared);
  const look = createLook({ ...shared, note });
  const classDialog = createClassDialog(shared);
  const target = createTargetDialog(shared);
  keys.hold(ahead.dialog, {});
  ahead.start(feed, warm);
  const app = { ...shared, look, alike, note, classDialog };
  const ask = createAskView(app);
  const help = createHelp({ keys, store });
  const views = {
    label: ask,
    guesses: createGuessesView(app),
    answers: createHistoryView(app),
    model: createModelView(app),
    disagreements: createSettleView(app),
    export: createExportView(app),
  };

  put(byId("title"), drawHead(project));
  put(byId("tools"), person(project),
    button({ label: "Help", key: "?", shortcut: "?", class: "plain", click: () => help.open() }));
  byId("above").append(notices.root, bar.root);
  byId("side").append(panel.root);
  document.body.append(region, look.dialog, alike.dialog, note.dialog, classDialog.dialog, target.dialog, ahead.dialog, help.dialog);
  const router = createRouter({ views, place: byId("view"), tabs: byId("tabs"), store });

  /** Send acts, and take what comes back with the receipt. @param {Act[]} batch */
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

  /** Ask test questions next, as the person wished. */
  async function testNow() {
    try {
      await outbox.drained();
      const { questions } = await api.auditFirst(TESTS, feed.current()?.item ?? null);
      await feed.renew(false);
      if (questions) location.hash = "#label";
      hint(questions ? `The next ${counted(questions, "question")} are test questions.` : "No test questions are left.");
    } catch (error) {
      notices.show("test", { kind: "bad", text: [reason(error)], closes: true });
    }
  }

  function doubt() {
    same = false;
  }

  function onOpen() {
    heard("ok", "");
    doubt();
    void recognise().catch(() => {}); // then before the next answer is sent
  }

  /** @param {Group} group */
  function onGiven(group) {
    bar.echo(group);
    alike.given(group);
    const given = group.acts.filter(({ kind, why }) => why && ASKED.has(kind)).map(({ item }) => item);
    if (given.length) feed.drop(given); // answered in another view: not asked any more
  }

  /** @param {Group} group */
  function onUndone(group) {
    bar.undone(group);
    alike.undone(group);
    announce(`Taken back: ${group.words}`);
    const [{ item, name, kind, why }] = group.acts;
    if (group.acts.length === 1 && !why && ASKED.has(kind)) feed.bring({ item, name });
    else if (feed.current()?.item === item) ask.drawFlag();
    if (router.name() !== "label") router.view().refresh?.();
  }

  /** @param {Act[]} settled */
  function onSettled(settled) {
    const open = new Set(outbox.waiting().map(({ act }) => act.item));
    feed.acknowledged(settled.map(({ item }) => item).filter((item) => !open.has(item)));
    if (router.name() === "export") router.view().refresh?.();
  }

  /** Another tab of the same person answered, or took back. @param {Act[]} given */
  function onElsewhere(given) {
    feed.reopen(given.filter(({ kind }) => kind === "undo").map(({ item }) => item));
    feed.drop(given.filter(({ kind }) => ASKED.has(kind)).map(({ item }) => item));
  }

  /** @param {import("./keep.js").Entry} entry @param {string} why */
  function onRefused(entry, why) {
    acts.forget(entry.act.uid);
    const text = ["Not saved: “", named(entry.about.answer), "” for ", named(entry.about.name), `. ${why}`];
    notices.show(entry.act.uid, { kind: "bad", text, closes: true });
  }

  function unsentLabels() {
    return outbox.waiting().filter(({ act }) => act.kind === "label").length;
  }

  /** @param {string} name */
  async function addClass(name) {
    const added = await api.addClass(name);
    const { id, name: known, existing, change } = added;
    const { classes } = store.get().project;
    if (!classes.some((one) => one.id === id)) setClasses([...classes, { id, name: known }]);
    if (change !== null) acts.changed(change, `Class “${known}” added.`);
    announce(existing ? `There is a class ${known} already.` : `Class ${known} added.`);
    return added;
  }

  /** @param {import("./acts.js").Change} change @param {ClassName[]} classes as they are now */
  function onChangeUndone(change, classes) {
    bar.undone(change);
    announce(`Taken back: ${change.words}`);
    setClasses(classes);
  }

  /** @param {ClassName[]} classes */
  function setClasses(classes) {
    const known = store.get().project;
    if (JSON.stringify(known.classes) === JSON.stringify(classes)) return;
    store.set({ project: { ...known, classes } });
    if (router.name() !== "label") router.view().refresh?.(); // labels may have moved, or ceased to count
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

  /** @type {import("./live.js").Listeners} */
  const on = {
    panel: (read) => read && store.set({ panel: read }),
    trainer(change) {
      const { panel: known } = store.get();
      if (change && known) store.set({ panel: { ...known, trainer: { ...known.trainer, ...change } } });
    },
    classes: (classes) => classes && setClasses(classes),
    ranking() {
      if (!outbox.waiting().length) void feed.renew(false);
      if (router.name() === "guesses") views.guesses.onRanking();
      if (router.name() === "model") views.model.refresh?.();
    },
  };

  /** @param {import("./api.js").Project} project */
  function person({ login, annotator, several }) {
    if (!login && !several) return null;
    const leave = () => void api.logout().then(
      () => location.assign("/login"),
      (error) => notices.show("logout", { kind: "bad", text: [reason(error)], closes: true }),
    );
    const out = button({ label: "Log out", class: "link", click: leave });
    return el("span", { class: "person" }, named(annotator), login && out);
  }

  const left = await outbox.open();
  acts.adopt(left);
  feed.drop(left.filter(({ act }) => ASKED.has(act.kind)).map(({ act }) => act.item));
  document.addEventListener("visibilitychange", doubt);
  startLive({ api, on, onOpen });
  await Promise.all([feed.start(), api.panel().then((read) => store.set({ panel: read }), () => {})]);
  document.body.dataset.ready = "true";
}

byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address's hash belongs to the views
  byId("view").focus();
});
void start();
