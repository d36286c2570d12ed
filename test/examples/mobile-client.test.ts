// The app on a phone: its story is told in virtual time, to the last line, and once in real time by the program itself.
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, onTestFinished, test } from "vitest";
import { useApp } from "../../examples/mobile-client/app.js";
import { readPolicies } from "../../examples/server/config.js";
import { buildServer } from "../../examples/server/node.js";
import { bundled } from "../helpers/bundled.js";

const STORY = `The app comes to the foreground.
  4 parts of it ask for the same 3 pages: 12 calls.
  12 answers, 3 requests. Identical ones that were pending became one.

The user pulls to refresh, ten times in a row.
  pull 1: 2 messages
  pull 2: 2 messages
  pull 3: 2 messages
  pull 4: 2 messages
  pull 5: 2 messages
  pull 6: 2 messages
  pull 7: 2 messages
    refused; waits 1.05 s
  pull 8: 2 messages
  pull 9: 2 messages
    refused; waits 1.05 s
  pull 10: 2 messages
  10 answers, 12 requests. No error reached the user.

The user wants a login code, and a fourth one because none has come.
  tap 1: a code is on its way
  tap 2: a code is on its way
  tap 3: a code is on its way
  tap 4: refused after 1 request, because of login-code
    Too many requests. Try again in 1200 seconds.
    [ Send again in 20:00 ]
    [ Send again in 19:59 ]
    [ Send again in 19:58 ]
    The user leaves the screen, and the countdown stops.`;

test("the story is told to the last line", async () => {
  const clock = new ManualClock();
  const server = await buildServer({ policies: readPolicies({}), store: new MemoryStore({ clock: clock.now }), onDecision: () => {} });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });

  const lines: string[] = [];
  await useApp({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    user: "alice",
    say: (line) => lines.push(...line.split("\n")),
    time: {
      now: clock.now,
      wallNow: clock.now,
      sleep: async (ms, signal) => {
        signal?.throwIfAborted();
        clock.advance(ms);
      },
      random: () => 0.5,
    },
  });
  expect(lines.join("\n")).toBe(STORY);
});

test("the program brings its own server, and ends by itself", async () => {
  // A budget in which nobody waits, so that it takes the three seconds of the countdown and no more.
  const env = { PATH: process.env["PATH"], SLUICE_INTERACTIVE_CAPACITY: "100" };
  const program = spawn(process.execPath, [await bundled("examples/mobile-client/main.ts")], { env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void program.kill("SIGKILL"));
  let output = "";
  let errors = "";
  program.stdout.on("data", (chunk) => (output += chunk));
  program.stderr.on("data", (chunk) => (errors += chunk));
  const [code] = (await once(program, "close")) as [number];
  expect([code, errors]).toEqual([0, ""]);
  expect(output).toContain("12 answers, 3 requests.");
  expect(output).toContain("10 answers, 10 requests.");
  expect(output).toContain("tap 4: refused after 1 request, because of login-code");
  expect(output.trimEnd().split("\n").at(-1)).toContain("the countdown stops");
});
