/** The chart: the level of the bucket over the last 20 seconds, and a lane of marks for each client. */
import { LANES, type Mark } from "./clients.js";

/** Tokens at an instant; null while the level is unknown. */
export interface Level {
  readonly at: number;
  readonly tokens: number | null;
}

const SPAN_MS = 20_000;
const SVG = "http://www.w3.org/2000/svg";

/** Draws what happened up to `now`. Marks and levels before the span are removed from the lists. */
export function drawChart(svg: SVGSVGElement, capacity: number, levels: Level[], marks: Mark[], now: number): void {
  // One unit is one pixel, so that text keeps its size on a phone.
  const width = Math.max(280, svg.clientWidth);
  svg.setAttribute("viewBox", `0 0 ${width} 260`);
  const plot = { left: 60, right: width - 10, top: 14, bottom: 170 };
  for (const list of [levels, marks]) while (list.length > 1 && (list[1] as { at: number }).at < now - SPAN_MS) list.shift();
  const x = (at: number): number => plot.right - ((now - at) / SPAN_MS) * (plot.right - plot.left);
  const y = (tokens: number): number => plot.bottom - (tokens / capacity) * (plot.bottom - plot.top);

  const shapes: SVGElement[] = [];
  for (const tokens of [0, capacity]) {
    shapes.push(shape("line", { class: "grid", x1: plot.left, x2: plot.right, y1: y(tokens), y2: y(tokens) }));
    shapes.push(label(plot.left - 8, y(tokens) + 4, String(tokens), "end"));
  }
  let path = "";
  let isKnown = false;
  for (const { at, tokens } of levels) {
    if (tokens !== null && at >= now - SPAN_MS) path += `${isKnown ? "L" : "M"}${x(at).toFixed(1)} ${y(tokens).toFixed(1)}`;
    isKnown = tokens !== null && at >= now - SPAN_MS;
  }
  shapes.push(shape("path", { class: "level", d: path }));
  LANES.forEach((lane, i) => {
    const height = plot.bottom + 24 + i * 26;
    shapes.push(label(plot.left - 8, height + 4, lane, "end"));
    for (const { at, status } of marks.filter((mark) => mark.lane === lane && mark.at >= now - SPAN_MS)) {
      const left = x(at);
      if (status < 400) shapes.push(shape("circle", { class: "passed", cx: left, cy: height, r: 4 }));
      else shapes.push(shape("path", { class: "refused", d: `M${left - 4} ${height - 4}l8 8m0 -8l-8 8` }));
    }
  });
  svg.replaceChildren(...shapes);
}

function label(x: number, y: number, text: string, anchor: string): SVGElement {
  const made = shape("text", { x, y, "text-anchor": anchor });
  made.textContent = text;
  return made;
}

function shape(name: string, attributes: Readonly<Record<string, string | number>>): SVGElement {
  const made = document.createElementNS(SVG, name) as SVGElement;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  return made;
}
