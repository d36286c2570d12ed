/** Checklist of the HTTP contract, item 57: bodies that are of no class of this platform, which an own `fetch` may send. */
import { Readable, Stream } from "node:stream";
import { expect, test } from "vitest";
import { createFetch } from "sluice/client";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";

/** A form of another package, such as undici or formdata-polyfill. */
class OtherForm {
  readonly #fields: [name: string, value: string][] = [];
  get [Symbol.toStringTag](): string {
    return "FormData";
  }
  append(name: string, value: string): void {
    this.#fields.push([name, value]);
  }
  [Symbol.iterator](): Iterator<[string, string]> {
    return this.#fields[Symbol.iterator]();
  }
}

test("57 · a form of another class is sent again as it was at the call, and stays of its class", async () => {
  const got: unknown[] = [];
  const form = new OtherForm();
  form.append("user", "alice");
  const fetch = createFetch({
    fetch: async (_, init) => {
      const { body } = init as { body: unknown };
      got.push(body instanceof OtherForm && [...body]);
      return got.length === 1 ? limited() : new Response();
    },
    time: { sleep: async () => form.append("user", "bob") },
  });
  expect((await fetch(URL_A, { method: "PUT", body: form as unknown as BodyInit })).status).toBe(200);
  expect(got).toEqual([[["user", "alice"]], [["user", "alice"]]]);
});

/** As the package form-data makes them. */
const pipedForm = (): unknown => Object.assign(new Stream(), { append: () => undefined });
const text = { user: "alice", toString: () => "alice" };
test.each<[string, () => unknown]>([
  ["an old stream of Node, which has only `pipe`", () => new Stream()],
  ["a form that is a stream", pipedForm],
  ["a stream of Node", () => Readable.from(["alice"])],
  ["a list, of which `fetch` makes text", () => ["alice"]],
  ["an object, of which `fetch` makes text", () => text],
  ["a generator", () => (function* () { yield "alice"; })()],
])("57 · %s is sent once, as it is", async (_, body) => {
  const got: unknown[] = [];
  const fetch = async (__: unknown, init?: RequestInit): Promise<Response> => (got.push(init?.body), limited());
  const sent = body();
  const call = talk([], { fetch }).fetch(URL_A, { method: "PUT", body: sent as BodyInit, retry: true });
  expect(await givenUp(call)).toMatchObject({ reason: "not_repeatable" });
  expect([got.length, got[0] === sent]).toEqual([1, true]);
});

test.each<[string, () => unknown]>([
  ["a form of React Native, which cannot be read", () => ({ append: () => undefined, getParts: () => [] })],
  ["a Blob of React Native", () => ({ size: 5, type: "", slice: () => undefined })],
])("57 · %s is sent again", async (_, body) => {
  let sent = 0;
  const fetch = async (): Promise<Response> => (++sent === 1 ? limited() : new Response());
  const { time, ...client } = talk([], { fetch });
  expect((await time.run(client.fetch(URL_A, { method: "PUT", body: body() as BodyInit }))).status).toBe(200);
  expect(sent).toBe(2);
});
