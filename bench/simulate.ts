/**
 * `npm run bench simulate`: `npx sluice-simulate` over a log of a million lines, compared with a bare line
 * reader. Each run is a process of its own, in turn, and tells its time and its largest memory. `--quick` makes it short.
 */
import { spawn } from "node:child_process";
import { createWriteStream, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inRounds, ratio } from "./measure.js";
import { median } from "./ratios.js";
import { finish, goal, quick, show } from "./results.js";

const LINES = quick ? 100_000 : 1_000_000;
const ROUNDS = quick ? 2 : 5;
const CALLERS = 20_000;
const READER = "a bare line reader";
const ONE = "simulate one policy";
const RECOMMEND = "simulate --recommend";
const COMMAND = fileURLToPath(new URL("../simulate/dist/main.js", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "sluice-simulate-"));
const log = join(folder, "access.log");
const reader = join(folder, "reader.mjs");

interface Run {
  readonly seconds: number;
  readonly megabytes: number;
}

/** Lines of the combined format. A few callers send most of them, as in a real log. */
async function writeLog(): Promise<void> {
  const file = createWriteStream(log);
  const start = Date.UTC(2026, 10, 20, 10);
  let draw = 1;
  for (let i = 0; i < LINES; i++) {
    draw = (draw * 48_271) % 0x7fff_ffff; // Lehmer's generator, so that each run has the same log
    const caller = Math.floor(CALLERS * (draw / 0x7fff_ffff) ** 4);
    const at = new Date(start + i * 10).toISOString();
    const month = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ")[Number(at.slice(5, 7)) - 1];
    const time = `${at.slice(8, 10)}/${month}/${at.slice(0, 4)}:${at.slice(11, 19)} +0000`;
    const line = `10.${caller >> 16}.${(caller >> 8) & 255}.${caller & 255} - - [${time}] "GET /inbox?page=${i % 9} HTTP/1.1" 200 ${draw % 9_000} "-" "Mozilla/5.0 (X11; Linux x86_64)"\n`;
    if (!file.write(line)) await once(file, "drain");
  }
  file.end();
  await once(file, "finish");
}

/** Runs a program of Node to its end. Its own last words tell its largest memory. */
async function run(args: readonly string[]): Promise<Run> {
  const began = performance.now();
  const tell = `process.on("exit", () => process.stderr.write("\\nKB " + process.resourceUsage().maxRSS))`;
  const child = spawn(process.execPath, ["--import", `data:text/javascript,${encodeURIComponent(tell)}`, ...args], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (text: Buffer) => (said += String(text)));
  const [code] = (await once(child, "close")) as [number];
  const kilobytes = /KB (\d+)$/.exec(said)?.[1];
  if (code !== 0 || kilobytes === undefined) throw new Error(`Expected ${args.join(" ")} to succeed, got ${code}: ${said}`);
  return { seconds: (performance.now() - began) / 1_000, megabytes: Number(kilobytes) / 1_024 };
}

try {
  await writeLog();
  // What a program must do at least: read the file as text, line by line.
  writeFileSync(reader, `import { createReadStream } from "node:fs"; import { createInterface } from "node:readline";
    let lines = 0; for await (const line of createInterface({ input: createReadStream(process.argv[2]) })) if (line.length > 0) lines += 1;
    if (lines !== ${LINES}) process.exitCode = 1;`);
  const simulate = [COMMAND, log, "--key", "address"];
  const sides = [
    { name: READER, args: [reader, log] },
    { name: ONE, args: [...simulate, "--policy", "30, 5/s"] },
    { name: RECOMMEND, args: [...simulate, "--recommend", "0.1%"] },
  ];
  const results = await inRounds("simulate", sides, ROUNDS, ({ args }) => run(args));
  const of = (name: string): readonly Run[] => results.get(name) ?? [];
  const most = (name: string): number => Math.max(...of(name).map(({ megabytes }) => megabytes));
  const secondsOf = (name: string) => {
    const all = of(name).map(({ seconds }) => seconds);
    return { median: median(all), spread: `${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)}` };
  };
  show(
    `A log of ${LINES.toLocaleString("en-US")} lines and ${CALLERS.toLocaleString("en-US")} callers`,
    Object.fromEntries(sides.map(({ name }) => [name, { seconds: Number(secondsOf(name).median.toFixed(2)), spread: secondsOf(name).spread, "MB at most": Math.round(most(name)) }])),
  );
  goal("simulate one policy: times a bare line reader", ratio(of(ONE), of(READER), ({ seconds }) => seconds), { atMost: 4 });
  goal("simulate one policy: MB", { median: most(ONE) }, { atMost: 200 });
  goal("simulate --recommend: seconds", secondsOf(RECOMMEND), { atMost: 30 });
} finally {
  rmSync(folder, { recursive: true });
}
finish("simulate", []);
