// The files for SvelteKit, in an app that SvelteKit built, and in Chromium.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { getRequest, setResponse } from "@sveltejs/kit/node";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { listen } from "../../../test/adapters/rows/listen.js";
import { startChromium } from "../../../test/helpers/chromium.js";
import { describeWith } from "../../../test/helpers/services.js";
import { buildKitApp, type KitApp } from "./sveltekit-app.js";

const POLICY = "capacity: 20, refill: perMinute(60)";
const inFlight = (hooks: string): string => hooks.replace(POLICY, "capacity: 2, returns: whenDone({ staleAfterMs: 600_000 })").replace("import { perMinute }", "import { whenDone }");
const leaky = (hooks: string): string => inFlight(hooks).replace("orNotModified(event.request, await resolve(event))", "resolve(event)");
const byAddress = (hooks: string): string => hooks.replace('["user", event.locals.user?.id]', 'addressKey(event.getClientAddress())').replace("import { perMinute }", "import { addressKey, perMinute }");
const standard = (hooks: string): string => hooks.replace("  respond: answer,\n", "");

let app: KitApp;
beforeAll(async () => void (app = await buildKitApp({ "in-flight": inFlight, leaky, "by-address": byAddress, standard })), 180_000);
afterAll(() => app?.remove());
beforeAll(() => void vi.useFakeTimers({ toFake: ["Date", "performance"] })); // time stands still
afterAll(() => void vi.useRealTimers());
beforeEach(() => void vi.advanceTimersByTime(60_000)); // all have 20 again

const send = (path: string, session?: string, { headers, ...init }: Omit<RequestInit, "headers"> & { headers?: Record<string, string> } = {}, getClientAddress = () => "192.0.2.1") =>
  app.respond(new Request(`http://localhost${path}`, { ...init, headers: { ...(session !== undefined && { cookie: `session=${session}` }), ...headers } }), { getClientAddress });
const form = { method: "POST", body: "", headers: { accept: "text/html", origin: "http://localhost", "content-type": "application/x-www-form-urlencoded" } };

test("each user has one limit over endpoints, pages and their data, and a page's own requests are not charged", async () => {
  const first = await send("/inbox", "token-of-ann");
  expect([first.status, await first.json(), first.headers.get("ratelimit-remaining")]).toEqual([200, { inbox: "ann" }, "19"]);
  const page = await send("/page", "token-of-ann");
  expect([page.status, page.headers.get("ratelimit-remaining")]).toEqual([200, "18"]);
  expect(await page.text()).toContain("<p>ann</p>");
  const data = await send("/page/__data.json", "token-of-ann");
  expect([data.status, data.headers.get("ratelimit-remaining")]).toEqual([200, "17"]);
  for (let i = 0; i < 17; i++) await send("/inbox", "token-of-ann");
  const refused = await send("/inbox", "token-of-ann");
  expect([refused.status, refused.headers.get("retry-after"), refused.headers.get("content-type")]).toEqual([429, "1", "application/json"]);
  expect(await refused.json()).toMatchObject({ code: "rate_limited", retry_after: 1 });
  const whole = await send("/page", "token-of-ann", { headers: { accept: "text/html,*/*;q=0.8" } });
  expect([whole.status, whole.headers.get("retry-after"), whole.headers.get("content-type")]).toEqual([429, "1", "text/html"]);
  expect(await whole.text()).toContain("<p>Too many requests. Try again in 1 second.</p>");
  // SvelteKit's client reads `message` and the rest of App.Error of a type that includes `application/json`.
  const navigation = await send("/page/__data.json", "token-of-ann");
  expect([navigation.status, navigation.headers.get("content-type")]).toEqual([429, "application/json"]);
  expect(await navigation.json()).toMatchObject({ status: 429, message: "Too many requests. Try again in 1 second.", retry_after: 1 });
  expect((await send("/inbox", "token-of-bob")).status).toBe(200);
  const unknown = await send("/page/__data.json");
  expect([unknown.status, unknown.headers.get("content-type")]).toEqual([401, "application/json"]);
  expect(await unknown.json()).toMatchObject({ status: 401, message: "This request does not identify a user or device." });
});

