/** The vectors for people who write a client in another language, run against ours; checklist items 44 to 48, 51, 60 and 61 among them. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { runVectors, type Outcome } from "./vectors.js";

const folder = fileURLToPath(new URL(".", import.meta.url));

describe.each(Object.entries(await runVectors()))("%s", (_, outcomes) => {
  test.each(outcomes.map(({ why, ...rest }) => [why, rest] as const))("%s", (_why, { got, expected }) => expect(got).toEqual(expected));
});

// A process reads its time zone once, and a thread cannot have another: so one process for each zone.
const ZONES: readonly [zone: string, offsets: readonly number[]][] = [
  ["UTC", [0, 0]],
  ["America/New_York", [300, 240]],
  ["Asia/Kolkata", [-330, -330]],
];

test.each(ZONES)("45 · every vector gives the same in the time zone %s", { timeout: 0 }, async (zone, offsets) => {
  const contents = `
    import { runVectors } from "./vectors.js";
    const offsets = [0, 6].map((month) => new Date(2026, month, 15).getTimezoneOffset());
    console.log(JSON.stringify({ offsets, ...(await runVectors()) }));`;
  const { outputFiles } = await build({ stdin: { contents, resolveDir: folder }, bundle: true, format: "esm", write: false });
  const code = (outputFiles[0] as { text: string }).text;
  const running = promisify(execFile)(process.execPath, ["--input-type=module"], { env: { ...process.env, TZ: zone }, maxBuffer: Infinity });
  running.child.stdin?.end(code);
  const { offsets: inChild, ...files } = JSON.parse((await running).stdout) as { offsets: number[] } & Record<string, Outcome[]>;
  expect(inChild).toEqual(offsets);
  expect(Object.keys(files)).toHaveLength(6);
  for (const outcomes of Object.values(files)) {
    expect(outcomes.length).toBeGreaterThan(20);
    expect(outcomes.filter(({ got, expected }) => JSON.stringify(got) !== JSON.stringify(expected))).toEqual([]);
  }
});
