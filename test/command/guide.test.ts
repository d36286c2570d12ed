// The commands of the guides print what the guides say they print.
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { afterEach, expect, test, vi } from "vitest";
import { createLimiter, createObserver, MemoryStore, perSecond } from "sluice";
import { runCommand } from "../../src/command/run-command.js";

const GUIDE = "docs/guides/choosing-numbers.md";
const OPERATING = "docs/guides/one-file-of-limits.md";
const COMMAND = /<!-- docs: command -->\n```sh\nnpx sluice (.*)\n```\n```text\n([^`]*)```/g;
const commandsOf = (guide: string) => [...readFileSync(guide, "utf8").matchAll(COMMAND)].map(([, command = "", output = ""]) => [command, output] as const);

test("the guides have commands", () => {
  for (const guide of [GUIDE, OPERATING]) expect(commandsOf(guide).length, guide).toBeGreaterThan(1);
});

afterEach(() => void vi.useRealTimers());

test.each(commandsOf(GUIDE))("command %# of the guide", (command, output) => expectOutput(command, output));

test("the commands for operators, in the order of the guide", async () => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  const { interactive, tiers } = await import("../../examples/one-file/limits.js");
  await interactive.consume(["user", "42"], { cost: 10, policy: tiers.free });
  for (const [command, output] of commandsOf(OPERATING)) await expectOutput(`${command.replace("./limits.mjs", "examples/one-file/limits.ts")} --memory`, output); // without a Redis
});

async function expectOutput(command: string, output: string): Promise<void> {
  const args = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? "");
  let out = "";
  const stdout = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  expect(await runCommand(args, { stdin: Readable.from([]), stdout, stderr: stdout }), out).toBe(0);
  expect(out).toBe(output);
}

test("the command reads what the observer of the guide writes", async () => {
  const [, line = ""] = /log\.write\(`(.*)\\n`\);/.exec(readFileSync(GUIDE, "utf8")) ?? [];
  expect(line).toBe("${JSON.stringify({ time: new Date(), policy: event.policy, key, cost: event.cost })}");
  const written: string[] = [];
  let now = Date.parse("2026-11-20T10:00:00Z");
  const observe = createObserver((event, key) => {
    if (event.type === "decision") written.push(`${JSON.stringify({ time: new Date(now), policy: event.policy, key, cost: event.cost })}\n`);
  });
  const store = new MemoryStore({ clock: () => now });
  const limiter = createLimiter({ policy: { capacity: 30, refill: perSecond(5) }, store, shadow: true, observe });
  for (let call = 0; call < 40; call++, now += 100) limiter.consume(["user", 42], 2);
  let out = "";
  const stdout = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  const args = ["simulate", "-", "--key", "key", "--time", "time", "--cost", "cost", "--policy", "10, 5/s"];
  expect(await runCommand(args, { stdin: Readable.from([Buffer.from(written.join(""))]), stdout, stderr: stdout })).toBe(0);
  expect(out).toMatch(/40 requests of 1 caller[^]*10, 5\/s refuses \d+ of 40 requests/);
});
