/** Views by the address's hash, so that reload, back and bookmarks work. */

import { el, letGo, named, put, say } from "./dom.js";
import { number } from "./words.js";

/**
 * @typedef {{root: HTMLElement, title: string, show: (rest: string[]) => void, hide: () => void, refresh?: () => void,
 *   keys: import("./keys.js").KeyMap}} View
 */

/**
 * @param {{views: Record<string, View>, place: HTMLElement, tabs: HTMLElement, store: import("./store.js").Store}}
 *   options the first view is the default
 */
export function createRouter({ views, place, tabs, store }) {
  const names = Object.keys(views);
  let name = "";
  let address = /** @type {string|null} */ (null);
  const links = new Map(names.map((one) => [one, tab(one, views[one].title)]));
  put(tabs, ...[...links.values()].map(({ link }) => link));

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
      for (const [one, { link }] of links) {
        if (one === name) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
      links.get(name)?.link.scrollIntoView({ block: "nearest", inline: "nearest" });
      document.body.dataset.view = name;
      scrollTo(0, 0);
    }
    views[name].show(rest);
    drawTitle();
  }

  /** @param {string} view @param {number} n */
  function count(view, n) {
    const one = links.get(view);
    if (one) say(one.number, n ? number(n) : "");
  }

  function drawTitle() {
    const { project, reach } = store.get();
    document.title = `${reach === "ok" ? "" : "(offline) "}${views[name].title} · ${project.name} · deepbass`;
  }

  store.watch(({ project, panel }) => {
    const open = panel?.disagreements ?? 0;
    count("disagreements", open);
    count("guesses", panel?.pseudo ?? 0);
    const settle = links.get("disagreements");
    if (settle) settle.link.hidden = !project.several && open === 0;
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

/** @param {string} view @param {string} title */
function tab(view, title) {
  const count = el("span", { class: "number" });
  return { number: count, link: el("a", { href: `#${view}`, click: letGo }, el("span", {}, title), count) };
}

/** Make the head of the page. @param {import("./api.js").Project} project */
export function drawHead(project) {
  return [el("span", { class: "brand" }, "deepbass"), named(project.name, "project")];
}
