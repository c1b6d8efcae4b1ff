/** The estimated error against the number of labels, as a small picture with a text in its place. */

import { svg } from "./dom.js";
import { number, percent } from "./words.js";

const SIZE = { width: 320, height: 176, left: 40, right: 12, top: 12, bottom: 34 };

/** @typedef {import("./api.js").ErrorPoint} Point */

/**
 * Draw the curve with its band and the target.
 * @param {Point[]} points in order of time; the number of labels may fall, when a class is removed
 * @param {number|null} target
 * @returns {SVGElement}
 */
export function drawChart(points, target) {
  const { width, height, left, right, top, bottom } = SIZE;
  const last = points[points.length - 1];
  const most = Math.max(...points.map(({ labels }) => labels));
  const least = points.length > 1 ? Math.min(...points.map(({ labels }) => labels)) : 0;
  // the band of the first few may be cut off above: what matters is where the curve has come to
  const tallest = Math.max(...points.map(({ estimate }) => estimate * 1.1), last.high, (target ?? 0) * 1.2, 0.01);
  const ticks = niceTicks(Math.min(1, tallest), 4);
  const ceiling = ticks[ticks.length - 1];
  const [wide, high, span] = [width - left - right, height - top - bottom, Math.max(1, most - least)];
  const x = (/** @type {number} */ labels) => left + ((labels - least) / span) * wide;
  const y = (/** @type {number} */ share) => height - bottom - (Math.min(share, ceiling) / ceiling) * high;
  const at = (/** @type {number} */ labels, /** @type {number} */ share) =>
    `${x(labels).toFixed(1)},${y(share).toFixed(1)}`;

  const band = [...points.map((p) => at(p.labels, p.high)), ...points.map((p) => at(p.labels, p.low)).reverse()];
  return svg(
    "svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describe(points, target) },
    ticks.map((tick) => [
      svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, tickText(tick)),
    ]),
    labelTicks(least, most).map((tick, index, all) => {
      const anchor = index === all.length - 1 ? "end" : "middle";
      return svg("text", { x: x(tick), y: height - bottom + 15, "text-anchor": anchor }, number(tick));
    }),
    svg("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "labels known to the model"),
    points.length > 1
      ? [svg("polygon", { class: "band", points: band.join(" ") }),
        svg("polyline", { class: "line", points: points.map((p) => at(p.labels, p.estimate)).join(" ") })]
      : svg("line", { class: "whisker", x1: x(last.labels), x2: x(last.labels), y1: y(last.low), y2: y(last.high) }),
    target === null ? null : targetLine(target, y),
    svg("circle", { class: "point", cx: x(last.labels), cy: y(last.estimate), r: 3.5 }),
  );
}

/** @param {number} target @param {(share: number) => number} y */
function targetLine(target, y) {
  const { width, left, right } = SIZE;
  return [
    svg("line", { class: "target", x1: left, x2: width - right, y1: y(target), y2: y(target) }),
    svg("text", { class: "target-name", x: left + 4, y: y(target) - 4 }, `target ${percent(target)}`),
  ];
}

/** Say in words what the picture shows. @param {Point[]} points @param {number|null} target @returns {string} */
export function describe(points, target) {
  const last = points[points.length - 1];
  const range = `between ${percent(last.low)} and ${percent(last.high)}`;
  const now = `${percent(last.estimate)} at ${number(last.labels)} labels, ${range}`;
  const from = points.length > 1 ? `from ${percent(points[0].estimate)} at ${number(points[0].labels)} labels to ` : "";
  const aim = target === null ? "" : ` The target is ${percent(target)}.`;
  return `Estimated error against the number of labels: ${from}${now}.${aim}`;
}

/** Round steps from 0 to at least ``most``. @param {number} most @param {number} count @returns {number[]} */
export function niceTicks(most, count) {
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999) ?? rough;
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, index) => index * step);
}

/** @param {number} least @param {number} most */
function labelTicks(least, most) {
  const middle = Math.round((least + most) / 2);
  return most - least < 4 ? [most] : [least, middle, most];
}

/** @param {number} share */
function tickText(share) {
  return `${Number((share * 100).toFixed(2))}%`;
}
