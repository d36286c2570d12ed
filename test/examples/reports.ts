// Slow work of the example server: a report takes it three seconds.
import { expect } from "vitest";
import { device, type ExampleServer, type Reply } from "./example-server.js";

/** Two reports run at once, a third is told when to ask again, and a place is free when one is done. */
export async function walkReports(start: () => Promise<ExampleServer>): Promise<void> {
  const server = await start();
  try {
    const caller = device("reporter");
    const replies = await Promise.all([1, 2, 3].map(() => server.ask("POST /reports", caller)));
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    const refused = replies.find(({ status }) => status === 429) as Reply;
    expect(refused.headers["retry-after"]).toBe("1");
    expect(refused.json).toMatchObject({ code: "rate_limited", "violated-policies": ["reports:parallel"] });
    const next = await server.ask("POST /reports", caller);
    expect([next.status, next.json]).toEqual([200, { title: "Messages by sender", rows: expect.any(Array) }]);
    expect(next.headers["ratelimit-policy"]).toMatch(/^"reports:requests";q=10;w=60, "reports:month";q=100;w=\d+, "reports:parallel";q=2;qu="concurrent-requests"$/);
    expect(next.headers["ratelimit"]).toMatch(/"reports:month";r=97;.*"reports:parallel";r=1/); // the refused one took nothing
  } finally {
    server.kill();
  }
}
