// The program of the playground: sliders in, charts and the last answer out. It asks no server.
import { describeMark, drawChart, markByKey, summarize, type ChartScene } from "../../src/command/chart/index.js";
import { play, readSettings, SLIDERS, SPAN_MS, writeSettings, type Played, type Settings } from "./simulate.js";

const NAMES = Object.keys(SLIDERS) as (keyof Settings)[];
const byId = <T extends Element = HTMLElement>(id: string): T => document.querySelector(`#${id}`) as T;
const tell = (id: string, text: string): void => void (byId(id).textContent = text);

/** Starts the page's controls. Returns the function that stops them. */
export function start(): () => void {
  let settings = readSettings(location.search);
  let played: Played | undefined;
  let chosen: number | null = null;
  const controls = new AbortController();
  const on = (id: string, event: string, run: (event: Event) => void): void => byId(id).addEventListener(event, run, { signal: controls.signal });

  for (const name of NAMES) {
    byId<HTMLInputElement>(`play-${name}`).value = String(settings[name]);
    on(`play-${name}`, "input", () => {
      settings = { ...settings, [name]: Number(byId<HTMLInputElement>(`play-${name}`).value) };
      history.replaceState(history.state, "", writeSettings(settings));
      chosen = null;
      void show();
    });
  }
  on("play-link", "click", () => {
    const link = new URL(writeSettings(settings), location.href).href;
    navigator.clipboard.writeText(link).then(() => tell("play-link", "Copied"), () => tell("play-link", "The link is in the address bar"));
    setTimeout(() => controls.signal.aborted || tell("play-link", "Copy a link to these settings"), 2_000);
  });
  on("play-chart", "keydown", (event) => {
    const next = markByKey((event as KeyboardEvent).key, chosen, played?.marks.length ?? 0);
    if (next === null) return;
    event.preventDefault();
    chosen = next;
    draw();
  });
  on("play-chart", "click", (event) => choose(event as MouseEvent));
  const sized = new ResizeObserver(() => draw());
  sized.observe(byId("play-chart"));
  void show();
  return () => {
    controls.abort();
    sized.disconnect();
  };

  async function show(): Promise<void> {
    const asked = settings;
    for (const name of NAMES) tell(`play-${name}-value`, String(asked[name]));
    const done = await play(asked);
    if (asked !== settings || controls.signal.aborted) return; // a slider moved meanwhile
    played = done;
    draw();
    byId("playground").dataset["ready"] = "true";
  }

  function draw(): void {
    if (played === undefined) return;
    const scene = sceneOf("play-chart", played, "tokens");
    byId("play-chart").innerHTML = drawChart({ ...scene, chosen });
    tell("play-text", summarize(scene));
    const window = sceneOf("play-window", played.window, "requests");
    byId("play-window").innerHTML = drawChart({ ...window, edges: played.window.edges });
    tell("play-window-text", summarize(window));
    for (const [id, { marks }] of [["play-count", scene], ["play-window-count", window]] as const) {
      const served = marks.filter(({ outcome }) => outcome === "served").length;
      tell(id, `${served} served, ${marks.length - served} refused`);
    }
    tell("play-window-name", `A fixed window of ${Math.round(played.window.windowMs / 100) / 10} s`);
    showAnswer(played, scene);
  }

  function showAnswer({ answers, marks }: Played, scene: ChartScene): void {
    const index = chosen ?? marks.length - 1;
    tell("play-answer-name", marks.length === 0 ? "No request yet" : describeMark(scene, index));
    tell("play-answer", answers[index] ?? "Raise the calls, or the burst.");
  }

  function sceneOf(id: string, { levels, marks }: Pick<Played, "levels" | "marks">, unit: string): ChartScene {
    const svg = byId<SVGSVGElement>(id);
    const [width, height] = [Math.max(280, svg.clientWidth), svg.clientHeight];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    return { width, height, from: 0, to: SPAN_MS, now: SPAN_MS, axis: "elapsed", unit, capacity: settings.capacity, levels, marks, lanes: ["calls"] };
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
