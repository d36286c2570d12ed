// The operators' page of examples/admin: over memory, over Redis with two processes, and in Chromium.
import type { ChildProcess } from "node:child_process";
import { request } from "node:http";
import { Redis } from "ioredis";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { CallerState } from "../../examples/admin/actions.js";
import type { Overview } from "../../examples/admin/admin.js";
import { Controls } from "../../examples/admin/controls.js";
import { RecentCallers } from "../../examples/admin/recent-callers.js";
import { start } from "../../examples/admin/service.js";
import { shareCallers } from "../../examples/admin/share.js";
import { keyOfText, textOfKey } from "../../examples/admin/page/key-text.js";
import { startChromium } from "../helpers/chromium.js";
import { messageFrom, startProcess } from "../helpers/processes.js";
import { describeWith, redisUrl } from "../helpers/services.js";
import { call, PASSWORD, post, signedIn } from "./admin-calls.js";

const SOON = { timeout: 20_000, interval: 50 };

describe("over memory", () => {
  let running: Awaited<ReturnType<typeof start>>;
  let lines: Record<string, unknown>[];
  beforeEach(async () => {
    lines = [];
    running = await start({ operators: { ann: PASSWORD }, port: 0, adminPort: 0, audit: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
  });
  afterEach(() => running.close());

  test("without a sign-in nothing is told, and nothing can be done", async () => {
    for (const path of ["overview", "peek", "act", "policy", "numbers", "nothing"]) {
      for (const cookie of ["", "sluice-admin=ann.9999999999999.made-up", "sluice-admin=__proto__.9999999999999.x"]) expect((await post(running.admin, path, {}, { cookie })).status).toBe(401);
    }
    const { cookie } = await signedIn(running.admin);
    expect((await post(running.admin, "overview", {}, { cookie })).status).toBe(200);
    expect((await post(running.admin, "overview", {}, { cookie: cookie.replace("ann.", "bob.") })).status).toBe(401);
    expect((await post(running.admin, "overview", {}, { cookie: cookie.replace(/\.\d+\./, ".9999999999999.") })).status).toBe(401);
    expect((await post(running.admin, "sign-out", {}, { cookie })).headers.get("set-cookie")).toMatch(/^sluice-admin=; .*Max-Age=0; HttpOnly; SameSite=Strict$/);
  });

  test("a session ends after eight hours", async () => {
    const { cookie } = await signedIn(running.admin);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 8 * 3_600_000);
    expect((await post(running.admin, "overview", {}, { cookie })).status).toBe(401);
    vi.restoreAllMocks();
  });

  test("guesses are limited, and a right password costs none", async () => {
    for (let i = 0; i < 10; i++) await signedIn(running.admin);
    for (const name of ["ann", "bob", "constructor", "ann", "ann"]) expect((await post(running.admin, "sign-in", { name, password: "wrong" })).status).toBe(401);
    const refused = await post(running.admin, "sign-in", { name: "ann", password: PASSWORD });
    expect([refused.status, Number(refused.headers.get("retry-after"))]).toEqual([429, expect.closeTo(180, -2)]);
  });

  test("another site's page, and a form, can do nothing", async () => {
    const { cookie } = await signedIn(running.admin);
    const order = { limiter: "interactive", key: ["user", "bob"], verb: "reset", reason: "because" };
    for (const headers of [{ origin: "https://evil.example" }, { origin: "null" }, { "sec-fetch-site": "cross-site" }, { "content-type": "text/plain" }, { "content-type": "application/x-www-form-urlencoded" }]) {
      expect((await post(running.admin, "act", order, { cookie, ...headers })).status).toBe(403);
      expect((await post(running.admin, "sign-in", { name: "ann", password: PASSWORD }, headers)).status).toBe(403);
    }
    const { headers } = await fetch(running.admin);
    expect(headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect((await fetch(`${running.admin}/api/overview`)).status).toBe(404);
    expect((await fetch(running.admin, { method: "PUT" })).status).toBe(405);
    expect((await fetch(`${running.admin}/constructor`)).status).toBe(404);
  });

  test("a name that another site pointed at this server can do nothing, and each name of this machine can", async () => {
    const { port } = new URL(running.admin);
    const wish = { name: "ann", password: PASSWORD };
    const ask = (path: string, fields: Record<string, string>): Promise<number | undefined> => new Promise((resolve, reject) => {
      const sent = request(`${running.admin}/api/${path}`, { method: "POST", headers: { "content-type": "application/json", ...fields } }, (response) => resolve(response.resume().statusCode));
      sent.on("error", reject).end(JSON.stringify(wish));
    });
    for (const name of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "0.0.0.0", ""]) {
      for (const path of ["sign-in", "act", "policy", "numbers"]) expect(await ask(path, { host: `${name}:${port}`, origin: `http://${name}:${port}` }), name).toBe(403);
    }
    for (const origin of ["http://evil.example", `http://localhost:${Number(port) + 1}`, ""]) expect(await ask("sign-in", { host: `localhost:${port}`, origin })).toBe(403);
    for (const name of ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"]) expect(await ask("sign-in", { host: `${name}:${port}`, origin: `http://${name}:${port}` })).toBe(200);
  });

  test("debit, credit, block, the end of a block, and reset, each with its record", async () => {
    const headers = await signedIn(running.admin);
    const bob = { limiter: "interactive", key: ["user", "bob"], reason: "ticket 7" };
    const does = async (order: object): Promise<CallerState> => ((await (await post(running.admin, "act", { ...bob, ...order }, headers)).json()) as { state: CallerState }).state;
    expect(await does({ verb: "debit", tokens: 9 })).toMatchObject({ levels: [{ limit: "interactive", remaining: 1, capacity: 10 }], allowed: true });
    expect((await does({ verb: "credit", tokens: 3 })).levels[0]?.remaining).toBeGreaterThanOrEqual(4);
    expect(await does({ verb: "block", forMs: 60_000 })).toMatchObject({ allowed: false, blocked: true });
    expect(await call(running.service, "bob")).toBe(429);
    expect((await does({ verb: "block", forMs: 0 })).blocked).toBe(false);
    expect(await does({ verb: "reset" })).toMatchObject({ levels: [{ remaining: 10 }] });
    expect(lines.map(({ verb }) => verb)).toEqual(["sign-in", "debit", "credit", "block", "block", "reset"]);
    expect(lines[1]).toMatchObject({ operator: "ann", outcome: "done", limiter: "interactive", key: ["user", "bob"], tokens: 9, reason: "ticket 7", before: [{ remaining: 10 }] });
    const state = await (await post(running.admin, "peek", { limiter: "reports", key: ["user", "bob"] }, headers)).json();
    expect(state).toMatchObject({ levels: [{ limit: "requests", remaining: 10 }, { limit: "parallel", remaining: 2, capacity: 2 }] });
  });

  test("what is wrong is said, and changes nothing", async () => {
    const headers = await signedIn(running.admin);
    const right = { limiter: "interactive", key: ["user", "bob"], verb: "debit", tokens: 1, reason: "ticket 7" };
    for (const wrong of [{ limiter: "constructor" }, { limiter: 5 }, { key: "" }, { key: [] }, { key: [{}] }, { key: null }, { verb: "consume" }, { tokens: 0 }, { tokens: 0.5 }, { tokens: "9" }, { tokens: 1e10 }, { verb: "block", forMs: -1 }, { verb: "block", forMs: 1e12 }, { reason: "" }, { reason: "  x  " }, { reason: 5 }]) {
      const response = await post(running.admin, "act", { ...right, ...wrong }, headers);
      expect([response.status, ((await response.json()) as { message: string }).message], JSON.stringify(wrong)).toEqual([400, expect.stringMatching(/^Expected /)]);
    }
    const numbers = { name: "interactive", capacity: 5, tokens: 1, everyMs: 1_000, shadow: false, was: { capacity: 10, tokens: 2, everyMs: 1_000, shadow: false }, reason: "ticket 7" };
    for (const wrong of [{ name: "other" }, { capacity: 0 }, { capacity: "5" }, { tokens: -1 }, { everyMs: 0.5 }, { shadow: "yes" }, { reason: "" }]) {
      expect((await post(running.admin, "policy", { ...numbers, ...wrong }, headers)).status, JSON.stringify(wrong)).toBe(400);
    }
    for (const body of ["", "{", `"${"x".repeat(5_000)}"`]) expect((await post(running.admin, "act", body, headers)).status).toBe(400);
    expect(lines.map(({ verb }) => verb)).toEqual(["sign-in"]);
    expect(await (await post(running.admin, "peek", { limiter: "interactive", key: ["user", "bob"] }, headers)).json()).toMatchObject({ levels: [{ remaining: 10, capacity: 10 }] });
  });

  test("operators need names, and passwords that are not guessed soon", async () => {
    await expect(start({ operators: { ann: "short" }, port: 0, adminPort: 0 })).rejects.toThrow(/^Expected operators/);
    await expect(start({ operators: {}, port: 0, adminPort: 0 })).rejects.toThrow(/^Expected operators/);
    await expect(start({ operators: { "a.b": PASSWORD }, port: 0, adminPort: 0 })).rejects.toThrow(/^Expected operators/);
  });

  test("a policy on trial refuses no one, and keeps its numbers", () => {
    const controls = new Controls({ interactive: { capacity: 10, tokens: 2, everyMs: 1_000 } });
    controls.set("interactive", { capacity: 5, tokens: 1, everyMs: 1_000, shadow: true });
    expect(controls.list()).toEqual([{ name: "interactive", capacity: 5, tokens: 1, everyMs: 1_000, shadow: true }]);
    expect(() => controls.set("interactive", { capacity: 0, tokens: 1, everyMs: 1_000 })).toThrow();
    expect(controls.isShadow("interactive")).toBe(true); // as it was
    controls.unset("interactive");
    expect(controls.list()).toEqual([{ name: "interactive", capacity: 10, tokens: 2, everyMs: 1_000, shadow: false }]);
  });
});

test.each([["ann"], [["user", "42"]], [["user", 42]], [["one"]], ['["x'], ["two words"], [["a b", "c"]], ["<b>"], [["user", ""]]] as [never][])("a key is typed as it is shown: %j", (key) => {
  expect(keyOfText(textOfKey(key))).toEqual(key);
});

describeWith("redis", "two processes over Redis", () => {
  const prefix = `admin-${process.pid}-${Date.now()}`;
  let children: ChildProcess[];
  let urls: { service: string; admin: string }[];
  beforeEach(async () => {
    children = await Promise.all([1, 2].map(() => startProcess("test/examples/admin-child.ts", [redisUrl(), prefix, PASSWORD])));
    urls = await Promise.all(children.map((child) => messageFrom<{ service: string; admin: string }>(child)));
  });
  afterEach(async () => {
    for (const child of children) child.kill("SIGKILL");
    const redis = new Redis(redisUrl());
    const keys = await redis.keys(`*${prefix}*`);
    if (keys.length > 0) await redis.del(...keys);
    redis.disconnect();
  });

  test("counts of both, one cookie for both, and numbers and trials that reach both", async () => {
    const [one, two] = urls as [(typeof urls)[0], (typeof urls)[0]];
    const headers = await signedIn(one.admin);
    const overview = async (admin = two.admin): Promise<Overview> => (await (await post(admin, "overview", {}, headers)).json()) as Overview;
    for (const { service } of urls) for (let i = 0; i < 10; i++) await call(service, "bob");
    await vi.waitFor(async () => {
      const { processes, alone, callers } = await overview();
      expect([processes, alone]).toEqual([2, false]);
      expect(callers[0]).toMatchObject({ limiter: "interactive", key: ["user", "bob"], requests: { count: 20, error: 0 }, onTrial: { count: 0 } });
      expect(callers[0]?.refused.count).toBeGreaterThan(3);
    }, SOON);
    const change = { name: "interactive", capacity: 1, tokens: 1, everyMs: 3_600_000 };
    const [before] = (await overview()).policies;
    expect((await post(two.admin, "policy", { ...change, shadow: true, was: before, reason: "an attack" }, headers)).status).toBe(200);
    expect((await overview()).policies[0]).toEqual({ ...change, shadow: true }); // where it was changed, at once
    await vi.waitFor(async () => expect((await overview(one.admin)).policies[0]).toEqual({ ...change, shadow: true }), SOON);
    for (const { service } of urls) for (let i = 0; i < 3; i++) expect(await call(service, "bob")).toBe(200);
    const other = await post(one.admin, "policy", { ...change, shadow: false, was: before, reason: "an attack" }, headers);
    expect(other.status).toBe(409); // made from the numbers of before
    expect((await post(one.admin, "policy", { ...change, shadow: false, was: { ...change, shadow: true }, reason: "an attack" }, headers)).status).toBe(200);
    for (const { service } of urls) await vi.waitFor(async () => expect(await call(service, "carol")).toBe(429), SOON);
    // A process that dies is forgotten after ten seconds.
    children[0]?.kill("SIGKILL");
    await vi.waitFor(async () => expect((await overview()).processes).toBe(1), SOON);
  }, 60_000);

  test("the set of processes loses those that ended, and ends with the last one", async () => {
    const redis = new Redis(redisUrl());
    const name = `${prefix}:few`;
    const callers = new RecentCallers();
    const first = shareCallers(callers, redis, name);
    expect((await first.all()).processes).toBe(1);
    await redis.sadd(name, `${name}:ended long ago`);
    const second = shareCallers(callers, redis, name); // no one looks at a page
    await vi.waitFor(async () => expect(await redis.smembers(name)).not.toContain(`${name}:ended long ago`), SOON);
    expect(await redis.pttl(name)).toBeGreaterThan(0);
    for (const each of [first, second]) await each.close();
    expect(await redis.exists(name)).toBe(0);
    redis.disconnect();
  });

  describeWith("chromium", "in two browsers", () => {
    test("a block, tokens and a reset made on one page are seen on the other", async () => {
      const browser = await startChromium();
      try {
        const pages = await Promise.all(urls.map(({ admin }) => openPage(browser, admin)));
        const [one, two] = pages as [Page, Page];
        for (const page of pages) {
          await enter(page);
          await look(page, "user bob");
        }
        await act(one, "block", "5");
        await text(two, "#verdict", /^Blocked for (5 min|4 min \d+ s) more: all calls are refused\.$/);
        for (const { service } of urls) expect(await call(service, "bob")).toBe(429);
        await act(two, "unblock");
        await text(one, "#verdict", "The next call is allowed.");
        await act(one, "debit", "500");
        await text(two, "#levels", "0 of 10 left");
        await act(two, "credit", "500");
        await text(one, "#levels", "10 of 10 left");
        await act(one, "debit", "500");
        await text(two, "#levels", "0 of 10 left");
        await act(two, "reset");
        await text(one, "#levels", "10 of 10 left");
      } finally {
        await browser.close();
      }
    });
  });
});

async function openPage(browser: Browser, admin: string): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(admin);
  await page.waitForSelector("body[data-ready]");
  return page;
}
async function enter(page: Page, password = PASSWORD): Promise<void> {
  await page.fill("#sign-in [name=name]", "ann");
  await page.fill("#sign-in [name=password]", password);
  await page.keyboard.press("Enter");
}
async function look(page: Page, key: string, limiter = "interactive"): Promise<void> {
  await page.selectOption("#look [name=limiter]", limiter);
  await page.fill("#look [name=key]", key);
  await page.click("#look button");
  await page.waitForSelector("#act:not([hidden])");
}
/** Does something to the caller that is shown, with the second click if it needs one. */
async function act(page: Page, verb: string, amount?: string): Promise<void> {
  await page.selectOption("#act [name=verb]", verb);
  if (amount !== undefined) await page.fill("#act [name=amount]", amount);
  await page.fill("#act [name=reason]", "ticket 7");
  await page.click("#act button");
  if (await page.$("#act button.danger")) {
    await text(page, "#act button", /^Sure\?/);
    await page.click("#act button");
  }
  await vi.waitFor(async () => expect(await page.inputValue("#act [name=reason]")).toBe(""), SOON);
}
const text = (page: Page, selector: string, wanted: string | RegExp): Promise<unknown> =>
  vi.waitFor(async () => expect(await page.textContent(selector)).toMatch(wanted), SOON);

describeWith("chromium", "in a browser", () => {
  let browser: Browser;
  let page: Page;
  let running: Awaited<ReturnType<typeof start>>;
  const problems: string[] = [];
  beforeAll(async () => void (browser = await startChromium()));
  afterAll(() => browser.close());
  beforeEach(async () => {
    running = await start({ operators: { ann: PASSWORD }, port: 0, adminPort: 0, audit: () => undefined });
    problems.length = 0;
    page = await openPage(browser, running.admin);
    page.on("pageerror", ({ message }) => problems.push(message));
    page.on("dialog", (dialog) => (problems.push("a dialog"), void dialog.dismiss()));
    page.on("console", (message) => message.type() === "error" && !message.text().includes("status of 4") && problems.push(message.text()));
  });
  afterEach(async () => {
    await page.context().close();
    await running.close();
    expect(problems).toEqual([]);
  });
  test("who is refused is found and looked at, and gets tokens back", async () => {
    await enter(page, "a wrong password");
    await text(page, "#message", "Wrong name or password.");
    for (let i = 0; i < 14; i++) await call(running.service, "bob");
    await call(running.service, "<img src=x onerror=alert(1)>");
    await enter(page);
    await page.click("#callers tbody button");
    await text(page, "#verdict", /refused|allowed/);
    expect(await page.inputValue("#look [name=key]")).toBe("user bob");
    await act(page, "credit", "10");
    await text(page, "#levels", "10 of 10 left");
    await text(page, "#verdict", "The next call is allowed.");
    // A key is text, whatever is in it.
    await text(page, "#callers tbody", "<img src=x onerror=alert(1)>");
    expect(await page.$("#callers img")).toBeNull();
  }, 60_000);

  test("what takes something away needs a second click, and anything else forgets the first", async () => {
    await enter(page);
    await look(page, "user bob");
    await page.selectOption("#act [name=verb]", "block");
    await page.fill("#act [name=amount]", "90");
    await page.fill("#act [name=reason]", "ticket 8");
    await text(page, "#act button", /^Block for 1 h 30 min$/);
    await page.dblclick("#act button"); // is one click
    await text(page, "#act button", /^Sure\? Block for 1 h 30 min$/);
    await page.fill("#act [name=amount]", "10");
    await text(page, "#act button", /^Block for 10 min$/);
    await page.click("#act button");
    await look(page, "user carol");
    await text(page, "#act button", /^Block for 10 min$/);
    for (const user of ["bob", "carol"]) expect(await call(running.service, user)).toBe(200);
    await page.fill("#act [name=reason]", "");
    await act(page, "block", "10");
    await text(page, "#verdict", /^Blocked for (10 min|9 min \d+ s) more: all calls are refused\.$/);
    expect(await call(running.service, "carol")).toBe(429);
    await act(page, "unblock");
    await text(page, "#verdict", "The next call is allowed.");
    expect(await call(running.service, "carol")).toBe(200);
    await act(page, "debit", "500");
    await text(page, "#levels", "0 of 10 left");
    expect(await page.getAttribute("#levels .meter", "data-state")).toBe("empty");
    await act(page, "reset");
    await text(page, "#levels", "10 of 10 left");
  }, 60_000);

  test("an action whose end is unknown, or what is left, is shown as that, and the reason stays for a second try", async () => {
    await enter(page);
    await look(page, "user bob");
    const answers = [{ status: 503, json: { message: "It may have been done. Look before you repeat it." } }, { status: 200, json: { message: "Done. What is left is unknown.", state: null } }];
    await page.route("**/api/act", (route) => route.fulfill(answers.shift()));
    await page.fill("#act [name=reason]", "ticket 9");
    await page.click("#act button");
    await text(page, "#message", "It may have been done. Look before you repeat it.");
    expect(await page.inputValue("#act [name=reason]")).toBe("ticket 9");
    await page.click("#act button");
    await page.route("**/api/peek", (route) => route.fulfill({ status: 503, json: { message: "The store failed. Nothing was changed." } }));
    await page.waitForResponse("**/api/peek"); // of the next turn, and of the one after it
    await page.waitForResponse("**/api/peek");
    await text(page, "#message", "Done. What is left is unknown.");
    await text(page, "#verdict", "What is left is unknown.");
    problems.splice(0, problems.length, ...problems.filter((each) => !each.includes("503")));
  }, 60_000);

  test("a policy with several limits: the one to give to is chosen, and none in flight is offered", async () => {
    await enter(page);
    await look(page, "user bob", "reports");
    expect(await page.$$eval("#act [name=limit] option", (options) => options.map(({ textContent }) => textContent))).toEqual(["requests"]);
    expect(await page.isVisible("#act [name=limit]")).toBe(true);
    await act(page, "debit", "10");
    await text(page, "#levels", "0 of 10 left");
    await act(page, "credit", "10");
    await text(page, "#levels", /requests10 of 10 left/);
  }, 60_000);

  test("refusals on trial are shown as what they are", async () => {
    for (let i = 0; i < 8; i++) expect(await call(running.service, "bob", "/search")).toBe(200);
    await enter(page);
    await page.waitForSelector("#callers tbody tr");
    expect(await page.$$eval("#callers tbody td", (cells) => cells.map(({ textContent }) => textContent))).toEqual(["user bobsearch", "8", "0", "3"]);
    for (let i = 0; i < 9; i++) await call(running.service, "carol");
    await vi.waitFor(async () => expect(await page.$$eval("#callers tbody button", (all) => all.map(({ textContent }) => textContent))).toEqual(["user carol", "user bob"]), SOON);
    await page.click("#callers [data-by=onTrial]");
    expect(await page.$$eval("#callers tbody button", (all) => all.map(({ textContent }) => textContent))).toEqual(["user bob", "user carol"]);
  }, 60_000);

  test("a policy goes on trial, gets other numbers, and is enforced again", async () => {
    await enter(page);
    const form = "#policy-interactive";
    await page.waitForSelector(form);
    await page.fill(`${form} [name=capacity]`, "2");
    await page.check(`${form} [name=shadow]`);
    await page.fill(`${form} [name=reason]`, "a trial");
    await page.click(`${form} button`);
    await text(page, "#message", "Changed interactive in all processes.");
    for (let i = 0; i < 5; i++) expect(await call(running.service, "bob")).toBe(200);
    await page.uncheck(`${form} [name=shadow]`);
    await page.fill(`${form} [name=capacity]`, "0");
    await page.fill(`${form} [name=reason]`, "a mistake");
    await page.click(`${form} button`);
    await text(page, "#message", /Expected `capacity`/);
    // What was typed is still there.
    expect([await page.inputValue(`${form} [name=reason]`), await page.isChecked(`${form} [name=shadow]`)]).toEqual(["a mistake", false]);
    await page.fill(`${form} [name=capacity]`, "2");
    await page.click(`${form} button`);
    await text(page, "#message", "Changed interactive in all processes.");
    await vi.waitFor(async () => expect(await call(running.service, "bob")).toBe(429), SOON);
    // Another operator is quicker.
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join();
    await page.fill(`${form} [name=capacity]`, "3");
    const was = { capacity: 2, tokens: 2, everyMs: 1_000, shadow: false };
    expect((await post(running.admin, "policy", { name: "interactive", ...was, capacity: 7, was, reason: "quicker" }, { cookie })).status).toBe(200);
    await page.fill(`${form} [name=reason]`, "slower");
    await page.click(`${form} button`);
    await text(page, "#message", "interactive was changed meanwhile: capacity 7, 2 tokens every 1 s, enforced. Nothing was changed.");
    await page.click(`${form} button`);
    await text(page, "#message", "Changed interactive in all processes.");
    expect(await page.inputValue(`${form} [name=capacity]`)).toBe("3");
    await page.click("#sign-out");
    await page.waitForSelector("#sign-in:not([hidden])");
    expect(await page.isVisible("main")).toBe(false);
  }, 60_000);

  test("one caller gets numbers of its own, and goes back to those for all", async () => {
    await enter(page);
    await look(page, "user bob", "reports");
    expect(await page.isVisible("#numbers")).toBe(false); // its numbers do not change at run time
    await look(page, "user bob");
    const form = "#numbers";
    await text(page, "#whose-numbers", "This caller has the numbers for all.");
    expect([await page.inputValue(`${form} [name=capacity]`), await page.isVisible(`${form} [name=remove]`)]).toEqual(["10", false]);
    await page.fill(`${form} [name=capacity]`, "0.5");
    await page.fill(`${form} [name=reason]`, "ticket 4711");
    await page.$eval(form, (each) => ((each as HTMLFormElement).noValidate = true));
    await page.click(`${form} button`);
    await text(page, "#message", /Expected `capacity`/);
    expect(await page.inputValue(`${form} [name=reason]`)).toBe("ticket 4711"); // what was typed is still there
    await page.fill(`${form} [name=capacity]`, "50");
    await page.fill(`${form} [name=tokens]`, "1");
    await page.fill(`${form} [name=seconds]`, "3600");
    await page.click(`${form} button`);
    await text(page, "#message", "user bob has numbers of its own, in all processes.");
    await text(page, "#whose-numbers", "This caller has numbers of its own.");
    await text(page, "#levels", "50 of 50 left");
    for (let i = 0; i < 20; i++) expect(await call(running.service, "bob")).toBe(200);
    await look(page, "user carol");
    await text(page, "#whose-numbers", "This caller has the numbers for all.");
    // Another operator is quicker.
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join();
    await look(page, "user bob");
    await page.fill(`${form} [name=capacity]`, "60");
    const was = { capacity: 50, tokens: 1, everyMs: 3_600_000, isOwn: true };
    expect((await post(running.admin, "numbers", { limiter: "interactive", key: ["user", "bob"], numbers: { ...was, capacity: 70 }, was, reason: "quicker" }, { cookie })).status).toBe(200);
    await page.fill(`${form} [name=reason]`, "slower");
    await page.click(`${form} button`);
    await text(page, "#message", "These numbers were changed meanwhile: capacity 70, 1 token every 3600 s. Nothing was changed.");
    await page.click(`${form} [name=remove]`);
    await text(page, "#message", "user bob has the numbers for all again.");
    await text(page, "#levels", "0 of 10 left");
    expect(await call(running.service, "bob")).toBe(429); // what was spent stays spent
  }, 60_000);

  test("fits a phone and a desktop, in light and dark, and works without a mouse", async () => {
    await enter(page);
    await page.waitForSelector("main:not([hidden])");
    for (const width of [375, 1_280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      expect(await page.$eval(".scroll", ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBeLessThanOrEqual(0);
    }
    expect(await page.$eval("#policies", (box) => box.getBoundingClientRect().bottom)).toBeLessThanOrEqual(800);
    await page.focus("#look [name=key]");
    await page.keyboard.type("user bob");
    await page.keyboard.press("Enter");
    await text(page, "#verdict", "The next call is allowed.");
    const unnamed = await page.$$eval("input, select", (fields) => fields.filter((each) => (each as HTMLInputElement).labels?.length === 0).length);
    expect(unnamed).toBe(0);
  });
});
