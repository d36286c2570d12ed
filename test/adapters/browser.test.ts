// A page of one origin calls a limited API of another, in Chromium. Each call needs a preflight, and the page notices none.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startChromium } from "../helpers/chromium.js";
import { frameworks, startApi, startSite, type CorsServer, type KeyOf, type Mount } from "../helpers/cors-servers.js";
import { describeWith } from "../helpers/services.js";

/** What a page can read of a response. A string is what `fetch` threw, such as for a preflight that was refused. */
type Seen = string | { status: number; fields: Record<string, string | null>; body: { code?: string; retry_after?: number } };

interface Call {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly credentials: "omit" | "include";
}

const JSON_TYPE = { "content-type": "application/json" };

/** How callers say who they are. */
const identities: ReadonlyArray<readonly [name: string, keyOf: KeyOf, call: Omit<Call, "url">]> = [
  ["a header of the API", (header) => ["device", header("x-device-id")], { headers: { ...JSON_TYPE, "x-device-id": "d1" }, credentials: "omit" }],
  ["Authorization", (header) => ["user", header("authorization")?.slice(7)], { headers: { ...JSON_TYPE, authorization: "Bearer ann" }, credentials: "omit" }],
  ["a cookie", (header) => ["user", /session=(\w+)/.exec(header("cookie") ?? "")?.[1]], { headers: { ...JSON_TYPE, "x-client": "1" }, credentials: "include" }],
];
/** Where CORS answers, the gate sees no preflight, so one kind of caller will do. */
const mounts: ReadonlyArray<readonly [mount: Mount, callers: typeof identities]> = [["CORS answers preflights", identities.slice(0, 1)], ["preflights pass the gate", identities]];

describeWith("chromium", "a page of another origin", () => {
  let browser: Browser;
  let site: Awaited<ReturnType<typeof startSite>>;
  let page: Page;
  beforeAll(async () => void ([browser, site] = await Promise.all([startChromium(), startSite()])));
  beforeEach(async () => {
    const context = await browser.newContext();
    onTestFinished(() => context.close());
    page = await context.newPage();
    await page.goto(site.origin);
  });
  afterAll(() => Promise.all([browser.close(), site.close()]));

  /** Calls the API from the page, one call after the other or all at once. */
  const fromPage = (call: Call, times: number, atOnce: boolean): Promise<Seen[]> =>
    page.evaluate(
      async ({ call: { url, headers, credentials }, times: count, atOnce: together }) => {
        const names = ["ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "ratelimit-policy", "ratelimit", "retry-after"];
        const one = async () => {
          try {
            const response = await fetch(url, { method: "POST", headers, credentials, body: '{"text":"hello"}' });
            const fields = Object.fromEntries(names.map((name) => [name, response.headers.get(name)]));
            return { status: response.status, fields, body: (await response.json()) as Record<string, never> };
          } catch (error) {
            return String(error);
          }
        };
        if (together) return Promise.all(Array.from({ length: count }, one));
        const seen = [];
        for (let i = 0; i < count; i++) seen.push(await one());
        return seen;
      },
      { call, times, atOnce },
    );

  const count = ({ asked }: CorsServer, method: string): Record<number, number> => {
    const statuses: Record<number, number> = {};
    for (const each of asked) if (each.method === method) statuses[each.status] = (statuses[each.status] ?? 0) + 1;
    return statuses;
  };

  const rows = Object.entries(frameworks).flatMap(([name, framework]) => mounts.flatMap(([mount, callers]) => callers.map((who) => [name, mount, ...who, framework] as const)));

  describe("38 · reads every decision, and its preflights spend nothing and are never refused", () => {
    test.each(rows)("%s: %s, callers named by %s", async (_, mount, who, keyOf, call, framework) => {
      const api = await startApi(framework, mount, keyOf);
      onTestFinished(async () => void (await api.close()));
      const url = `${api.origin}/inbox`;
      if (who === "a cookie") await page.evaluate((login) => fetch(login, { method: "POST", credentials: "include" }).then(({ status }) => status), `${api.origin}/login`);

      const seen = await fromPage({ url, ...call }, 8, false);
      expect(seen.map((each) => (typeof each === "string" ? each : each.status))).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
      seen.forEach((each, i) => {
        const { status, fields, body } = each as Exclude<Seen, string>;
        expect(fields).toMatchObject({ "ratelimit-limit": "5", "ratelimit-remaining": String(Math.max(0, 4 - i)), "ratelimit-policy": '"inbox";q=5;w=3600' });
        expect(fields["ratelimit-reset"]).toMatch(/^[1-9]\d*$/);
        expect(fields["ratelimit"]).toMatch(new RegExp(`^"inbox";r=${Math.max(0, 4 - i)};t=${status === 429 ? fields["ratelimit-reset"] : "[1-9]\\d*"}$`));
        expect(fields["retry-after"]).toBe(status === 429 ? fields["ratelimit-reset"] : null);
        if (status === 429) expect(body).toMatchObject({ code: "rate_limited", retry_after: Number(fields["retry-after"]) });
      });
      expect(count(api, "OPTIONS")).toEqual({ 204: 8 });
      expect(count(api, "POST")).toEqual({ 200: 5, 429: 3 });

      // Preflights name no caller. Had they taken tokens, those of unidentified callers would be gone.
      const [unnamed] = await fromPage({ url, headers: { "x-client": "1" }, credentials: "omit" }, 1, false);
      expect(unnamed).toMatchObject({ status: 200, fields: { "ratelimit-remaining": "4" } });

      // What the gate tells a preflight by: it has no credentials, no body and no key.
      const preflights = api.asked.filter(({ method }) => method === "OPTIONS").map(({ headers }) => headers);
      for (const headers of preflights) {
        expect(headers).toMatchObject({ origin: site.origin, "access-control-request-method": "POST" });
        for (const name of ["authorization", "cookie", "content-length", "transfer-encoding", "content-type", "x-device-id", "x-client"]) expect(headers).not.toHaveProperty(name);
      }
    });
  });

  test.each(Object.entries(frameworks))("38 · %s: thirty calls at once get five answers and 25 refusals, and no network error", async (_, framework) => {
    const [[, keyOf, call]] = identities as [(typeof identities)[number]];
    const api = await startApi(framework, "preflights pass the gate", keyOf);
    onTestFinished(async () => void (await api.close()));
    const seen = await fromPage({ url: `${api.origin}/inbox`, ...call }, 30, true);
    const statuses = seen.map((each) => (typeof each === "string" ? each : each.status));
    expect(statuses.toSorted()).toEqual([...Array<number>(5).fill(200), ...Array<number>(25).fill(429)]);
    expect(Object.keys(count(api, "OPTIONS"))).toEqual(["204"]);
  });
});
