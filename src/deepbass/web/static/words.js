/** Numbers and times in words. An item is called by its kind. */

/** @typedef {"image"|"text"|"row"} Kind what an item is, and the word for it; several are "images", "texts", "rows" */

const THIN = "\u202f";

/** @param {number} share @returns {string} 4.2 % */
export function percent(share) {
  const value = share * 100;
  return `${Number(value.toFixed(value < 10 ? 1 : 0))}${THIN}%`;
}

/** @param {number} n @param {string} one @param {string} [many] @returns {string} "1 answer", "3 answers" */
export function counted(n, one, many = `${one}s`) {
  return `${number(n)} ${n === 1 ? one : many}`;
}

/** @param {string} thing @returns {string} "an image", "a text" */
export function a(thing) {
  return `${/^[aeiou]/.test(thing) ? "an" : "a"} ${thing}`;
}

/** @param {number} n @returns {string} 12 345 */
export function number(n) {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, THIN);
}

/** @param {number} s @returns {string} */
export function seconds(s) {
  if (s < 10) return `${s.toFixed(1)} s`;
  return s < 60 ? `${Math.round(s)} s` : `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
}

/** @param {string} iso @param {Date} [now] @returns {string} the time, with the day if it is another one */
export function moment(iso, now = new Date()) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const two = (/** @type {number} */ n) => String(n).padStart(2, "0");
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === now.toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** @param {string[]} names @param {number} [most] @returns {string} "cat, dog and 3 more" */
export function listed(names, most = 5) {
  if (names.length <= most) return names.join(", ");
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

/** @param {unknown} error @returns {string} what went wrong */
export function reason(error) {
  return error instanceof Error ? error.message : String(error);
}

/** @param {string} text @returns {string} with a capital letter */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