describe("the 304 of a page", () => {
  const revalidate = async (hooks: string) => {
    const session = "token-of-bob";
    const page = await send("/page", session, { headers: { "x-hooks": hooks } });
    await page.text();
    const headers = { "x-hooks": hooks, "if-none-match": String(page.headers.get("etag")) };
    const answers: Response[] = [];
    for (let i = 0; i < 4; i++) answers.push(await send("/page", session, { headers }));
    return answers;
  };

  test("has the fields and gives its place in flight back", async () => {
    const answers = await revalidate("inFlight");
    expect(answers.map(({ status, headers }) => [status, headers.get("ratelimit-remaining")])).toEqual(Array(4).fill([304, "1"]));
    expect(answers[0]?.headers.get("etag")).toMatch(/^"/);
  });

  test("has no fields and keeps its place where SvelteKit makes it, which drops the body", async () => {
    const answers = await revalidate("leaky");
    expect(answers.map(({ status, headers }) => [status, headers.has("ratelimit-remaining")])).toEqual([[304, false], [304, false], [429, true], [429, true]]);
  });
});

test("a page is prerendered without a limit", () => expect(existsSync(`${app.prerendered}/about.html`)).toBe(true));

test("an endpoint has a stricter limit of its own beside that of the app", async () => {
  const answers: Response[] = [];
  for (let i = 0; i < 4; i++) answers.push(await send("/reports", "token-of-bob", { method: "POST", headers: { "content-type": "application/json" } }));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(await answers[0]?.json()).toEqual({ report: "ready" });
  expect(answers[0]?.headers.get("ratelimit-policy")).toBe('"app";q=20;w=20, "reports";q=3;w=3600');
  expect(answers[3]?.headers.get("content-type")).toBe("application/problem+json");
});

test("a form action returns the wait to its form, with Retry-After", async () => {
  for (let i = 0; i < 3; i++) expect(await (await send("/export", "token-of-bob", form)).text()).toContain("<p>bob.csv</p>");
  const refused = await send("/export", "token-of-bob", form);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1200"]);
  expect(await refused.text()).toContain("<p>wait 1200</p>");
});

test("a form of another site gets SvelteKit's 403 before the hooks, and is not charged", async () => {
  const answer = await send("/export", "token-of-bob", { ...form, headers: { ...form.headers, origin: "http://elsewhere.example" } });
  expect([answer.status, answer.headers.has("ratelimit-limit")]).toEqual([403, false]);
});

test("a key by address: an address that the adapter cannot tell is an error of the request", async () => {
  const ask = (getClientAddress: () => string) => send("/page", "token-of-ann", { headers: { "x-hooks": "byAddress" } }, getClientAddress);
  const first = await ask(() => "192.0.2.7");
  expect([first.status, first.headers.get("ratelimit-remaining")]).toEqual([200, "19"]);
  expect((await ask(() => "192.0.2.8")).headers.get("ratelimit-remaining")).toBe("19");
  const logged = vi.spyOn(console, "error").mockReturnValue();
  onTestFinished(() => logged.mockRestore());
  const failed = await ask(() => {
    throw new Error("absent from request");
  });
  expect([failed.status, logged.mock.calls.length]).toEqual([500, 1]);
});

describeWith("chromium", "SvelteKit in a browser", () => {
  const types: Readonly<Record<string, string>> = { ".js": "text/javascript", ".css": "text/css" };
  let browser: Browser;
  beforeAll(async () => void (browser = await startChromium()));
  afterAll(() => browser?.close());

  /** Opens the app's first page as ann. */
  async function open(hooks = "") {
    const arrived: string[] = [];
    const server = createServer(async (request, response) => {
      const { pathname } = new URL(String(request.url), "http://localhost");
      const file = `${app.client}${pathname}`;
      if (pathname.startsWith("/_app/") && existsSync(file)) return void response.writeHead(200, { "Content-Type": types[extname(file)] ?? "application/json" }).end(await readFile(file));
      const answer = await app.respond(getRequest({ request, response, base: `http://${request.headers.host}` }), { getClientAddress: () => "192.0.2.1" });
      arrived.push(`${pathname} ${answer.status}`);
      setResponse(response, answer);
    });
    const { port, close } = await listen(server);
    const context = await browser.newContext({ extraHTTPHeaders: { "x-hooks": hooks } });
    onTestFinished(async () => {
      await context.close();
      await close();
    });
    await context.addCookies([{ name: "session", value: "token-of-ann", url: `http://127.0.0.1:${port}` }]);
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port}`);
    const link = (name: string) => page.getByRole("link", { name, exact: true });
    while (!arrived.includes("/page/__data.json 200")) { // until SvelteKit's client has started
      await link("export").hover();
      await link("page").hover();
    }
    return { page, arrived, link };
  }

  const spendAll = async (hooks = ""): Promise<void> => {
    while ((await send("/inbox", "token-of-ann", { headers: { "x-hooks": hooks } })).status === 200);
  };

  test("a link that is hovered costs one, and a navigation that is refused shows the message and the wait", async () => {
    const { page, arrived, link } = await open();
    expect(arrived).toEqual(["/ 200", "/page/__data.json 200"]);
    expect((await send("/inbox", "token-of-ann")).headers.get("ratelimit-remaining")).toBe("17");
    await spendAll();
    await link("again").click();
    await page.getByText("429: Too many requests. Try again in 1 second. (1)").waitFor();
  });

  test("of a problem document, a navigation that is refused shows neither", async () => {
    const { page, link } = await open("standard");
    await spendAll("standard");
    await link("again").click();
    await page.getByText("429: Internal Error ()").waitFor();
  });

  test("an enhanced form that is refused shows the message and the wait", async () => {
    const { page, link } = await open();
    await link("export").click();
    const button = page.getByRole("button", { name: "Export" });
    await button.waitFor();
    await spendAll();
    await button.click();
    await page.getByText("429: Too many requests. Try again in 1 second. (1)").waitFor();
  });
});
