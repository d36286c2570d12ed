import { adapterSuite } from "sluice/testing";
import { describe, expect, test } from "vitest";
import { rows } from "./rows/index.js";
import { oneToken } from "./setup.js";

// All rows are in this one file, so that it can tell which are absent.
const wanted = ["Node", "Express 4", "Express 5", "Fastify 4", "Fastify 5", "Fastify in preHandler", "Hono", "web"];
const answered = new Map<string, string>();

describe.each(rows)("$name", ({ name, loaded, serve, lacks = {} }) => {
  test("is the version that its name says, and answers", async () => {
    const [, framework, major] = /^(\w+) (\d)$/.exec(name) ?? [];
    if (framework !== undefined) expect(loaded).toMatch(new RegExp(`^${framework} ${major}\\.`, "i"));

    const limit = oneToken();
    const options = () => ({ ...limit, key: () => "anybody" });
    const server = await serve({ options, bulk: options, answer: null, answerUnidentified: null, reports: () => {}, entered: () => {}, held: () => Promise.resolve() });
    const { status, headers } = await fetch(`http://127.0.0.1:${server.port}/ok`, { headers: { Connection: "close" } });
    await server.close();
    expect([status, headers.get("RateLimit-Remaining")]).toEqual([200, "0"]);
    answered.set(name, `${name}: ${loaded}, answered on 127.0.0.1:${server.port}`);
  });

  adapterSuite({ test, serve, lacks });
});

test("no row is absent", () => {
  const skipped = rows.flatMap(({ name, lacks = {} }) => Object.values(lacks).map((reason) => `${name} skips what it cannot do: ${reason}`));
  console.log([...answered.values(), ...skipped].join("\n"));
  expect([...answered.keys()]).toEqual(wanted);
});
