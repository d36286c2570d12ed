// The command as a process: an output that takes nothing, and modules that fail or stay open. Each ends with a message.
import { spawn, type StdioOptions } from "node:child_process";
import { existsSync, mkdtempSync, openSync, closeSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bundled } from "../helpers/bundled.js";

const folder = mkdtempSync(join(process.cwd(), "node_modules/.cache/output-"));
afterAll(() => rmSync(folder, { recursive: true }));
let command: string;
let limits: string;
let index: string;
const fileOf = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};
beforeAll(async () => {
  command = await bundled("src/command/main.ts");
  index = await bundled("src/index.ts");
  limits = fileOf("limits.mjs", `import { createLimiter, MemoryStore } from ${JSON.stringify(index)};
    const policy = { name: "api", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } };
    export const api = createLimiter({ policy, store: new MemoryStore() });\n`);
});

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

/** Runs the command. A reader in `leaves` closes its end before the command writes. */
function run(args: readonly string[], { stdout = "pipe" as number | "pipe", leaves = [] as readonly ("stdout" | "stderr")[], program = command } = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const stdio: StdioOptions = ["ignore", stdout, "pipe"];
    const child = spawn(process.execPath, [program, ...args.map((each) => (each === "LIMITS" ? limits : each))], { stdio });
    let [out, err] = ["", ""];
    for (const each of leaves) child[each]?.destroy();
    if (!leaves.includes("stdout")) child.stdout?.on("data", (chunk) => (out += String(chunk)));
    if (!leaves.includes("stderr")) child.stderr?.on("data", (chunk) => (err += String(chunk)));
    child.once("close", (code, signal) => resolve({ code, signal, out, err }));
  });
}

const CHANGES: string[][] = [
  ["credit", "LIMITS", "api", "user", "42", "--cost", "1", "--memory"],
  ["debit", "LIMITS", "api", "user", "42", "--cost", "1", "--memory", "--json"],
  ["block", "LIMITS", "api", "user", "42", "--for", "1min", "--memory"],
  ["reset", "LIMITS", "api", "user", "42", "--memory"],
];
const LOOKS: string[][] = [
  ["--help"], ["peek", "--help"], ["block", "--help"],
  ["peek", "LIMITS", "api", "user", "42", "--memory"],
  ["peek", "LIMITS", "api", "user", "42", "--memory", "--json"],
];
const AGAIN = ". It may have been done. Look before you repeat it";

describe.each([...CHANGES.map((args) => [args.join(" "), args, AGAIN] as const), ...LOOKS.map((args) => [args.join(" "), args, ""] as const)])("npx sluice %s", (_, args, again) => {
  test.skipIf(!existsSync("/dev/full"))("to a full disk is a message, and exit code 1", async () => {
    const full = openSync("/dev/full", "w");
    expect(await run(args, { stdout: full })).toMatchObject({ code: 1, err: expect.stringMatching(new RegExp(`^sluice: Cannot write the output: ENOSPC.*${again}\\n$`)) as string });
    closeSync(full);
  });

  test("to a reader that left is a message, and exit code 1", async () => {
    expect(await run(args, { leaves: ["stdout"] })).toMatchObject({ code: 1, err: expect.stringMatching(new RegExp(`^sluice: Cannot write the output: .*EPIPE${again}\\n$`)) as string });
    expect((await run(args, { leaves: ["stdout", "stderr"] })).code).toBe(1);
  });

  test("without a reader of its messages it does what it was asked to do", async () => {
    expect(await run(args, { leaves: ["stderr"] })).toMatchObject({ code: 0, out: expect.stringMatching(/^[^]+\n$/) as string });
  });
});

test("a mistake is exit code 2, also if no one reads the message", async () => {
  expect((await run(["peek", "LIMITS"], { leaves: ["stderr"] })).code).toBe(2);
  const printing = fileOf("printing.mjs", 'console.log("loading"); console.error("loading");\n');
  expect((await run(["peek", printing, "api", "ann"], { leaves: ["stderr"] })).code).toBe(2);
});

test.each([
  ["process.exit(0)", "process.exit(0);"],
  ["a top-level await that nothing ends", "await new Promise(() => undefined);"],
])("a module that ends the command by %s: it was not done, and exit code 2", async (name, text) => {
  const module = fileOf(`ends-${name.length}.mjs`, `${text}\n`);
  const said = "sluice: The module ended the command: by process.exit, or a top-level await that nothing ends.";
  expect(await run(["credit", module, "api", "ann", "--cost", "1"])).toMatchObject({ code: 2, out: "", err: expect.stringContaining(`${said} It was not done. Export the limiters only\n`) as string });
  expect(await run(["peek", module, "api", "ann"])).toMatchObject({ code: 2, out: "", err: expect.stringContaining(`${said} Export the limiters only\n`) as string });
});

