// Next.js, built: a route handler and the proxy under the adapter suite, and the examples as they are.
import { adapterSuite } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { proxyLacks, routeLacks, startNext, type NextApp } from "./servers/next.js";

let app: NextApp | undefined;
beforeAll(async () => {
  app = await startNext();
  vi.spyOn(console, "error").mockReturnValue(); // Next.js prints what the suite throws on purpose
}, 180_000);
afterAll(async () => {
  vi.restoreAllMocks();
  await app?.close();
});

describe("a route handler", () => adapterSuite({ test, serve: (setup) => running().serve(setup, "route"), lacks: routeLacks }));
describe("the proxy", () => adapterSuite({ test, serve: (setup) => running().serve(setup, "proxy"), lacks: proxyLacks }));

describe("the examples", () => {
  /** Sends requests one after the other. */
  async function ask(path: string, headers: Record<string, string>, count: number): Promise<Response[]> {
    const { port, close } = await running().serve();
    onTestFinished(() => void close());
    const responses: Response[] = [];
    for (let i = 0; i < count; i++) responses.push(await fetch(`http://127.0.0.1:${port}${path}`, { headers }));
    return responses;
  }

  test("the route handler limits each user and refuses callers without a session", async () => {
    const responses = await ask("/inbox", { Authorization: "Bearer token-of-ann" }, 12);
    expect(responses.map(({ status }) => status)).toEqual([...Array<number>(10).fill(200), 429, 429]);
    expect(await responses[0]?.json()).toEqual({ messages: [] });
    expect(responses[0]?.headers.get("RateLimit-Remaining")).toBe("9");
    expect(await responses[10]?.json()).toMatchObject({ code: "rate_limited" });
    expect((await ask("/inbox", { Authorization: "Bearer token-of-bob" }, 1))[0]?.status).toBe(200);
    expect((await ask("/inbox", {}, 1))[0]?.status).toBe(401);
  });

  test("the proxy limits each user before the page behind it", async () => {
    const responses = await ask("/account", { Cookie: "session=token-of-ann" }, 22);
    expect(responses.map(({ status }) => status)).toEqual([...Array<number>(20).fill(200), 429, 429]);
    expect(await responses[0]?.json()).toEqual({ name: "ann" });
    expect(responses[0]?.headers.get("RateLimit-Remaining")).toBe("19");
    expect((await ask("/account", {}, 1))[0]?.status).toBe(401);
  });

  test("the Server Action limits each user, and its form shows the wait", async () => {
    const { port, close } = await running().serve();
    onTestFinished(() => void close());
    const url = `http://127.0.0.1:${port}/export`;
    /** Sends the form of the page, as a browser without JavaScript does. */
    const submit = async (session: string): Promise<string> => {
      const page = await (await fetch(url)).text();
      const form = new FormData();
      for (const [, name = "", value = ""] of page.matchAll(/<input type="hidden" name="([^"]+)"(?: value="([^"]*)")?/g)) form.set(name, value.replaceAll("&quot;", '"'));
      const answer = await fetch(url, { method: "POST", body: form, headers: { Cookie: `session=${session}` } });
      return (/<p>(.*?)<\/p>/.exec((await answer.text()).replaceAll("<!-- -->", "")) ?? [])[1] ?? "";
    };
    for (let i = 0; i < 3; i++) expect(await submit("token-of-ann")).toBe("Ready: ann.csv");
    expect(await submit("token-of-ann")).toMatch(/^Too many exports. Try again in 1[12]\d\d seconds.$/);
    expect(await submit("token-of-bob")).toBe("Ready: bob.csv");
    expect(await submit("nobody")).toBe("Sign in first.");
  });
});

function running(): NextApp {
  if (app === undefined) throw new Error("Expected the app to be built");
  return app;
}
