/** The program of the live page: reads the controls, asks the server for the level, and shows the results. */
import type { Facts } from "../live.js";
import { drawChart, type Level } from "./chart.js";
import { Clients, DEVICES, identityOf, LANES, phoneOf, type Lane, type Mark } from "./clients.js";

type Numbers = Facts["policies"][number];

const byId = <T extends Element = HTMLElement>(id: string): T => document.querySelector(`#${id}`) as T;
const [caller, policy] = [byId<HTMLSelectElement>("caller"), byId<HTMLSelectElement>("policy")];

const facts = (await (await fetch("/live/facts")).json()) as Facts;
const policies = new Map<string, Numbers>(facts.policies.map((each) => [each.name, each]));
for (const name of [...facts.users, "device phone", ...Object.values(DEVICES)]) caller.append(new Option(name, name));
for (const { name } of facts.policies) policy.append(new Option(name, name));
byId("outage-section").hidden = !facts.canFail;

const levels: Level[] = [];
const marks: Mark[] = [];
const counts = new Map<Lane, { sent: number; passed: number; limited: number; other: number }>(LANES.map((lane) => [lane, { sent: 0, passed: 0, limited: 0, other: 0 }]));
const numbers = (): Numbers => policies.get(policy.value) as Numbers;
const clients = new Clients(() => ({ caller: caller.value, policy: policy.value }), onResponse);

function onResponse(mark: Mark, response: Response): void {
  marks.push(mark);
  const count = counts.get(mark.lane) as { sent: number; passed: number; limited: number; other: number };
  count.sent++;
  count[mark.status < 300 ? "passed" : mark.status === 429 ? "limited" : "other"]++;
  showCounts();
  void showAnswer(response);
  void readLevel();
}

// Shown at most once a second: a screen reader reads each text aloud.
let status = "";

async function showAnswer(response: Response): Promise<void> {
  const body = await response.text();
  const fields = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  byId("last").textContent = `${response.status} ${response.statusText}\n${fields}\n\n${pretty(body)}`;
  const wait = response.headers.get("retry-after");
  const left = response.headers.get("ratelimit-remaining");
  status = `${response.status}: ${wait === null ? `${left ?? "an unknown number of"} tokens left` : `refused, try again in ${wait} s`}`;
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function showCounts(): void {
  const rows = [...counts].map(([lane, { sent, passed, limited, other }]) => {
    const row = document.createElement("tr");
    const head = Object.assign(document.createElement("th"), { scope: "row", textContent: lane });
    row.append(head, ...[sent, passed, limited, other].map((each) => Object.assign(document.createElement("td"), { textContent: String(each) })));
    return row;
  });
  byId("counts").replaceChildren(...rows);
}

function showPolicy(): void {
  const { capacity, tokens, everyMs } = numbers();
  byId("policy-text").textContent = inWords(capacity, tokens, everyMs);
}

/** The meaning of a bucket's numbers, in words. */
function inWords(capacity: number, tokens: number, everyMs: number): string {
  const perSecond = (tokens / everyMs) * 1_000;
  const refill = perSecond >= 1 ? `${round(perSecond)} a second` : `1 every ${round(1 / perSecond)} seconds`;
  return `${capacity} at once, then ${refill}. In any 10 seconds a caller gets at most ${Math.floor(capacity + perSecond * 10)} requests. An empty bucket is full after ${round(capacity / perSecond)} seconds.`;
}

const round = (value: number): string => String(Math.round(value * 10) / 10);

// While a call is under way, another call is unnecessary: the answer would be the same.
let isReading = false;
async function readLevel(): Promise<void> {
  if (isReading) return;
  isReading = true;
  try {
    const query = new URLSearchParams({ policy: policy.value, phone: phoneOf(caller.value) });
    const { level } = (await (await fetch(`/live/level?${query}`, { headers: identityOf(caller.value) })).json()) as { level: number | null };
    levels.push({ at: performance.now(), tokens: level });
  } catch {
    levels.push({ at: performance.now(), tokens: null });
  } finally {
    isReading = false;
  }
}

function draw(): void {
  const { capacity } = numbers();
  drawChart(byId<SVGSVGElement>("chart"), capacity, levels, marks, performance.now());
  const last = levels.at(-1)?.tokens ?? null;
  byId("chart-text").textContent = last === null ? "The level is unknown: the store does not answer." : `${round(last)} of ${capacity} tokens. The line shows the last 20 seconds; dots are answered requests, crosses are refused.`;
}

function onClick(id: string, run: (button: HTMLButtonElement) => unknown): void {
  const button = byId<HTMLButtonElement>(id);
  button.addEventListener("click", () => void run(button));
}

onClick("one", () => clients.send(1));
onClick("burst", () => clients.send(15));
onClick("foreground", () => clients.foreground());
for (const name of ["runaway", "obeying", "ignoring"] as const) {
  onClick(name, (button) => button.setAttribute("aria-pressed", String(clients.toggle(name))));
}
onClick("outage-button", async (button) => {
  const isOut = button.getAttribute("aria-pressed") !== "true";
  await put("/live/outage", { isOut });
  button.setAttribute("aria-pressed", String(isOut));
});

for (const select of [caller, policy]) {
  select.addEventListener("change", () => {
    levels.length = 0;
    showPolicy();
    void readLevel();
  });
}

async function changeSandbox(): Promise<void> {
  const capacity = Number(byId<HTMLInputElement>("capacity").value);
  const tokens = Number(byId<HTMLInputElement>("refill").value);
  byId("capacity-value").textContent = String(capacity);
  byId("refill-value").textContent = String(tokens);
  byId("sandbox-text").textContent = inWords(capacity, tokens, 10_000);
  const changed = { name: "sandbox", capacity, tokens, everyMs: 10_000 };
  policies.set("sandbox", changed);
  showPolicy();
  await put("/live/sandbox", changed);
  await readLevel();
}
for (const id of ["capacity", "refill"]) byId(id).addEventListener("input", () => void changeSandbox());

function put(path: string, body: object): Promise<Response> {
  return fetch(path, { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

showCounts();
await changeSandbox();
setInterval(() => void readLevel(), 400);
setInterval(draw, 100);
setInterval(() => {
  if (byId("status").textContent !== status) byId("status").textContent = status;
}, 1_000);
document.body.dataset["ready"] = "true";
