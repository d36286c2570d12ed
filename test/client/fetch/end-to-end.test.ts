// Item 63: this client against the example server over real sockets. Time is told to the buckets and to the client alike,
// so that a wait that is a millisecond short is refused again.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { MemoryStore } from "sluice";
import { createFetch } from "sluice/client";
import { draft11, draft7, retryAfterDate, triple, vendorHeaders, xRateLimit, type HeaderStyle } from "sluice/http";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { readPolicies } from "../../../examples/server/config.js";
import { buildServer } from "../../../examples/server/node.js";
import { ExampleServer } from "../../examples/example-server.js";

const vendor = vendorHeaders({ limit: "X-Limit", remaining: "X-Left", reset: "X-Again", resetFormat: "iso-8601", retryAfterMs: "Retry-After-Ms" });
const styles: [name: string, headers: HeaderStyle[]][] = [
  ["triple", [triple()]],
  ["draft-7", [draft7()]],
  ["draft-11", [draft11()]],
  ["x-ratelimit", [xRateLimit()]],
  ["names of one's own", [vendor]],
  ["the default", [triple(), draft11()]],
  ["no budget fields", []],
];
const forms = ["seconds", "http-date"] as const;

describe.each(forms)("Retry-After as %s", (retryAfter) => {
  test.each(styles)("63 · with %s, the second attempt succeeds after the advertised wait", async (_, headers) => {
    const { ask, clock, statuses, waits } = await meet({ headers, retryAfter });
    expect((await ask()).status).toBe(200);
    expect(statuses).toEqual([200]);

    // 2.5 s are left until the next token.
    clock.advance(500);
    const response = await ask();
    expect(response.status).toBe(200);
    expect(await response.json()).toHaveProperty("messages");
    expect(statuses).toEqual([200, 429, 200]);
    expect(waits).toHaveLength(1);
    expect(waits[0]).toBeGreaterThanOrEqual(2_500);
  });
});

test("63 · a wait that is a millisecond short is refused again, so the tests above would notice it", async () => {
  const { ask, statuses } = await meet({ headers: [], shortByMs: 1 });
  await ask();
  expect((await ask()).status).toBe(200);
  expect(statuses).toEqual([200, 429, 429, 200]);
});

describe("63 · the example server in a process of its own, in real time", () => {
  let server: ExampleServer;
  beforeAll(async () => {
    server = await ExampleServer.start([], { SLUICE_INTERACTIVE_CAPACITY: "1", SLUICE_INTERACTIVE_TOKENS: "1", SLUICE_INTERACTIVE_EVERY_MS: "900" });
  });
  afterAll(() => server?.kill());

  test("a refused call comes back with the inbox", async () => {
    const { statuses, fetch } = watched();
    const obedient = createFetch({ fetch });
    const ask = () => obedient(new URL("/inbox", server.url), { headers: { "X-Device-Id": "phone" }, merge: false });
    const responses = [];
    // A machine that is slow enough gets its token back in between; then there is nothing to obey, and it asks once more.
    for (let i = 0; i < 20 && !statuses.includes(429); i++) responses.push(await ask());
    expect(responses.map(({ status }) => status)).toEqual(responses.map(() => 200));
    expect(statuses.slice(-2)).toEqual([429, 200]);
    for (const response of responses) expect(await response.json()).toHaveProperty("messages");
  });
});

/** The example server with one token every three seconds, and a client whose waits move the clock that both go by. */
async function meet({ headers, retryAfter = "seconds", shortByMs = 0 }: { headers: HeaderStyle[]; retryAfter?: (typeof forms)[number]; shortByMs?: number }) {
  const clock = new ManualClock();
  const server = await buildServer({
    policies: readPolicies({ SLUICE_INTERACTIVE_CAPACITY: "1", SLUICE_INTERACTIVE_TOKENS: "1", SLUICE_INTERACTIVE_EVERY_MS: "3000" }),
    store: new MemoryStore({ clock: clock.now }),
    telling: { headers: retryAfter === "http-date" ? [...headers, retryAfterDate()] : headers },
    onDecision: () => {},
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });

  const waits: number[] = [];
  const { statuses, fetch } = watched();
  const obedient = createFetch({
    fetch,
    time: {
      now: clock.now,
      random: () => 0,
      sleep: async (ms) => {
        waits.push(ms);
        clock.advance(ms - shortByMs);
      },
    },
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/inbox`;
  return { clock, waits, statuses, ask: () => obedient(url, { headers: { "X-Device-Id": "phone" } }) };
}

/** The platform's `fetch`, and the statuses of its answers. */
function watched(): { statuses: number[]; fetch: typeof fetch } {
  const statuses: number[] = [];
  const watching: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    statuses.push(response.status);
    return response;
  };
  return { statuses, fetch: watching };
}
