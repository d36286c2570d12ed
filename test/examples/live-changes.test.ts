// What may change the example server: its own page, and programs that name it rightly.
import { afterAll, beforeAll, expect, test } from "vitest";
import { ExampleServer } from "./example-server.js";

let server: ExampleServer;
beforeAll(async () => void (server = await ExampleServer.start()));
afterAll(() => server.kill());

const isOut = async (): Promise<unknown> => (await server.ask("GET /live/facts")).json["isOut"];
const put = async (headers: Record<string, string>, body = '{"isOut":true}', path = "/live/outage"): Promise<number> => (await server.ask(`PUT ${path}`, headers, body)).status;

test("another site's page changes nothing, by its Origin or by a name that it pointed here", async () => {
  const { host, port } = server.url;
  const strangers = [
    { Origin: "https://evil.example" }, { Origin: "null" }, { Origin: `http://evil.example:${port}` }, { Origin: `https://${host}` }, { Origin: "" },
    { Origin: `http://localhost:${Number(port) + 1}` }, { Host: `evil.example:${port}`, Origin: `http://evil.example:${port}` }, { Host: "evil.example" },
    { Host: "localhost.evil.example" }, { Host: "127.0.0.1.evil.example" },
  ];
  for (const fields of strangers) {
    expect(await put(fields)).toBe(403);
    expect(await put(fields, '{"capacity":9,"tokens":9,"everyMs":9}', "/live/sandbox")).toBe(403);
    expect(await put({ ...fields, authorization: "Bearer alice" }, "", "/live/fresh")).toBe(403);
  }
  expect(await isOut()).toBe(false);
});

test("only a boolean is a wish", async () => {
  for (const body of ["{}", "null", '{"isOut":null}', '{"isOut":1}', '{"isOut":"true"}', "[]", '{"isOut":[true]}']) expect(await put({}, body)).toBe(400);
  expect(await isOut()).toBe(false);
});

test("its own page may, by any of its names", async () => {
  const { host, port } = server.url;
  for (const name of [host, `localhost:${port}`, `LOCALHOST:${port}`, `[::1]:${port}`]) {
    for (const fields of [{ Host: name }, { Host: name, Origin: `http://${name}` }]) expect([await put(fields), await put(fields, '{"isOut":false}')]).toEqual([200, 200]);
  }
});

test("its own page fills the bucket of a caller, and of no other", async () => {
  const levelOf = async (name: string): Promise<unknown> => (await server.ask("GET /live/level?policy=sandbox", { authorization: `Bearer ${name}` })).json["level"];
  for (const name of ["alice", "bob"]) for (let i = 0; i < 5; i++) await server.ask("GET /sandbox", { authorization: `Bearer ${name}` });
  expect(await put({ authorization: "Bearer alice" }, "", "/live/fresh")).toBe(200);
  expect(await levelOf("alice")).toBe(5);
  expect(await levelOf("bob")).toBeLessThan(5);
  expect(await put({}, "", "/live/fresh"), "a caller without a name").toBe(400);
});

test("a closed output does not end the server", async () => {
  const own = await ExampleServer.start();
  try {
    own.closeOutput();
    for (let i = 0; i < 5; i++) expect((await own.ask("GET /health")).status).toBe(200);
  } finally {
    own.kill();
  }
});
