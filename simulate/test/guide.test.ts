// The commands of the guide print what the guide says they print.
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { createLimiter, createObserver, MemoryStore, perSecond } from "sluice";
import { expect, test } from "vitest";
import { runSimulate } from "../src/run.js";

const GUIDE = "docs/guides/choosing-numbers.md";
const PAGE = "simulate/README.md";
const COMMAND = /<!-- docs: command -->\n```sh\nnpx sluice-simulate (.*)\n```\n```text\n([^`]*)```/g;
const commands = [...readFileSync(GUIDE, "utf8").matchAll(COMMAND)].map(([, command = "", output = ""]) => [command, output] as const);

test("the guide has commands", () => {
  expect(commands.length).toBeGreaterThan(1);
});

test.each(commands)("command %# of the guide", async (command, output) => {
  const args = [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain ?? "");
  let out = "";
  const stdout = new Writable({ write: (chunk, _, done) => ((out += String(chunk)), done()) });
  expect(await runSimulate(args, { stdin: Readable.from([]), stdout, stderr: stdout }), out).toBe(0);
  expect(out).toBe(output);
});

test("the command reads what the observer of its page writes", async () => {
  const [, line = ""] = /log\.write\(`(.*)\\n`\);/.exec(readFileSync(PAGE, "utf8")) ?? [];
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
  const args = ["-", "--key", "key", "--time", "time", "--cost", "cost", "--policy", "10, 5/s"];
  expect(await runSimulate(args, { stdin: Readable.from([Buffer.from(written.join(""))]), stdout, stderr: stdout })).toBe(0);
  expect(out).toMatch(/40 requests of 1 caller[^]*10, 5\/s refuses \d+ of 40 requests/);
});
