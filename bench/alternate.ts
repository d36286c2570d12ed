// Shared by gate.ts and decision.ts: sides in processes of their own, which take turns in short blocks.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { orderOf, percentile } from "./ratios.js";
import { quick } from "./results.js";

/** How often all processes are started. Each has another layout of its memory, which changes its speed by 3 %. */
const STARTS = quick ? 6 : 12;
/** The share of the blocks below the figure of a start. Other work on the machine only makes a block slower. */
const LOW = 0.1;

/** One of the programs that are compared. */
export interface AlternateSide {
  readonly name: string;
  /** The arguments of its process. */
  readonly args: readonly string[];
}

/** The figures of all sides, and what each process reported when it was ready. */
export interface Alternated<Ready> {
  /** Nanoseconds of each side: one figure for each start, the tenth percentile of its blocks. */
  readonly ns: ReadonlyMap<string, readonly number[]>;
  readonly ready: ReadonlyMap<string, Ready>;
}

/**
 * Starts a process for each side, and lets them take turns in the {@link orderOf} the round. Each process answers a
 * number with the nanoseconds of one of that many calls. The parent waits for each, so no two sides run at once.
 */
export async function alternate<Ready>(
  title: string,
  file: string,
  sides: readonly AlternateSide[],
  { block, warmUp }: { readonly block: number; readonly warmUp: number },
): Promise<Alternated<Ready>> {
  const ns = new Map(sides.map(({ name }) => [name, [] as number[]]));
  const ready = new Map<string, Ready>();
  const rounds = quick ? 10 : Math.max(10, sides.length);
  for (let start = 1; start <= STARTS; start++) {
    const running: Array<{ readonly name: string; readonly child: ChildProcess; readonly blocks: number[] }> = [];
    try {
      for (const { name, args } of sides) {
        tell(`${title}, start ${start} of ${STARTS}: "${name}"`);
        const child = begin(file, args);
        running.push({ name, child, blocks: [] });
        ready.set(name, await answerOf<Ready>(child));
        await ask(child, warmUp);
      }
      for (let round = 1; round <= rounds; round++) {
        tell(`${title}, start ${start} of ${STARTS}: round ${round} of ${rounds}`);
        for (const place of orderOf(round, running.length)) {
          const { child, blocks } = running[place] as (typeof running)[number];
          blocks.push(await ask(child, block));
        }
      }
      for (const { name, blocks } of running) ns.get(name)?.push(percentile(blocks, LOW));
    } finally {
      for (const { child } of running) child.disconnect();
    }
  }
  tell("");
  return { ns, ready };
}

/**
 * Starts the process of a side under Node's default conditions. It ends when it is disconnected. Its garbage collector has
 * one thread, because the time of several depends on what else the processors do.
 */
export function begin(file: string, args: readonly string[], flags: readonly string[] = []): ChildProcess {
  const child = fork(fileURLToPath(new URL(file, import.meta.url)), [...args], {
    execArgv: ["--single-threaded-gc", ...flags],
    env: { ...process.env, NODE_ENV: "production" },
  });
  child.on("exit", (code) => {
    if (code !== 0) throw new Error(`${file} ${args.join(" ")} ended with ${code}`);
  });
  return child;
}

/** The next message of a process. */
export async function answerOf<T>(child: ChildProcess): Promise<T> {
  const [answer] = (await once(child, "message")) as [T];
  return answer;
}

async function ask(child: ChildProcess, count: number): Promise<number> {
  child.send(count);
  return answerOf<number>(child);
}

function tell(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text}`.padEnd(90) + (text === "" ? "\r" : ""));
}

/** The build that is measured, and the one before it when `--against` names a folder. Each is the URL of its `dist`. */
export function buildsOf(): { readonly now: string; readonly before: string | undefined } {
  const { values } = parseArgs({ strict: false, options: { against: { type: "string" } } });
  const { against } = values;
  return { now: new URL("../dist/", import.meta.url).href, before: typeof against === "string" ? distOf(against) : undefined };
}

// The folder is relative to where npm was called.
function distOf(folder: string): string {
  const named = resolve(process.env["INIT_CWD"] ?? "", folder);
  const dist = existsSync(resolve(named, "dist")) ? resolve(named, "dist") : named;
  if (!existsSync(resolve(dist, "index.js"))) throw new Error(`Expected a build in ${dist}, got none. Run \`npm run build\` there`);
  return pathToFileURL(`${dist}/`).href;
}
