// The client: the vectors, its rules over virtual time, and real calls on this platform's own fetch.
import { createFetch, RateLimitedError, type WaitInfo } from "sluice/client";
import { describe, expect, test } from "vitest";
import { runVectors } from "../../client/vectors.js";
import { snapshotSuite } from "../../client/fetch/snapshot-suite.js";
import type { Addresses } from "../servers.js";
import "../../client/fetch/decisions.test.js";
import "../../client/fetch/give-up.test.js";
import "../../client/fetch/merge.test.js";
import "../../client/fetch/pending.test.js";
import "../../client/fetch/port.test.js";
import "../../client/fetch/retry-budget.test.js";
import "../../client/fetch/retry.test.js";

/** Registers the calls to real servers. */
export async function clientSuite(addresses: Addresses): Promise<void> {
  describe.each(Object.entries(await runVectors()))("%s", (_, outcomes) => {
    test.each(outcomes.map(({ why, ...rest }) => [why, rest] as const))("%s", (_why, { got, expected }) => expect(got).toEqual(expected));
  });

  describe("a server that limits, in real time", () => {
    test("63 · a refused call waits as long as the server says, and gets its response", async () => {
      const waits: WaitInfo[] = [];
      const fetch = createFetch({ onWait: (wait) => void waits.push(wait) });
      const headers = { "X-User": crypto.randomUUID() };
      for (let i = 0; i < 2; i++) expect(await (await fetch(addresses.limited, { headers })).text()).toBe("here");
      expect(waits.map(({ reason, status, attempts }) => [reason, status, attempts])).toEqual([["limited", 429, 1]]);
    });

    test("63 · a sensitive call is told the wait", async () => {
      const fetch = createFetch();
      const init = { method: "POST", headers: { "X-User": crypto.randomUUID() }, sensitive: true };
      expect((await fetch(addresses.limited, init)).status).toBe(200);
      const error: unknown = await fetch(addresses.limited, init).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(RateLimitedError);
      expect(error).toMatchObject({ reason: "sensitive", waitMs: 1_000, attempts: 1, policies: ["each"] });
    });
  });

  snapshotSuite(addresses.echo);

  describe("a network error of this platform", () => {
    const told = async (url: string): Promise<{ readonly result: unknown; readonly reasons: readonly string[] }> => {
      const reasons: string[] = [];
      const fetch = createFetch({ time: { sleep: () => Promise.resolve() }, onWait: ({ reason }) => void reasons.push(reason) });
      const result = await fetch(url).then((response) => response.text()).catch((error: unknown) => error);
      return { result, reasons };
    };

    test("53 · of a connection that is dropped once does not reach the caller", async () => {
      // Deno's own `fetch` sends the request again, so the client may not notice.
      expect((await told(`${addresses.dropped}/once/${crypto.randomUUID()}`)).result).toBe("here");
    });

    const failures = [
      ["a connection that is dropped", addresses.dropped],
      ["a connection that is refused", addresses.refused],
      ["a name that no name server knows", addresses.unknown],
    ] as const;
    test.each(failures)("53 · of %s is retried twice, then rejects", async (_, url) => {
      const { result, reasons } = await told(`${url}/inbox`);
      expect([result instanceof Error, ...reasons]).toEqual([true, "network_error", "network_error"]);
    });

    test("53 · is not that of a redirect loop, except in browsers, which do not tell the two apart", async () => {
      const { result, reasons } = await told(addresses.looping);
      expect([result instanceof Error, ...reasons]).toEqual([true, ...("document" in globalThis ? ["network_error", "network_error"] : [])]);
    });

    test("53 · is not that of a wrong URL, which rejects at once", async () => {
      expect((await told("http://")).reasons).toEqual([]);
    });
  });
}
