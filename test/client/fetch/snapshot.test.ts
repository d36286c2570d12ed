import { createFetch } from "sluice/client";
import { afterAll, expect, test } from "vitest";
import { startServers } from "../../runtimes/servers.js";
import { talk, URL_A } from "../fake-server.js";
import { snapshotSuite } from "./snapshot-suite.js";

const { addresses, close } = await startServers();
afterAll(close);
snapshotSuite(addresses.echo);

const body = new Uint8Array(3);
test.each([
  ["a POST", { method: "POST" }],
  ["a sensitive call", { method: "PUT", sensitive: true }],
  ["a call of one attempt", { method: "PUT", maxAttempts: 1 }],
  ["a call with `retry: false`", { method: "PUT", retry: false }],
])("57 · the bytes of %s, which is never repeated, are not copied", async (_, init) => {
  const { fetch, sent } = talk();
  await fetch(URL_A, { ...init, body });
  expect(sent[0]?.init?.body).toBe(body);
});

test("57 · a Blob and members that are no part of the request stay by reference", async () => {
  const { fetch, sent } = talk();
  const init = { method: "PUT", body: new Blob(["a"]), dispatcher: {}, signal: new AbortController().signal };
  await fetch(URL_A, init);
  const got = sent[0]?.init as typeof init;
  expect([got.body === init.body, got.dispatcher === init.dispatcher, got.signal === init.signal]).toEqual([true, true, true]);
});

test("57 · headers keep their form and the case of their names", async () => {
  const { fetch, sent } = talk();
  await fetch(URL_A, { headers: { "X-User": "alice" } });
  await fetch(URL_A, { headers: [["X-User", "alice"]] });
  expect(sent.map(({ init }) => init?.headers)).toEqual([{ "X-User": "alice" }, [["X-User", "alice"]]]);
});

test.each([[{ status: 200 }], [{ status: 503, headers: new Headers() }], [undefined], ["ok"]])(
  "a `fetch` that gives %j is told that a Response was expected",
  async (mock) => {
    const fetch = createFetch({ fetch: async () => mock as unknown as Response });
    await expect(fetch(URL_A)).rejects.toThrow("Expected `fetch()` to be a Response, got ");
  },
);
