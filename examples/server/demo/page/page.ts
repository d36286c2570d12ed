/** The program of the live page: reads the controls, asks the server for the level, and shows the results. */
import { describeMark, drawChart, FixedWindow, markByKey, summarize, type ChartMark, type ChartScene } from "../../../../simulate/src/chart/index.js";
import type { Facts, LevelAnswer } from "../live.js";
import { Answers } from "./answers.js";
import { Clients, DEVICES, identityOf, LANES, phoneOf, type Lane, type Mark } from "./clients.js";
import { burstAtEdge } from "./edge.js";
import { Levels, type Numbers } from "./levels.js";
import { Peaks } from "./most.js";
import { Notes } from "./notes.js";
import { oneAtATime } from "./one-at-a-time.js";
import { Reports } from "./reports.js";
import { SlidingWindow } from "./sliding.js";
import { statusAt } from "./status.js";
import { WindowBeside } from "./window.js";
import { inCode, inWords, round } from "./words.js";

/** The sandbox at first: five at once, then one a second, so that a wait can be seen. */
const SANDBOX: Numbers = { capacity: 5, tokens: 10, everyMs: 10_000 };
/** A longer window is too long to wait for. */
const LONGEST_WINDOW_MS = 10_000;
/** A level that is not there by then will not come. */
const ANSWER_WITHIN_MS = 5_000;

const byId = <T extends Element = HTMLElement>(id: string): T => document.querySelector(`#${id}`) as T;
const tell = (id: string, text: string): void => {
  if (byId(id).textContent !== text) byId(id).textContent = text;
};
const [caller, policy] = [byId<HTMLSelectElement>("caller"), byId<HTMLSelectElement>("policy")];

const facts = (await (await fetch("/live/facts")).json()) as Facts;
const policies = new Map<string, Numbers>(facts.policies.map((each) => [each.name, each]));
for (const name of [...facts.users, "device phone", ...Object.values(DEVICES)]) caller.append(new Option(name, name));
for (const { name } of facts.policies) policy.append(new Option(name, name));

const [levels, beside, sliding, answers, notes] = [new Levels(), new WindowBeside(FixedWindow), new WindowBeside(SlidingWindow), new Answers(), new Notes(facts)];
const windows = [["sliding", "A sliding", sliding], ["window", "A fixed", beside]] as const;
let peaks = new Peaks(1);
const marks: ChartMark[] = [];
let chosen: number | null = null;
const counts = new Map<Lane, { sent: number; passed: number; limited: number; other: number }>(LANES.map((lane) => [lane, { sent: 0, passed: 0, limited: 0, other: 0 }]));
const numbers = (): Numbers => policies.get(policy.value) as Numbers;
const reports = new Reports(() => caller.value, (response) => void answers.show(response));
const clients = new Clients(() => ({ caller: caller.value, policy: policy.value }), onResponse);

function onResponse({ at, lane, status }: Mark, response: Response): void {
  marks.push({ at, lane: LANES.indexOf(lane), outcome: status < 300 ? "served" : status === 429 ? "refused" : "failed" });
  while ((marks[0] as ChartMark).at < at - 30_000) {
    marks.shift();
    if (chosen !== null) choose(chosen === 0 ? null : chosen - 1);
  }
  const count = counts.get(lane) as { sent: number; passed: number; limited: number; other: number };
  count.sent++;
  count[status < 300 ? "passed" : status === 429 ? "limited" : "other"]++;
  if (lane === "You") {
    for (const [, , window] of windows) window.consume(at);
    if (status < 300) peaks.add(at);
    void answers.show(response);
  }
  showCounts();
  void readLevel();
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
  const shown = (id: string, served: number, refused: number, { atOnce, inAll }: Peaks): void => {
    for (const [what, count] of Object.entries({ served, refused, "at-once": atOnce, "in-all": inAll })) tell(`${id}-${what}`, String(count));
  };
  shown("bucket", passed, limited, peaks);
  for (const [id, , window] of windows) shown(id, window.served, window.refused, window.peaks);
}

/** Another number after each change of caller, policy or numbers. An answer counts only for the question that was asked. */
let question = 0;
/** Changes of the sandbox that the server may not have made yet. */
let changing = 0;
const readLevel = oneAtATime(async () => {
  const asked = question;
  const query = new URLSearchParams({ policy: policy.value, phone: phoneOf(caller.value) });
  const answer = await getJson<LevelAnswer>(`/live/level?${query}`);
  if (asked !== question || changing > 0) return;
  if (answer === null) return levels.lose(performance.now(), "silent");
  // Another page may have changed the sandbox.
  if (["capacity", "tokens", "everyMs"].some((name) => answer[name as keyof Numbers] !== numbers()[name as keyof Numbers])) take(answer);
  if (answer.level === null) levels.lose(performance.now(), "unavailable");
  else levels.add(performance.now(), answer.level);
});

