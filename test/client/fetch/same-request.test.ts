/** The client sends the request that the platform's `fetch` sends, of any form of its arguments. Over a real server. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createFetch, type ClientInit, type ClientOptions } from "sluice/client";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";

const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("latin1").on("data", (text: string) => (body += text));
  request.on("end", () => response.end([request.method, request.url, request.headers.authorization, request.headers["content-type"], body].join(" ")));
}).listen(0, "127.0.0.1");
await once(server, "listening");
const at = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`;
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

type Call = [input: string | URL | Request, init?: ClientInit];
const ann = { authorization: "Bearer ann" };
const defaults = { method: "PUT", headers: ann, body: "x" };

class Getters {
  get method() { return "PUT"; }
  get headers() { return ann; }
  get body() { return "x"; }
}
class Throwing { get another() { throw new Error("it was read"); } }
class Fields { method = "PUT"; headers = ann; body = "x"; }
class MoreFields extends Fields { override body = "y"; withMethod(method: string) { return Object.assign(this, { method }); } }
class StaticGetters extends Getters { override get method() { return "DELETE"; } }
/** Says something else than it is. `fetch` sends what it is, and as its options reads what it says. */
class OtherRequest extends Request {
  override get method() { return "DELETE"; }
  override get headers() { return new Headers(ann); }
  override get url() { return "http://127.0.0.1:1/elsewhere"; }
}
class OtherHeaders extends Headers {
  override *[Symbol.iterator](): HeadersIterator<[string, string]> { yield ["authorization", "Bearer bob"]; }
}
class HeaderFields { authorization = "Bearer ann"; get "content-type"() { return "text/none"; } }
const nullRoot = (members: object): object => Object.create(Object.assign(Object.create(null), members) as object) as object;
const shared = (): Uint8Array => new Uint8Array(new SharedArrayBuffer(3));

const calls: Record<string, () => Call> = {
  "a URL alone": () => [new URL(at)],
  "no members": () => [at, {}],
  "a literal": () => [at, { ...defaults }],
  "inherited defaults": () => [at, Object.create(defaults) as ClientInit],
  "inherited defaults, and an own member": () => [at, Object.create(defaults, { body: { value: "own", enumerable: true } }) as ClientInit],
  "an own undefined over an inherited member": () => [at, Object.create({ ...defaults, body: undefined }, { method: { value: undefined } }) as ClientInit],
  "defaults of defaults": () => [at, Object.create(Object.create(defaults) as object) as ClientInit],
  "defaults without Object.prototype": () => [at, nullRoot(defaults) as ClientInit],
  "members that cannot be listed": () => [at, Object.defineProperty({ headers: ann }, "method", { value: "PUT" })],
  "a class with fields": () => [at, new Fields()],
  "a subclass with fields and a method": () => [at, new MoreFields().withMethod("POST")],
  "a class with getters": () => [at, new Getters() as ClientInit],
  "a subclass with getters": () => [at, new StaticGetters() as ClientInit],
  "a proxy": () => [at, new Proxy(defaults, {})],
  "a proxy that only answers": () => [at, new Proxy({}, { get: (_, name) => (defaults as Record<string | symbol, unknown>)[name] }) as ClientInit],
  "a getter of another member that throws": () => [at, Object.assign(Object.create(new Throwing()) as object, defaults) as ClientInit],
  "a list with members": () => [at, Object.assign([], defaults) as ClientInit],
  "a frozen literal": () => [at, Object.freeze({ ...defaults })],
  "a Request": () => [new Request(at, defaults)],
  "a Request, and inherited defaults": () => [new Request(at, { method: "POST", body: "y" }), Object.create(defaults) as ClientInit],
  "a Request as the options": () => [at, new Request("http://127.0.0.1:1/", defaults)],
  "a Request of a subclass": () => [new OtherRequest(at)],
  "a Request of a subclass, with a body": () => [new OtherRequest(at, defaults)],
  "a Request of a subclass, and a body": () => [new OtherRequest(at, { method: "PUT" }), { body: "y" }],
  "a Request of a subclass as the options": () => [at, new OtherRequest("http://127.0.0.1:1/")],
  "headers of a class": () => [at, { headers: new HeaderFields() as unknown as Record<string, string> }],
  "headers that are inherited, which do not count": () => [at, { headers: Object.create(ann) as Record<string, string> }],
  "headers of a subclass": () => [at, { headers: new OtherHeaders(ann) }],
  "a number as options": () => [at, 5 as ClientInit],
  "a text as options": () => [at, "PUT" as ClientInit],
  "bytes that threads share": () => [at, { method: "PUT", body: shared() as unknown as BodyInit }],
};