describe("a module that fails outside of its top level", () => {
  const TIMER = 'setTimeout(() => { throw new Error("later\\nand more"); });';
  /**
   * A limiter over a shared store, which is asked once. Its verbs answer after so many milliseconds. `failsIn` is an
   * expression of `verb` and `peeks` that says in which call the module fails.
   */
  const over = (name: string, failure: string, { peek = 0, change = 0, failsIn = "false" } = {}): string =>
    fileOf(`fails-${name.replaceAll(/\W+/g, "-")}.mjs`, `import { EventEmitter } from "node:events";
      import { createLimiter, MemoryStore } from ${JSON.stringify(index)};
      const limiter = createLimiter({ policy: { name: "api", capacity: 10, refill: { tokens: 1, everyMs: 1_000 } }, store: new MemoryStore() });
      let peeks = 0;
      const after = (ms, verb) => async (...args) => {
        if (${failsIn}) ${TIMER}
        await new Promise((resolve) => setTimeout(resolve, verb === "peek" && peeks++ > 0 ? 60_000 : ms));
        return limiter[verb](...args);
      };
      export const api = { policy: limiter.policy, store: {}, parts: [], peek: after(${peek}, "peek") };
      for (const verb of ["credit", "debit", "block", "reset"]) api[verb] = after(${change}, verb);
      api.parts.push(api);
      ${failure}\n`);
  const CURE = "Check that its store runs, and handle this failure in the module\n";

  test.each([
    ["a throw in a timer", TIMER, "later"],
    ["a rejection", 'Promise.reject(new Error("connect ECONNREFUSED 127.0.0.1:1"));', "connect ECONNREFUSED 127.0.0.1:1"],
    ["a rejection of nothing", "Promise.reject();", "undefined"],
    ["a rejection without a message", 'Promise.reject(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }));', "ECONNREFUSED"],
    ["an event without a listener", 'setTimeout(() => new EventEmitter().emit("error", new Error("no store")), 100);', "no store"],
    ["several failures", "for (const each of [1, 2, 3]) Promise.reject(new Error(`failure ${each}`));", "failure 1"],
    ["a connection", 'import("node:net").then(({ connect }) => connect(1, "127.0.0.1"));', "connect ECONNREFUSED 127.0.0.1:1"],
  ])("by %s is a sentence, and exit code 2", async (name, failure, cause) => {
    const module = over(name, failure, { peek: 5_000 });
    expect(await run(["peek", module, "api", "ann"])).toEqual({ code: 2, signal: null, out: "", err: `sluice: The module failed while it ran: ${cause}. ${CURE}` });
    for (const change of [["credit", "--cost", "1"], ["block", "--for", "1h"], ["reset"]]) {
      const ended = await run([change[0] as string, module, "api", "ann", ...change.slice(1)]);
      expect(ended).toEqual({ code: 2, signal: null, out: "", err: `sluice: The module failed while it ran: ${cause}. It was not done. ${CURE}` });
    }
  });

  test.each([["credit", "--cost", "1"], ["debit", "--cost", "1", "--json"], ["block", "--for", "1h"], ["reset"]])("while the store does it, by %s: it may have been done, and exit code 1", async (verb, ...more) => {
    const module = over(`during-${verb}`, "", { change: 60_000, failsIn: 'verb !== "peek"' });
    expect(await run([verb, module, "api", "ann", ...more])).toEqual({ code: 1, signal: null, out: "", err: `sluice: The module failed while it ran: later. It may have been done. Look before you repeat it. ${CURE}` });
  });

  test("after it was done: it was done, and exit code 1", async () => {
    const module = over("after", "", { failsIn: 'verb === "peek" && peeks > 0' });
    expect(await run(["debit", module, "api", "ann", "--cost", "1"])).toEqual({ code: 1, signal: null, out: 'Took 1 token from "ann". Nothing was spent under this key: right for a caller who has been quiet; check the spelling otherwise.\n', err: `sluice: The module failed while it ran: later. It was done. ${CURE}` });
  });
});

test("a module that keeps a connection and a timer open: all is written, and the command ends", async () => {
  const module = fileOf("open.mjs", `import { createServer } from "node:net";
    import { createLimiter, MemoryStore } from ${JSON.stringify(index)};
    createServer().listen(0, "127.0.0.1");
    setInterval(() => undefined, 1_000);
    console.log("connecting");
    const policy = { name: "x".repeat(60), limits: Array.from({ length: 2_000 }, (_, i) => ({ name: "l" + i, refill: { tokens: 9, everyMs: 1_000 } })) };
    export const api = createLimiter({ policy, store: new MemoryStore() });\n`);
  const { code, out, err } = await run(["peek", module, "api", "ann", "--memory", "--json"]); // more than a pipe holds
  expect([code, err]).toEqual([0, "connecting\n"]);
  expect(out.length).toBeGreaterThan(100_000);
  expect(JSON.parse(out)).toMatchObject({ command: "peek", limiter: "api" });
});
