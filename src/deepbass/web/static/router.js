/** Views by the address's hash, so that reload, back and bookmarks work. */

import { el, letGo, named, put, say } from "./dom.js";
import { number } from "./words.js";

/**
 * @typedef {{root: HTMLElement, title: string, show: (rest: string[]) => void, hide: () => void, refresh?: () => void,
 *   keys: import("./keys.js").KeyMap}} View
 */

/**
 * @param {{views: Object<string, View>, place: HTMLElement, tabs: HTMLElement, store: any}} options the first view is
 *   the default
 */
export function createRouter({ views, place, tabs, store }) {
  const names = Object.keys(views);
  let name = "";
  let address = /** @type {string|null} */ (null);
  const tab = (/** @type {string} */ one) =>
    el("a", { href: `#${one}`, click: letGo }, el("span", {}, views[one].title), el("span", { class: "number" }));
  const links = new Map(names.map((one) => [one, tab(one)]));
  put(tabs, ...links.values());

  function follow() {
    const [wanted, ...rest] = location.hash.slice(1).split("/");
    const next = names.includes(wanted) ? wanted : names[0];
    const now = [next, ...rest].join("/");
    if (now === address) return;
    const moved = next !== name;
    if (name && moved) views[name].hide();
    address = now;
    name = next;
    if (moved) {
      put(place, views[name].root);
      for (const [one, link] of links) {
        if (one === name) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      links.get(name)?.scrollIntoView({ block: "nearest", inline: "nearest" });
      document.body.dataset.view = name;
      scrollTo(0, 0);
    }
    views[name].show(rest);
    drawTitle();
  }

  function drawTitle() {
    const { project, reach } = store.get();
    document.title = `${reach === "ok" ? "" : "(offline) "}${views[name].title} · ${project.name} · deepbass`;
  }

  store.watch(({ project, panel }) => {
    const open = panel?.disagreements ?? 0;
    const settle = links.get("disagreements");
    settle.hidden = !project.several && open === 0;
    say(settle.lastElementChild, open ? number(open) : "");
    say(links.get("guesses").lastElementChild, panel?.pseudo ? number(panel.pseudo) : "");
    if (name) drawTitle();
  });
  addEventListener("hashchange", follow);
  follow();

  return {
    /** @returns {View} */
    view: () => views[name],
    /** @returns {string} */
    name: () => name,
  };
}

/** @param {import("./store.js").Project} project @returns {any} the head of the page */
export function drawHead(project) {
  return [el("span", { class: "brand" }, "deepbass"), named(project.name, "project")];
}