/** What the server answers, or null without a good answer. */
async function getJson<T>(path: string): Promise<T | null> {
  try {
    const response = await fetch(path, { headers: identityOf(caller.value), signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return response.ok ? ((await response.json()) as T) : null;
  } catch {
    return null;
  }
}

function draw(): void {
  const now = performance.now();
  const { capacity } = numbers();
  const isNarrow = byId("chart").clientWidth < 500;
  const [pastMs, futureMs] = isNarrow ? [10_000, 4_000] : [15_000, 5_000];
  const span = { from: now - pastMs, to: now + futureMs, now, axis: "ago" } as const;
  const scene: ChartScene = { ...sizeOf("chart"), ...span, unit: "tokens", capacity, levels: levels.line(now, now + futureMs), marks, lanes: LANES, againAt: levels.againAt(now), chosen };
  byId("chart").innerHTML = drawChart(scene);
  const others = windows.map(([id, name, window]) => {
    const other: ChartScene = { ...sizeOf(`${id}-chart`), ...span, ...window.scene(now), unit: "requests", lanes: ["You"] };
    byId(`${id}-chart`).innerHTML = drawChart(other);
    return [id, `${name} window of ${round(window.windowMs / 1_000)} s.`, other] as const;
  });
  const status = statusAt(now, levels, capacity, facts.onStoreError);
  if (status !== null) {
    byId("state").dataset["state"] = status.state;
    tell("state", status.text);
  }
  latest = { scene, others };
}
let latest: { readonly scene: ChartScene; readonly others: ReadonlyArray<readonly [id: string, name: string, scene: ChartScene]> } | undefined;

function sizeOf(id: string): { readonly width: number; readonly height: number } {
  const svg = byId<SVGSVGElement>(id);
  const [width, height] = [Math.max(280, svg.clientWidth), svg.clientHeight];
  if (svg.getAttribute("viewBox") !== `0 0 ${width} ${height}`) svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  return { width, height };
}

// A screen reader reads each text aloud, so it changes at most once a second, and has no countdown.
function announce(): void {
  const status = statusAt(performance.now(), levels, numbers().capacity, facts.onStoreError);
  if (status !== null) tell("status", status.said);
  if (latest === undefined) return;
  tell("chart-text", summarize(latest.scene));
  for (const [id, name, scene] of latest.others) tell(`${id}-text`, `${name} ${summarize(scene)}`);
}

function onClick(id: string, run: (button: HTMLButtonElement) => unknown): void {
  const button = byId<HTMLButtonElement>(id);
  button.addEventListener("click", () => void run(button));
}

for (const [id, run] of [["one", () => clients.send(1)], ["burst", () => clients.send(15)], ["foreground", () => clients.foreground()]] as const) {
  onClick(id, () => {
    notes.press(id);
    return run();
  });
}
onClick("reports", () => reports.ask());
/** What stands before the countdown of the bursts: the answer to a press while they wait. */
let edgeNote = "";
// A button with the focus loses it when it is disabled. With aria-disabled it keeps it.
async function playEdge(): Promise<void> {
  const button = byId("edge");
  if (button.getAttribute("aria-disabled") === "true") {
    edgeNote = "It is playing now. ";
    return;
  }
  edgeNote = "";
  button.setAttribute("aria-disabled", "true");
  notes.press("edge");
  if (beside.windowMs > LONGEST_WINDOW_MS) await changeSandbox(SANDBOX);
  const asked = question;
  const tokenMs = numbers().everyMs / numbers().tokens;
  const outcome = await burstAtEdge({
    beside, tokenMs, atOnceMs: peaks.atOnceMs,
    send: (count) => clients.send(count), tell: (text) => notes.count(edgeNote + text), isSame: () => asked === question,
  });
  button.setAttribute("aria-disabled", "false");
  notes.tell({
    shown: `Two bursts of ${beside.limit} came around the window's end, and then a request for each token.`,
    missed: "The bursts missed the window's end each time: this computer is busy. Press again.",
    changed: "The numbers changed while the bursts waited. Press again.",
  }[outcome]);
}
onClick("edge", playEdge);
for (const name of ["runaway", "others", "obeying", "ignoring"] as const) {
  onClick(name, (button) => {
    const isOn = clients.toggle(name);
    button.setAttribute("aria-pressed", String(isOn));
    notes.press(name, isOn);
  });
}
onClick("outage-button", async (button) => {
  const isOut = button.getAttribute("aria-pressed") !== "true";
  if (await put("/live/outage", { isOut })) {
    button.setAttribute("aria-pressed", String(isOut));
    notes.press("outage-button", isOut);
  } else notes.tell("The server did not change its store. Is it still running?");
  await Promise.all([readLevel(), reports.read()]);
});

/** Chooses a request of the chart, which is told in words, or none. */
function choose(next: number | null): void {
  chosen = next;
  tell("chosen", next === null || latest === undefined ? "" : describeMark({ ...latest.scene, marks, now: performance.now() }, next));
}
const CHOOSERS = ["chart", "previous", "next"];
byId("chart").addEventListener("keydown", (event) => {
  const next = markByKey(event.key, chosen, marks.length);
  if (next === null) return;
  event.preventDefault();
  choose(next);
});
onClick("previous", () => choose(markByKey("ArrowLeft", chosen, marks.length)));
onClick("next", () => choose(markByKey("ArrowRight", chosen, marks.length)));
for (const id of CHOOSERS) byId(id).addEventListener("blur", ({ relatedTarget }) => CHOOSERS.includes((relatedTarget as Element | null)?.id ?? "") || choose(null));

function restart(): void {
  question++;
  levels.restart(numbers());
  for (const [, , window] of windows) window.restart(numbers(), performance.now());
  peaks = new Peaks(beside.windowMs);
  tell("policy-text", inWords(numbers()));
  for (const code of document.querySelectorAll(".policy-code")) code.textContent = inCode(numbers());
  const period = `${round(beside.windowMs / 1_000)} s`;
  tell("at-once-name", `in ${round(peaks.atOnceMs / 1_000)} s`);
  tell("in-all-name", `in ${period}`);
  tell("sliding-note", `Never more than ${numbers().capacity} in any ${period}. Each request comes back ${period} after it was served.`);
  tell("window-note", `${numbers().capacity} in ${period}, counted anew in each window: around its edge up to ${2 * numbers().capacity} at once.`);
  showCounts();
}
for (const select of [caller, policy]) {
  select.addEventListener("change", () => {
    restart();
    void readLevel();
    void reports.read();
  });
}

/** Takes numbers for the chosen policy, which is the sandbox when they change. */
function take({ capacity, tokens, everyMs }: Numbers): void {
  policies.set(policy.value, { capacity, tokens, everyMs });
  if (policy.value === "sandbox") {
    byId<HTMLInputElement>("capacity").value = String(capacity);
    byId<HTMLInputElement>("refill").value = String((tokens * 10_000) / everyMs);
    tell("capacity-value", String(capacity));
    tell("refill-value", round((tokens * 10_000) / everyMs));
  }
  restart();
}

const sendSandbox = oneAtATime(async () => void (await put("/live/sandbox", policies.get("sandbox") as Numbers)));
async function changeSandbox(to: Numbers): Promise<void> {
  policy.value = "sandbox";
  take(to);
  changing++;
  await sendSandbox();
  changing--;
  question++;
  await readLevel();
}
const valueOf = (id: string): number => Number(byId<HTMLInputElement>(id).value);
for (const id of ["capacity", "refill"]) byId(id).addEventListener("input", () => void changeSandbox({ capacity: valueOf("capacity"), tokens: valueOf("refill"), everyMs: 10_000 }));

/** Whether the server did it. */
async function put(path: string, body: object): Promise<boolean> {
  try {
    return (await fetch(path, { method: "PUT", headers: { "Content-Type": "application/json", ...identityOf(caller.value) }, body: JSON.stringify(body) })).ok;
  } catch {
    return false;
  }
}

const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
byId("outage-button").setAttribute("aria-pressed", String(facts.isOut));
await put("/live/fresh", {}); // the window beside it begins anew, too
await changeSandbox(SANDBOX);
setInterval(() => void readLevel(), 1_000);
setInterval(draw, isCalm ? 200 : 50);
setInterval(announce, 1_000);
draw();
document.body.dataset["ready"] = "true";
if (!isCalm) setTimeout(() => void playEdge(), 300); // so that there is a difference to see
