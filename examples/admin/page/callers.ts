// The table of callers: one row for each, with a bar for its requests and the share of them that was refused.
import type { Key } from "sluice";
import type { CallerRow, Count } from "../recent-callers.js";
import { textOfKey } from "./key-text.js";
import { element, make } from "./parts.js";

type Column = "requests" | "refused" | "onTrial";

let by: Column = "refused";
let rows: readonly CallerRow[] = [];
let choose: (limiter: string, key: Key) => unknown = () => undefined;
let chosen = "";

/** Shows these callers, in the order that the operator chose. A click on one calls `onChoose`. */
export function showCallers(callers: readonly CallerRow[], onChoose: typeof choose): void {
  rows = callers;
  choose = onChoose;
  draw();
}

/** Marks the caller that is looked at. */
export function markCaller(limiter: string, key: Key): void {
  chosen = idOf(limiter, key);
  draw();
}

for (const button of document.querySelectorAll<HTMLButtonElement>("#callers th button")) {
  button.addEventListener("click", () => {
    by = button.dataset["by"] as Column;
    for (const each of document.querySelectorAll("#callers th[aria-sort]")) each.setAttribute("aria-sort", each.contains(button) ? "descending" : "none");
    draw();
  });
}

function draw(): void {
  const body = element("callers").querySelector("tbody") as HTMLElement;
  const focused = body.contains(document.activeElement) ? document.activeElement?.textContent : null;
  const most = Math.max(1, ...rows.map(({ requests }) => requests.count));
  const sorted = [...rows].sort((a, b) => b[by].count - a[by].count || b.refused.count - a.refused.count || b.requests.count - a.requests.count);
  element("no-callers").hidden = rows.length > 0;
  body.replaceChildren(...sorted.map((each) => drawRow(each, most)));
  for (const button of body.querySelectorAll("button")) if (button.textContent === focused) button.focus();
}

function drawRow({ limiter, key, digest, requests, refused, onTrial }: CallerRow, most: number): HTMLTableRowElement {
  const row = document.createElement("tr");
  const cell = (...content: readonly (string | Node)[]): void => {
    const made = document.createElement("td");
    made.append(...content);
    row.append(made);
  };
  if (digest === undefined) {
    const button = make("button", textOfKey(key));
    button.addEventListener("click", () => choose(limiter, key));
    cell(button, make("small", limiter));
  } else cell(make("span", textOfKey(key)), make("small", `${limiter}, a long key that was cut (${digest.slice(0, 8)})`));
  if (chosen === idOf(limiter, key)) row.setAttribute("aria-current", "true");
  // Green for what was allowed, red for what was refused, yellow for what shadow mode let through.
  const bar = document.createElement("div");
  bar.className = "bar";
  bar.append(...([["refused", refused], ["on-trial", onTrial], ["", { count: Math.max(0, requests.count - refused.count - onTrial.count) }]] as const).map(([name, { count }]) => {
    const part = make("span", "");
    part.className = name;
    part.style.width = `${(100 * Math.min(count, requests.count)) / most}%`;
    return part;
  }));
  cell(make("span", about(requests)), bar);
  cell(about(refused));
  cell(about(onTrial));
  if (refused.count > 0) row.classList.add("is-refused");
  return row;
}

/** A count, and its lower bound where the sketch is not sure. */
function about({ count, error }: Count): string {
  return error === 0 ? String(count) : `${count - error} to ${count}`;
}

function idOf(limiter: string, key: Key): string {
  return JSON.stringify([limiter, typeof key === "string" ? key : key.map(String)]);
}
