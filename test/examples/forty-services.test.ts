// A company's own package over sluice, and one of its services.
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createObserver, MemoryStore } from "sluice";
import { afterEach, expect, test } from "vitest";
import { companyLimits, type PolicyFile } from "../../examples/forty-services/company-limits.js";
import { makeMail } from "../../examples/forty-services/mail.js";

let server: Server | undefined;
afterEach(() => void server?.close());

test("a service enforces one policy, tries another, and both are counted under its name", async () => {
  const outcomes: string[] = [];
  const observe = createObserver((event) => event.type === "decision" && outcomes.push(`${event.policy} ${event.outcome}`));
  const store = new MemoryStore({ clock: () => 0 });
  const listening = (server = makeMail(store, observe).listen(0, "127.0.0.1"));
  await once(listening, "listening");
  const ask = async (method: string, path: string, token = "token-of-ann") => {
    const response = await fetch(`http://127.0.0.1:${(listening.address() as AddressInfo).port}${path}`, { method, headers: { Authorization: `Bearer ${token}`, Connection: "close" } });
    await response.text();
    return response;
  };
  for (let i = 0; i < 30; i++) expect((await ask("GET", "/inbox")).status).toBe(200);
  const refused = await ask("GET", "/inbox");
  expect([refused.status, refused.headers.get("ratelimit")]).toEqual([429, '"mail.interactive";r=0;t=1']);
  for (let i = 0; i < 3; i++) expect((await ask("POST", "/export")).status).toBe(200); // on trial
  expect((await ask("GET", "/inbox", "made-up")).status).toBe(401);
  expect(outcomes.slice(-4)).toEqual(["mail.interactive limited", "mail.export allowed", "mail.export allowed", "mail.export shadow_refused"]);
});

test("a mistake in the file is found at the start, by the name of its policy", () => {
  const options = { service: "mail", store: new MemoryStore(), userOf: () => "ann", observe: createObserver(() => undefined) };
  const made = (policies: object) => () => companyLimits({ ...options, policies: policies as PolicyFile });
  expect(made({ interactive: { capacity: 0, refill: { tokens: 5, everyMs: 1000 } } })).toThrow(/^Policy "mail\.interactive": Expected `capacity`/);
  expect(made({ interactive: { capacity: 3, refil: { tokens: 5, everyMs: 1000 } } })).toThrow(/refil/);
  expect(made({ "in box": { capacity: 3, refill: { tokens: 5, everyMs: 1000 } } })).toThrow(/name/);
  expect(() => companyLimits({ ...options, policies: {} })("interactive")).toThrow("Expected one of the policies , got interactive");
  expect(() => companyLimits({ ...options, service: "Mail.", policies: {} })).toThrow("Expected a service in lower case");
});