const clients: Record<string, ClientOptions> = {
  "no options": {}, "`merge`": { merge: true }, "one attempt": { maxAttempts: 1 }, "an `identity` by header": { identity: ({ headers }) => `${headers.get("authorization")}` },
};

async function sentBy(fetch: (...call: Call) => Promise<Response>, make: () => Call): Promise<string> {
  return fetch(...make()).then((response) => response.text(), () => "refused");
}

describe.each(Object.entries(clients))("57 · with %s", (_, options) => {
  test.each(Object.entries(calls))("the client sends of %s what fetch sends", async (_name, make) => {
    expect(await sentBy(createFetch(options), make)).toBe(await sentBy(fetch as typeof fetch & ((...call: Call) => Promise<Response>), make));
  });
});

test("57 · the server sees the difference: these calls are of many kinds", async () => {
  const seen = await Promise.all(Object.values(calls).map((make) => sentBy(createFetch({ maxAttempts: 1 }), make)));
  expect(new Set(seen).size).toBeGreaterThan(9);
  expect(seen.filter((each) => each.startsWith("PUT /a Bearer ann text/plain;charset=UTF-8 x")).length).toBeGreaterThan(6);
});

test("56 · the options of a call may be inherited, too", async () => {
  class Sensitive { get sensitive() { return true; } get onWait() { return () => undefined; } }
  for (const init of [new Proxy({}, { get: (_, name) => name === "sensitive" || undefined }), Object.create({ sensitive: true }), new Sensitive(), Object.assign(new OtherRequest(URL_A), { sensitive: true })] as ClientInit[]) {
    const { fetch, sent } = talk([limited()]);
    expect(await givenUp(fetch(URL_A, init))).toMatchObject({ reason: "sensitive" });
    expect(sent).toHaveLength(1);
  }
});

test("55 · calls merge by inherited members as by own ones, and a method of their class does not keep them apart", async () => {
  const { fetch, sent } = talk();
  class Get { cache = "no-store" as const; again() { return this; } }
  await Promise.all([fetch(URL_A, new Get()), fetch(URL_A, new Get()), fetch(URL_A, Object.create({ headers: ann }) as ClientInit)]);
  expect(sent.map(({ init }) => new Headers(init?.headers).get("authorization"))).toEqual([null, "Bearer ann"]);
});

const bodies: Record<string, () => BodyInit> = {
  text: () => "alice", bytes: () => new TextEncoder().encode("alice"), "an ArrayBuffer": () => new TextEncoder().encode("alice").buffer,
  "a Blob": () => new Blob(["alice"]), "a form": () => new URLSearchParams({ user: "alice" }),
};
test.each(["url", "bodyUsed", "byteLength", "byteOffset", "buffer", "size", "append", "pipe", "method", "headers", "signal", "sensitive", "retry", "constructor"])(
  "57 · a call does not read `%s` of Object.prototype", async (name) => {
    const run = async (): Promise<string> => {
      const got: string[] = [];
      const fetch = createFetch({
        merge: true, time: { sleep: async () => undefined },
        fetch: async (input, init) => {
          got.push([init?.method, new Headers(init?.headers).get("authorization"), typeof input, Object.prototype.toString.call(init?.body)].join());
          return got.length % 2 ? limited() : new Response("here", { headers: {} });
        },
      });
      for (const make of Object.values(bodies)) await fetch(URL_A, { method: "PUT", headers: ann, body: make() });
      await fetch(new URL(URL_A), Object.create(defaults) as ClientInit);
      return got.join("\n");
    };
    const clean = await run();
    expect(clean.split("\n")).toHaveLength(12);
    const prototype = Object.prototype as unknown as Record<string, unknown>;
    const own = Object.getOwnPropertyDescriptor(prototype, name);
    const restore = () => (own ? Object.defineProperty(prototype, name, own) : Reflect.deleteProperty(prototype, name));
    onTestFinished(() => void restore());
    Object.defineProperty(prototype, name, { value: "polluted", configurable: true, enumerable: true, writable: true });
    const polluted = await run().catch(String);
    restore();
    expect(polluted).toBe(clean);
  },
);
