/** The program of the live page: reads the controls, asks the server for the level, and shows the results. */
import { describeMark, drawChart, markByKey, summarize, type ChartMark, type ChartScene } from "../../../src/command/chart/index.js";
import type { Facts } from "../live.js";
import { Clients, DEVICES, identityOf, LANES, phoneOf, type Lane, type Mark } from "./clients.js";
import { Levels, type Numbers } from "./levels.js";
import { Reports } from "./reports.js";
import { WindowBeside } from "./window.js";

const PAST_MS = 15_000;
const FUTURE_MS = 5_000;
const NOTES: Readonly<Record<string, string>> = {
  edge: "One burst comes just before the window ends, and one just after. Compare how many are served.",
  foreground: "Six calls at once. Each obeys its 429, so all are served in the end.",
  runaway: "20 calls a second. The bucket serves its rate, and refuses the rest.",
  others: "A tablet and a watch call, too. Their buckets are their own: yours does not change.",
  obeying: "It waits as long as Retry-After says, so hardly a call is refused.",
  ignoring: "It calls 5 times a second. It is served no more than the client that obeys.",
};

const byId = <T extends Element = HTMLElement>(id: string): T => document.querySelector(`#${id}`) as T;
const tell = (id: string, text: string): void => {
  if (byId(id).textContent !== text) byId(id).textContent = text;
};
const [caller, policy] = [byId<HTMLSelectElement>("caller"), byId<HTMLSelectElement>("policy")];

const facts = (await (await fetch("/live/facts")).json()) as Facts;
const policies = new Map<string, Numbers>(facts.policies.map((each) => [each.name, each]));
for (const name of [...facts.users, "device phone", ...Object.values(DEVICES)]) caller.append(new Option(name, name));
for (const { name } of facts.policies) policy.append(new Option(name, name));

const [levels, beside] = [new Levels(), new WindowBeside()];
const marks: ChartMark[] = [];
let chosen: number | null = null;
const counts = new Map<Lane, { sent: number; passed: number; limited: number; other: number }>(LANES.map((lane) => [lane, { sent: 0, passed: 0, limited: 0, other: 0 }]));
const numbers = (): Numbers => policies.get(policy.value) as Numbers;
const reports = new Reports(() => caller.value, (response) => void showAnswer(response));
const clients = new Clients(() => ({ caller: caller.value, policy: policy.value }), onResponse);

function onResponse({ at, lane, status }: Mark, response: Response): void {
  marks.push({ at, lane: LANES.indexOf(lane), outcome: status < 300 ? "served" : status === 429 ? "refused" : "failed" });
  while ((marks[0] as ChartMark).at < at - PAST_MS * 2) {
    marks.shift();
    if (chosen !== null) chosen = chosen === 0 ? null : chosen - 1;
  }
  const count = counts.get(lane) as { sent: number; passed: number; limited: number; other: number };
  count.sent++;
  count[status < 300 ? "passed" : status === 429 ? "limited" : "other"]++;
  if (lane === "You") beside.call(at);
  showCounts();
  if (lane === "You") void showAnswer(response);
  void readLevel();
}

async function showAnswer(response: Response): Promise<void> {
  const body = await response.text();
  const fields = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
  tell("last", `${response.status} ${response.statusText}\n${fields}\n\n${pretty(body)}`);
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}

function showCounts(): void {
  const rows = [...counts].filter(([lane, { sent }]) => sent > 0 || lane === "You").map(([lane, { sent, passed, limited, other }]) => {
    const row = document.createElement("tr");
    const head = Object.assign(document.createElement("th"), { scope: "row", textContent: lane });
    row.append(head, ...[sent, passed, limited, other].map((each) => Object.assign(document.createElement("td"), { textContent: String(each) })));
    return row;
  });
  byId("counts").replaceChildren(...rows);
  const { passed, limited } = counts.get("You") as { passed: number; limited: number };
  for (const [id, count] of [["bucket-served", passed], ["bucket-refused", limited], ["window-served", beside.served], ["window-refused", beside.refused]] as const) tell(id, String(count));
}

/** The meaning of a bucket's numbers, in words. */
function inWords({ capacity, tokens, everyMs }: Numbers): string {
  const perSecond = (tokens / everyMs) * 1_000;
  const refill = perSecond >= 1 ? `${round(perSecond)} a second` : `1 every ${round(1 / perSecond)} seconds`;
  return `${capacity} at once, then ${refill}. In any 10 seconds a caller gets at most ${Math.floor(capacity + perSecond * 10)} requests. An empty bucket is full after ${round(capacity / perSecond)} seconds.`;
}

const round = (value: number): string => String(Math.round(value * 10) / 10);

// While a call is under way, at most one more is needed: the answer to all others would be the same.
let reading: "no" | "yes" | "again" = "no";
async function readLevel(): Promise<void> {
  if (reading !== "no") return void (reading = "again");
  reading = "yes";
  const asked = `${caller.value} ${policy.value}`;
  try {
    const query = new URLSearchParams({ policy: policy.value, phone: phoneOf(caller.value) });
    const { level = null } = (await (await fetch(`/live/level?${query}`, { headers: identityOf(caller.value) })).json()) as { level?: number | null };
    if (asked === `${caller.value} ${policy.value}`) levels.add(performance.now(), level);
  } catch {
    levels.add(performance.now(), null);
  } finally {
    const isAsked = (reading as string) === "again";
    reading = "no";
    if (isAsked) void readLevel();
  }
}

