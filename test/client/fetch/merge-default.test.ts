// One user must never get another's answer. So calls share a request only where it is known who asks.
import { AsyncLocalStorage } from "node:async_hooks";
import { describe, expect, onTestFinished, test } from "vitest";
import { createFetch, type ClientOptions } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { URL_A } from "../fake-server.js";

const user = new AsyncLocalStorage<string>();

/** Adds the user of the moment to each request, as servers do that call for many users. */
const signing = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
  const headers = new Headers(init?.headers);
  headers.set("Authorization", `Bearer ${user.getStore()}`);
  const request = new Request(input, { ...init, headers });
  await Promise.resolve();
  return new Response(request.headers.get("Authorization"));
};

/** What two users get who ask for the same page at the same time. */
function ask(fetch: ReturnType<typeof createFetch>): Promise<string[]> {
  return Promise.all(["alice", "bob"].map((name) => user.run(name, async () => (await fetch(URL_A)).text())));
}

const OWN = ["Bearer alice", "Bearer bob"];
const options: [name: string, options: ClientOptions][] = [
  ["nothing else", {}],
  ["a traffic", { traffic: createTraffic() }],
  ["retries off", { maxAttempts: 1 }],
  ["an identity that names the user", { identity: () => user.getStore() ?? "" }],
];
test.each(options)("54 · two users behind one signing fetch never share an answer, with %s", async (_, more) => {
  expect(await ask(createFetch({ fetch: signing, ...more }))).toEqual(OWN);
});

test.each(["a browser's page", "React Native"])("54 · nor in %s", async (platform) => {
  pretend(platform);
  expect(await ask(createFetch({ fetch: signing }))).toEqual(OWN);
});

test("54 · nor where the platform's own fetch was patched on a server", async () => {
  replaceGlobal("fetch", signing);
  expect(await ask(createFetch())).toEqual(OWN);
});

/** A browser's page. Its cookie belongs to alice when it asks, and to bob before she has her answer. */
async function changeSession(more: (session: { user: string }) => ClientOptions): Promise<string[]> {
  pretend("a browser's page");
  const session = { user: "alice" };
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  replaceGlobal("fetch", async () => {
    const text = `mail of ${session.user}`;
    await answered;
    return new Response(text);
  });
  const fetch = createFetch(more(session));
  const calls = [fetch(URL_A)];
  session.user = "bob";
  calls.push(fetch(URL_A));
  answer();
  const responses = await Promise.all(calls);
  return Promise.all([...responses, await fetch(URL_A)].map((response) => response.text()));
}

test("54 · a page whose session changes meanwhile gets the answer of the old one until that has arrived", async () => {
  expect(await changeSession(() => ({}))).toEqual(["mail of alice", "mail of alice", "mail of bob"]);
});

const cures: [name: string, options: (session: { user: string }) => ClientOptions][] = [
  ["an identity", (session) => ({ identity: () => session.user })],
  ["merging off", () => ({ merge: false })],
];
test.each(cures)("54 · with %s each session gets its own answer", async (_, more) => {
  expect(await changeSession(more)).toEqual(["mail of alice", "mail of bob", "mail of bob"]);
});

/** How many requests three equal calls become. */
async function requestsOf(given: ClientOptions, wrapped: boolean): Promise<number> {
  let sent = 0;
  const wire = async (): Promise<Response> => (sent++, new Response());
  if (!wrapped) replaceGlobal("fetch", wire);
  const fetch = createFetch({ ...(wrapped && { fetch: wire }), ...given });
  await Promise.all([fetch(URL_A), fetch(URL_A), fetch(URL_A)]);
  return sent;
}

describe("three equal calls are", () => {
  const rows: [requests: number, platform: string, wrapped: boolean, options: ClientOptions][] = [
    [3, "a server", false, {}],
    [3, "a server", true, {}],
    [3, "a browser's page", true, {}],
    [3, "a browser's page", false, { merge: false }],
    [3, "a server", true, { identity: "ann", merge: false }],
    [1, "a browser's page", false, {}],
    [1, "React Native", false, {}],
    [1, "a server", false, { identity: "ann" }],
    [1, "a server", true, { identity: "" }],
    [1, "a server", true, { identity: () => "ann" }],
    [1, "a server", true, { merge: true }],
  ];
  test.each(rows)("55 · %i requests on %s, with a fetch of its own: %s, %j", async (requests, platform, wrapped, given) => {
    pretend(platform);
    expect(await requestsOf(given, wrapped)).toBe(requests);
  });
});

/** Makes the process look like a platform, until the test ends. */
function pretend(platform: string): void {
  if (platform === "a browser's page") replaceGlobal("document", {});
  if (platform === "React Native") replaceGlobal("navigator", { product: "ReactNative" });
}

function replaceGlobal(name: string, value: unknown): void {
  const before = Object.getOwnPropertyDescriptor(globalThis, name);
  Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  onTestFinished(() => {
    if (before) Object.defineProperty(globalThis, name, before);
    else Reflect.deleteProperty(globalThis, name);
  });
}
