import { adapterSuite, type RunningServer } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { rows } from "./rows/index.js";

// All rows are in this one file, so that it can tell which are absent.
const wanted = ["Node", "Express 4", "Express 5", "Fastify 4", "Fastify 5", "Hono", "web"];
const started = new Map<string, { tests: number; answered: string | null }>(wanted.map((name) => [name, { tests: 0, answered: null }]));

describe.each(rows)("$name", ({ name, serve, lacks = {} }) => {
  adapterSuite({ test, serve: async (setup) => seen(name, await serve(setup)), lacks });
});

test("every row is there, in the version that its name says, and was answered", () => {
  const lines = rows.map(({ name, loaded }) => `${name}: ${loaded}, ${started.get(name)?.answered}, ${started.get(name)?.tests} servers`);
  const skips = rows.map(({ lacks = {} }) => Object.values(lacks).map((reason) => `\n  skipped there: ${reason}`).join(""));
  console.log(lines.map((line, i) => line + skips[i]).join("\n"));
  expect(rows.map(({ name }) => name)).toEqual(wanted);
  for (const [i, { name, loaded }] of rows.entries()) {
    const [, framework, major] = /^(\w+) (\d)$/.exec(name) ?? [];
    if (framework !== undefined) expect(loaded).toMatch(new RegExp(`^${framework} ${major}\\.`, "i"));
    expect(lines[i]).toMatch(/answered on 127\.0\.0\.1:\d+, [4-9]\d servers$/);
  }
});

/** Asks each row's first server once, past the suite, so that the line below tells of a port that really answered. */
async function seen(name: string, server: RunningServer): Promise<RunningServer> {
  const row = started.get(name);
  if (row === undefined) throw new Error(`Expected a row that is wanted, got ${name}`);
  row.tests += 1;
  if (row.answered === null) {
    // A preflight, which the suite does not count.
    const response = await fetch(`http://127.0.0.1:${server.port}/ok`, { method: "OPTIONS", headers: { Connection: "close", "Access-Control-Request-Method": "GET" } });
    await response.body?.cancel();
    row.answered = `answered on 127.0.0.1:${server.port}`;
  }
  return server;
}