function draw(): void {
  const now = performance.now();
  const { capacity } = numbers();
  const span = { from: now - PAST_MS, to: now + FUTURE_MS, now, axis: "ago" } as const;
  const scene: ChartScene = { ...sizeOf("chart"), ...span, unit: "tokens", capacity, levels: levels.line(now, now + FUTURE_MS), marks, lanes: LANES, againAt: levels.againAt(now), chosen };
  byId("chart").innerHTML = drawChart(scene);
  const window: ChartScene = { ...sizeOf("window-chart"), ...span, ...beside.scene(now), unit: "requests", lanes: ["You"] };
  byId("window-chart").innerHTML = drawChart(window);
  showState(now, capacity);
  latest = { scene, window };
}
let latest: { readonly scene: ChartScene; readonly window: ChartScene } | undefined;

function sizeOf(id: string): { readonly width: number; readonly height: number } {
  const svg = byId<SVGSVGElement>(id);
  const [width, height] = [Math.max(280, svg.clientWidth), svg.clientHeight];
  if (svg.getAttribute("viewBox") !== `0 0 ${width} ${height}`) svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return { width, height };
}

/** True at every moment: computed from the level, not from the last answer. */
function showState(now: number, capacity: number): void {
  const [tokens, againAt] = [levels.tokensAt(now), levels.againAt(now)];
  const state = tokens === null ? "away" : againAt === null ? "free" : "refused";
  byId("state").dataset["state"] = state;
  tell("state", tokens === null ? "The store is away: this process decides" : againAt === null ? `You may call: ${round(tokens)} of ${capacity} tokens left` : `Empty: you may call again in ${((againAt - now) / 1_000).toFixed(1)} s`);
}

// A screen reader reads each text aloud, so it changes at most once a second, and has no countdown.
function announce(): void {
  const state = byId("state").dataset["state"];
  tell("status", state === "free" ? "You may call." : state === "refused" ? "The bucket is empty: calls are refused." : "The store is away: this process decides.");
  if (latest === undefined) return;
  tell("chart-text", summarize(latest.scene));
  tell("window-text", `A fixed window of ${round(beside.windowMs / 1_000)} s. ${summarize(latest.window)}`);
}

function onClick(id: string, run: (button: HTMLButtonElement) => unknown): void {
  const button = byId<HTMLButtonElement>(id);
  button.addEventListener("click", () => void run(button));
}

onClick("one", () => clients.send(1));
onClick("reports", () => reports.ask());
onClick("burst", () => clients.send(15));
onClick("foreground", () => {
  tell("note", NOTES["foreground"] as string);
  return clients.foreground();
});
onClick("edge", async () => {
  tell("note", NOTES["edge"] as string);
  if (beside.endAt(performance.now()) === null) await clients.send(1); // it opens the window
  const end = beside.endAt(performance.now()) ?? performance.now();
  for (const at of [end - 120, end + 30]) {
    await new Promise((resolve) => setTimeout(resolve, at - performance.now()));
    await clients.send(numbers().capacity);
  }
});
for (const name of ["runaway", "others", "obeying", "ignoring"] as const) {
  onClick(name, (button) => {
    tell("note", NOTES[name] as string);
    button.setAttribute("aria-pressed", String(clients.toggle(name)));
  });
}
onClick("outage-button", async (button) => {
  const isOut = button.getAttribute("aria-pressed") !== "true";
  await put("/live/outage", { isOut });
  button.setAttribute("aria-pressed", String(isOut));
  tell("note", isOut ? `The server lost its ${facts.store} store. It decides alone, with half of each limit. A refusal is a 503, not a 429.` : "The store is back.");
  await readLevel();
});

byId("chart").addEventListener("keydown", (event) => {
  const next = markByKey(event.key, chosen, marks.length);
  if (next === null || latest === undefined) return;
  event.preventDefault();
  chosen = next;
  tell("chosen", describeMark({ ...latest.scene, marks, now: performance.now() }, next));
});
byId("chart").addEventListener("blur", () => (chosen = null));

function restart(): void {
  levels.restart(numbers());
  beside.restart(numbers(), performance.now());
  tell("policy-text", inWords(numbers()));
  tell("window-note", `At most ${numbers().capacity} in ${round(beside.windowMs / 1_000)} s, counted anew in each window: around its edge a caller gets up to twice as much.`);
}
for (const select of [caller, policy]) {
  select.addEventListener("change", () => {
    restart();
    void readLevel();
    void reports.read();
  });
}

async function changeSandbox(): Promise<void> {
  const capacity = Number(byId<HTMLInputElement>("capacity").value);
  const tokens = Number(byId<HTMLInputElement>("refill").value);
  tell("capacity-value", String(capacity));
  tell("refill-value", String(tokens));
  policies.set("sandbox", { capacity, tokens, everyMs: 10_000 });
  policy.value = "sandbox";
  restart();
  await put("/live/sandbox", { name: "sandbox", capacity, tokens, everyMs: 10_000 });
  await readLevel();
}
for (const id of ["capacity", "refill"]) byId(id).addEventListener("input", () => void changeSandbox());

function put(path: string, body: object): Promise<Response> {
  return fetch(path, { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
showCounts();
await changeSandbox();
setInterval(() => void readLevel(), 1_000);
setInterval(draw, isCalm ? 200 : 50);
setInterval(announce, 1_000);
draw();
document.body.dataset["ready"] = "true";
if (!isCalm) setTimeout(() => void clients.send(15), 600); // the first burst, so that there is something to see
