// A call is a copy: it sends what its objects held when it was made. Over a real server, in every runtime.
import { createFetch, type ClientFetch, type ClientOptions } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { describe, expect, test } from "vitest";

/** The arguments of a call of alice, and what the caller does with its objects afterwards. */
interface Made {
  readonly input: string | URL | Request;
  readonly init?: RequestInit;
  change(): unknown;
}

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const put = (at: string, body: BodyInit, change: () => unknown): Made => ({ input: at, init: { method: "PUT", body }, change });

/** Makes a PUT of alice whose bytes later are those of bob. */
function putBytes(at: string, view: (buffer: ArrayBuffer) => ArrayBuffer | ArrayBufferView<ArrayBuffer>): Made {
  const all = bytes("--alice--");
  return put(at, view(all.buffer), () => all.set(bytes("--bobob--")));
}

function bodyOfRequest(at: string, init: RequestInit): Made {
  const request = new Request(at, { method: "PUT", body: "alice" });
  const change = async (): Promise<void> => {
    request.headers.set("X-User", "bob");
    await request.text().catch(() => undefined);
  };
  return { input: request, init, change };
}

function form(at: string, first: string | Blob): Made {
  const body = new FormData();
  body.append("user", first as string);
  return put(at, body, () => (body.set("user", "bob"), body.append("user", "bob")));
}

const members: [name: string, make: (at: string) => Made][] = [
  ["Headers", (at) => {
    const headers = new Headers({ "X-User": "alice" });
    return { input: at, init: { headers }, change: () => headers.set("X-User", "bob") };
  }],
  ["headers as an object", (at) => {
    const headers: Record<string, string> = { "X-User": "alice" };
    return { input: at, init: { headers }, change: () => (headers["X-User"] = "bob") };
  }],
  ["headers as an object with a list", (at) => {
    const list = ["alice"];
    return { input: at, init: { headers: { "X-User": list as unknown as string } }, change: () => (list[0] = "bob") };
  }],
  ["headers as pairs", (at) => {
    const headers: [string, string][] = [["X-User", "alice"]];
    return { input: at, init: { headers }, change: () => ((headers[0] as [string, string])[1] = "bob") };
  }],
  ["headers as pairs that grow", (at) => {
    const headers: [string, string][] = [["X-User", "alice"]];
    return { input: at, init: { headers }, change: () => headers.push(["X-User", "bob"]) };
  }],
  ["headers as a Map", (at) => {
    const headers = new Map([["X-User", "alice"]]);
    return { input: at, init: { headers: headers as unknown as HeadersInit }, change: () => headers.set("X-User", "bob") };
  }],
  ["headers that can be read only once", (at) => {
    const headers = new Map([["X-User", "alice"]]).entries();
    return { input: at, init: { headers: headers as unknown as HeadersInit }, change: () => [...headers] };
  }],
  ["init, whose members are replaced", (at) => {
    const init: RequestInit = { method: "PUT", headers: { "X-User": "alice" }, body: "alice" };
    return { input: at, init, change: () => Object.assign(init, { headers: { "X-User": "bob" }, body: "bob" }) };
  }],
  ["URL", (at) => {
    const url = new URL(`${at}/alice`);
    return { input: url, change: () => (url.pathname = url.pathname.replace("alice", "bob")) };
  }],
  ["Request", (at) => {
    const request = new Request(at, { headers: { "X-User": "alice" } });
    return { input: request, change: () => request.headers.set("X-User", "bob") };
  }],
  ["Request with headers of its options", (at) => {
    const headers = new Headers({ "X-User": "alice" });
    return { input: new Request(at, { headers: { "X-User": "bob" } }), init: { headers }, change: () => headers.set("X-User", "bob") };
  }],
  ["Request with a body, which the caller then reads", (at) => bodyOfRequest(at, {})],
  ["Request with a body, and options", (at) => bodyOfRequest(at, { headers: { "X-User": "alice" } })],
  ["Request whose options have the body", (at) => {
    const body = bytes("alice");
    return { input: new Request(at, { method: "PUT", body: "bob" }), init: { body }, change: () => body.set(bytes("bobob")) };
  }],
  ["Request as the options", (at) => {
    // Without a body: browsers make a stream of it, which they send over HTTP/2 alone.
    const request = new Request(at, { method: "PUT", headers: { "X-User": "alice" } });
    return { input: at, init: request as unknown as RequestInit, change: () => request.headers.set("X-User", "bob") };
  }],
  ["ArrayBuffer", (at) => putBytes(at, (buffer) => buffer)],
  ["Uint8Array of a part", (at) => putBytes(at, (buffer) => new Uint8Array(buffer, 2, 5))],
  ["DataView", (at) => putBytes(at, (buffer) => new DataView(buffer, 2, 5))],
  ["Buffer of Node", (at) => putBytes(at, (buffer) => (globalThis.Buffer ? globalThis.Buffer.from(buffer, 2, 5) : new Int8Array(buffer)))],
  ["URLSearchParams", (at) => {
    const body = new URLSearchParams({ user: "alice" });
    return put(at, body, () => (body.set("user", "bob"), body.append("user", "bob")));
  }],
  ["FormData", (at) => form(at, "alice")],
  ["FormData with a file", (at) => form(at, new Blob(["alice"]))],
  ["Blob", (at) => put(at, new Blob(["alice"]), () => undefined)],
  ["string", (at) => put(at, "alice", () => undefined)],
];

