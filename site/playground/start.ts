// The program of the playground: sliders in, charts and the last answer out. It asks no server.
import { countMarks, describeMark, drawChart, drawCounts, markByKey, mostServedIn, summarize, type ChartScene } from "../../simulate/src/chart/index.js";
import { inWords, round } from "../../examples/server/demo/page/words.js";
import { AT_ONCE_MS, play, readSettings, writeSettings, type Played, type Settings } from "./simulate.js";

const SLIDERS = ["capacity", "refill", "steady", "burst", "every"] as const;
/** The buttons that say when the requests come. */
const MODES = [["play-edge", 1], ["play-even", 0]] as const;
const AT_EDGE_TEXT = "One request opens a window. A burst comes 0.2 s before its end, one at its end, and then a request for each token that is back.";
const byId = <T extends Element = HTMLElement>(id: string): T => document.querySelector(`#${id}`) as T;
const tell = (id: string, text: string): void => void (byId(id).textContent = text);

/** Starts the page's controls. Returns the function that stops them. */
export function start(): () => void {
  let settings = readSettings(location.search);
  let played: Played | undefined;
  let chosen: number | null = null;
  const controls = new AbortController();
  const on = (id: string, event: string, run: (event: Event) => void): void => byId(id).addEventListener(event, run, { signal: controls.signal });

  for (const name of SLIDERS) {
    on(`play-${name}`, "input", () => {
      change({ ...settings, [name]: Number(byId<HTMLInputElement>(`play-${name}`).value) });
    });
  }
  for (const [id, edge] of MODES) on(id, "click", () => change({ ...settings, edge }));
  on("play-link", "click", () => {
    const link = new URL(writeSettings(settings), location.href).href;
    navigator.clipboard.writeText(link).then(() => tell("play-link", "Copied"), () => tell("play-link", "See the address bar"));
    setTimeout(() => controls.signal.aborted || tell("play-link", "Copy link"), 2_000);
  });
  on("play-chart", "keydown", (event) => step((event as KeyboardEvent).key) && event.preventDefault());
  on("play-previous", "click", () => step("ArrowLeft"));
  on("play-next", "click", () => step("ArrowRight"));
  on("play-chart", "click", (event) => choose(event as MouseEvent));
  const sized = new ResizeObserver(() => draw());
  sized.observe(byId("play-chart"));
  void show();
  return () => {
    controls.abort();
    sized.disconnect();
  };

  function change(next: Settings): void {
    settings = next;
    history.replaceState(history.state, "", writeSettings(settings));
    void show();
  }

  /** Chooses the request that a key leads to. Returns whether the key leads to one. */
  function step(key: string): boolean {
    const next = markByKey(key, chosen, played?.marks.length ?? 0);
    if (next !== null) chosen = next;
    draw();
    return next !== null;
  }

  async function show(): Promise<void> {
    const asked = settings;
    for (const name of SLIDERS) {
      byId<HTMLInputElement>(`play-${name}`).value = String(asked[name]);
      tell(`play-${name}-value`, String(asked[name]));
    }
    for (const [id, edge] of MODES) byId(id).setAttribute("aria-pressed", String(asked.edge === edge));
    byId("play-even-sliders").hidden = asked.edge === 1; // they would have no effect
    tell("play-requests", asked.edge === 1 ? AT_EDGE_TEXT : "");
    tell("play-limit", inWords({ capacity: asked.capacity, tokens: asked.refill, everyMs: 10_000 }));
    const done = await play(asked);
    if (asked !== settings || controls.signal.aborted) return; // a slider moved meanwhile
    played = done;
    const first = done.marks.findIndex(({ outcome }) => outcome === "refused");
    chosen = first === -1 ? (done.marks.length === 0 ? null : done.marks.length - 1) : first;
    draw();
    byId("playground").dataset["ready"] = "true";
  }

  function draw(): void {
    if (played === undefined) return;
    const scene = sceneOf("play-chart", played, "tokens");
    byId("play-chart").innerHTML = drawChart({ ...scene, chosen, wait: waitOf(played) });
    tell("play-text", summarize(scene));
    const sliding = sceneOf("play-sliding", played.sliding, "tokens");
    byId("play-sliding").innerHTML = drawChart(sliding);
    tell("play-sliding-text", summarize(sliding));
    const window = sceneOf("play-window", played.window, "requests");
    byId("play-window").innerHTML = drawChart({ ...window, edges: played.window.edges });
    tell("play-window-text", summarize(window));
    const { windowMs } = played.window;
    // A token of a sliding window that comes back at the end of a period is of the next one.
    for (const [id, { marks }, periodMs] of [["play-count", scene, windowMs], ["play-sliding-count", sliding, windowMs - 1], ["play-window-count", window, windowMs]] as const) {
      byId(id).innerHTML = drawCounts(countMarks(marks));
      tell(`${id}-most`, String(mostServedIn(marks, AT_ONCE_MS)));
      tell(`${id}-most-window`, String(mostServedIn(marks, periodMs)));
    }
    const period = `${round(windowMs / 1_000)} s`;
    for (const element of document.querySelectorAll(".play-period")) element.textContent = period;
    tell("play-sliding-name", `Sliding window, ${period}`);
    tell("play-window-name", `Fixed window, ${period}`);
    showAnswer(played, scene);
  }

  /** The time that the chosen request is told to wait. */
  function waitOf({ marks, waitsMs }: Played): NonNullable<ChartScene["wait"]> | null {
    const [mark, waitMs = 0] = [marks[chosen ?? -1], waitsMs[chosen ?? -1]];
    return mark === undefined || waitMs === 0 ? null : { from: mark.at, to: mark.at + waitMs };
  }

  function showAnswer({ answers, marks }: Played, scene: ChartScene): void {
    tell("play-answer-name", chosen === null ? "No request yet" : describeMark(scene, chosen));
    tell("play-answer", answers[chosen ?? -1] ?? "Raise the requests, or the burst.");
    byId<HTMLButtonElement>("play-previous").disabled = chosen === null || chosen === 0;
    byId<HTMLButtonElement>("play-next").disabled = chosen === null || chosen === marks.length - 1;
  }

  function sceneOf(id: string, { levels, marks }: Pick<Played, "levels" | "marks">, unit: string): ChartScene {
    const svg = byId<SVGSVGElement>(id);
    const [width, height] = [Math.max(280, svg.clientWidth), svg.clientHeight];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const spanMs = played?.spanMs ?? 0;
    return { width, height, from: 0, to: spanMs, now: spanMs, axis: "elapsed", unit, capacity: settings.capacity, levels, marks, lanes: ["requests"] };
  }

  function choose({ clientX, clientY }: MouseEvent): void {
    const shapes = [...byId("play-chart").querySelectorAll(".served, .refused")];
    const far = shapes.map((shape) => {
      const { x, y, width, height } = shape.getBoundingClientRect();
      return Math.hypot(x + width / 2 - clientX, y + height / 2 - clientY);
    });
    const nearest = far.indexOf(Math.min(...far));
    if (nearest === -1 || (far[nearest] as number) > 30) return;
    chosen = Number((shapes[nearest] as SVGElement).dataset["mark"]);
    draw();
  }
}