const TIMEOUT_MS = 60_000;
const clients: [name: string, make: () => ClientOptions][] = [
  ["no options", () => ({})],
  ["`merge`", () => ({ merge: true })],
  ["`identity` by header", () => ({ identity: ({ headers }) => headers.get("X-User") ?? "" })],
  ["`traffic`", () => ({ traffic: createTraffic() })],
  ["one attempt", () => ({ maxAttempts: 1 })],
  ["a timeout", () => ({ attemptTimeoutMs: TIMEOUT_MS })],
];

/** Registers the cases. `echo` is the address of the server of that name. */
export function snapshotSuite(echo: string): void {
  const place = (kind: string): string => `${echo}/${kind}/${crypto.randomUUID()}`;
  const told = async (fetch: ClientFetch, { input, init }: Made): Promise<string> => (await fetch(input, init)).text();

  describe.each(members)("57 · %s: a call sends what it was at the call", (_, make) => {
    test.each(clients)("when it changes right after the call, with %s", async (_name, options) => {
      const made = make(place("served"));
      const call = told(createFetch(options()), made);
      await made.change();
      expect(await call).toMatch(/alice(?!.*bob)/s);
    });

    test.each(clients.filter(([name]) => name !== "one attempt"))("when it changes during a wait, with %s", async (_name, options) => {
      const made = make(place("refused"));
      let waits = 0;
      // An attempt's timer sleeps by the same function. It does not end here.
      const sleep = async (ms: number): Promise<void> => (ms === TIMEOUT_MS ? new Promise(() => undefined) : void (waits++, await made.change()));
      const fetch = createFetch({ ...options(), time: { sleep } });
      expect(await told(fetch, made)).toMatch(/alice(?!.*bob)/s);
      expect(waits).toBe(1);
    });
  });

  test("57 · a POST, which is sent once, sends its bytes as they were at the call", async () => {
    const body = bytes("alice");
    const call = createFetch()(place("served"), { method: "POST", body });
    body.set(bytes("bobob"));
    expect(await (await call).text()).toContain("alice");
  });

  test.each(clients)("55 · one Headers for three calls gives each user the own answer, with %s", async (_, options) => {
    const fetch = createFetch(options());
    const at = place("served");
    const headers = new Headers();
    const calls = ["alice", "bob", "carol"].map((user) => {
      headers.set("X-User", user);
      return told(fetch, { input: at, init: { headers }, change: () => undefined });
    });
    expect((await Promise.all(calls)).map((text) => text.split(" ")[1])).toEqual(["alice", "bob", "carol"]);
  });

  test("55 · a call that joins a waiting one gets the answer of its own user", async () => {
    const headers = new Headers({ "X-User": "alice" });
    const at = place("refused");
    let second: Promise<string> | undefined;
    const sleep = async (): Promise<void> => {
      headers.set("X-User", "bob");
      second ??= told(fetch, { input: at, init: { headers: { "X-User": "alice" } }, change: () => undefined });
    };
    const fetch = createFetch({ identity: (request) => request.headers.get("X-User") ?? "", time: { sleep } });
    const first = await told(fetch, { input: at, init: { headers }, change: () => undefined });
    expect([first.split(" ")[1], (await second)?.split(" ")[1]]).toEqual(["alice", "alice"]);
  });
}
