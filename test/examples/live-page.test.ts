// The live page of the example server, driven in Chromium as a person would, and without a mouse.
import pg from "pg";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startChromium } from "../helpers/chromium.js";
import { startRedis, type OwnRedis } from "../helpers/own-redis.js";
import { describeWith, postgresUrl } from "../helpers/services.js";
import { ExampleServer } from "./example-server.js";

describeWith("chromium", "the live page", () => {
  let browser: Browser;
  let server: ExampleServer;
  let page: Page;
  const problems: string[] = [];
  beforeAll(async () => void ([browser, server] = await Promise.all([startChromium(), ExampleServer.start()])));
  beforeEach(async ({ task }) => {
    // A test that is tried again finds full buckets.
    if ((task.result?.retryCount ?? 0) > 0) {
      server.kill();
      server = await ExampleServer.start();
    }
    page = await open();
  });
  afterAll(() => {
    server.kill();
    return browser.close();
  });

  /** Opens the page with all its buttons, and notes each request to another server and each error of its program. */
  async function open(of = server, options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
    const context = await browser.newContext({ reducedMotion: "reduce", ...options }); // otherwise bursts play at load
    problems.length = 0;
    onTestFinished(() => context.close());
    const opened = await context.newPage();
    opened.on("request", (request) => new URL(request.url()).origin !== of.url.origin && !request.url().startsWith("data:") && problems.push(request.url()));
    opened.on("pageerror", ({ message }) => problems.push(message));
    opened.on("console", (message) => message.type() === "error" && !message.text().includes("status of 429") && problems.push(message.text()));
    await opened.goto(of.url.href);
    await opened.waitForSelector("body[data-ready]");
    await opened.click("#more summary");
    return opened;
  }

  const counts = (lane: string, on = page): Promise<number[]> =>
    on.$$eval("#counts tr", (rows, name) => [...(rows.find((row) => row.querySelector("th")?.textContent === name)?.querySelectorAll("td") ?? [])].map((cell) => Number(cell.textContent)), lane);
  const choose = (caller: string, policy: string): Promise<unknown> => Promise.all([page.selectOption("#caller", caller), page.selectOption("#policy", policy)]);
  const sent = (lane: string, count: number, on = page): Promise<unknown> =>
    on.waitForFunction(([name, least]) => [...document.querySelectorAll("#counts tr")].some((row) => row.querySelector("th")?.textContent === name && Number(row.querySelector("td")?.textContent) >= Number(least)), [lane, count] as const);

  const textIs = (selector: string, text: string, on = page): Promise<unknown> => on.waitForFunction(([where, what]) => document.querySelector(where)?.textContent === what, [selector, text] as const);
  /** Begins to note each text of the status, as it is shown and as it is read aloud. */
  const noteStatus = (): Promise<unknown> =>
    page.evaluate(() => {
      const seen: string[] = ((window as unknown as { seen: string[] }).seen = []);
      for (const id of ["#state", "#status"]) {
        const element = document.querySelector(id) as Element;
        new MutationObserver(() => seen.push(element.textContent ?? "")).observe(element, { childList: true, characterData: true, subtree: true });
      }
    });
  const statusTexts = (): Promise<string[]> => page.evaluate(() => (window as unknown as { seen: string[] }).seen);

  test("a request shows the whole answer, and a burst the first refusals", async () => {
    await choose("alice", "bulk");
    await page.click("#one");
    await sent("You", 1);
    await page.waitForFunction(() => document.querySelector("#last")?.textContent?.includes("ratelimit-remaining: 2"));
    expect(await page.textContent("#last")).toContain('"status": "started"');
    await page.click("#burst");
    await sent("You", 16);
    expect(await counts("You")).toEqual([16, 3, 13, 0]);
    await page.waitForFunction(() => document.querySelector("#last")?.textContent?.includes("retry-after: "));
    expect(await page.textContent("#last")).toMatch(/^429 .*"code": "rate_limited"/s);
    await page.waitForFunction(() => /^Empty: next request in \d+\.\d s$/.test(document.querySelector("#state")?.textContent ?? ""));
    await textIs("#status", "The bucket is empty: requests are refused.");
    expect(await page.textContent("#brief")).toMatch(/^429 Too Many Requests\nRetry-After: \d+\nRateLimit: "bulk";r=0;t=\d+$/);
    expect(await page.textContent(".line .policy-code")).toBe("policy: { capacity: 3, refill: { tokens: 1, everyMs: 10_000 } }");
    expect(problems).toEqual([]);
  });

  test("the chart shows the level of the chosen caller, and each response in its lane", async () => {
    await choose("bob", "login-code");
    await page.click("#burst");
    await sent("You", 15);
    await page.waitForFunction(() => document.querySelectorAll("#chart .served").length === 3 && document.querySelectorAll("#chart .refused").length === 12);
    await page.waitForFunction(() => document.querySelector("#chart-text")?.textContent?.startsWith("0 of 3 tokens"));
    expect(await page.getAttribute("#chart .level", "d")).toMatch(/^M.*L/);
    await page.selectOption("#caller", "carol");
    await page.waitForFunction(() => document.querySelector("#chart-text")?.textContent?.startsWith("3 of 3 tokens"));
  });

  test("the client that obeys is refused less, and served as much, as the one that does not", async () => {
    await page.fill("#capacity", "1");
    await page.fill("#refill", "10"); // one a second
    await page.click("#obeying");
    await page.click("#ignoring");
    await sent("Obeys", 6);
    const [[, obeyed = 0, refused = 0], [, ignored = 0, ignoredRefused = 0]] = (await Promise.all([counts("Obeys"), counts("Ignores")])) as [number[], number[]];
    expect(obeyed).toBeGreaterThan(1);
    expect(Math.abs(obeyed - ignored)).toBeLessThanOrEqual(2);
    expect(ignoredRefused).toBeGreaterThan(refused);
    for (const id of ["#obeying", "#ignoring"]) {
      await page.click(id);
      expect(await page.getAttribute(id, "aria-pressed")).toBe("false");
    }
  });

  test("the sliders say at once what the numbers mean, and the server takes them", async () => {
    await choose("carol", "bulk");
    await page.fill("#capacity", "4");
    await page.fill("#refill", "1");
    expect(await page.inputValue("#policy"), "the sliders choose their policy").toBe("sandbox");
    expect(await page.textContent("#policy-text")).toBe(
      "4 at once, then 1 every 10 s. In any 40 s at most 8, as with a fixed window of 40 s.",
    );
    await page.waitForFunction(() => document.querySelector("#chart-text")?.textContent?.startsWith("4 of 4 tokens"));
    await page.click("#burst");
    await sent("You", 15);
    expect((await counts("You")).slice(0, 3)).toEqual([15, 4, 11]);
  });

  test("the app that comes to the foreground obeys, and a runaway client is stopped", async () => {
    await choose("device phone", "interactive");
    await page.click("#foreground");
    await sent("You", 6);
    expect((await counts("You")).slice(0, 3)).toEqual([6, 6, 0]);
    await page.click("#runaway");
    await page.waitForFunction(() => document.querySelectorAll("#chart .refused").length > 3);
    await page.click("#runaway");
    expect(await page.getAttribute("#runaway", "aria-pressed")).toBe("false");
  });

  test("every control has a name and can be reached and used by the keyboard", async () => {
    const reached: string[] = [];
    for (let i = 0; i < 26; i++) {
      await page.keyboard.press("Tab");
      reached.push(await page.evaluate(() => document.activeElement?.id ?? ""));
    }
    for (const id of ["previous", "next", "chart", "caller", "policy", "one", "burst", "edge", "foreground", "runaway", "others", "obeying", "ignoring", "outage-button", "last", "reports", "capacity", "refill"]) expect(reached).toContain(id);
    const unnamed = await page.$$eval("button, select, input", (all) => all.filter((each) => !each.textContent?.trim() && (each as HTMLInputElement).labels?.length === 0).map(({ id }) => id));
    expect(unnamed).toEqual([]);
    await page.focus("#one");
    await page.keyboard.press("Enter");
    await sent("You", 1);
  });

  test.each([[390, "dark"], [820, "light"], [1280, "dark"]] as const)("fits a window of %i pixels, %s", async (width, colorScheme) => {
    const narrow = await open(server, { viewport: { width, height: 800 }, colorScheme });
    expect(await narrow.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    expect(await narrow.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(colorScheme === "dark" ? "rgb(13, 17, 23)" : "rgb(246, 248, 250)");
    expect(problems).toEqual([]);
  });

  test.each([[375, 800], [1_280, 800]])("the one thought, the chart, four buttons and what was served are on the first screen of %i x %i", async (width, height) => {
    const screen = await open(server, { viewport: { width, height } });
    await screen.click("#more summary"); // as a visitor sees it: closed
    await screen.click("#one");
    await sent("You", 1, screen);
    const buttons = await screen.locator(".buttons button:visible").evaluateAll((all) => all.map(({ id }) => id));
    expect(buttons).toEqual(["edge", "burst", "one", "outage-button"]);
    const seen = await screen.locator("header p, #state, #chart, .buttons button:visible, #note, #compare").evaluateAll((all) => all.map((each) => [each.id, each.getBoundingClientRect().bottom] as const));
    expect(seen.length).toBe(9);
    expect(seen.filter(([, bottom]) => bottom > height)).toEqual([]);
    // The two charts to compare stand together, and on a phone on one screen.
    const [chart, window] = await screen.locator("#chart, #window-chart").evaluateAll((all) => all.map((each) => each.getBoundingClientRect()));
    expect((window?.top ?? 0) - (chart?.bottom ?? 0)).toBeLessThan(150);
    if (width < 500) expect(window?.bottom).toBeLessThan(height);
  });

  test("two bursts play at load and show a difference, and a reload begins with a full bucket on both sides", async () => {
    const moving = await open(server, { reducedMotion: "no-preference" });
    await moving.waitForSelector('#edge[aria-disabled="true"]');
    await sent("You", 11, moving);
    expect(await served(moving)).toMatchObject({ window: expect.toSatisfy((count: number) => count > 6) as number });
    await moving.waitForSelector('#edge[aria-disabled="false"]');
    await moving.emulateMedia({ reducedMotion: "reduce" });
    await moving.click("#burst");
    await sent("You", 26, moving);
    await moving.reload();
    await moving.waitForSelector('#state:not([data-state="unknown"])');
    expect(await moving.textContent("#state"), "the first that is told").toBe("Ready: 5 of 5 tokens left");
    await moving.waitForFunction(() => document.querySelector("#window-text")?.textContent?.startsWith("A fixed window of 5 s. 5 of 5 requests left."));
    expect(problems).toEqual([]);
  });

  const served = async (on = page): Promise<{ bucket: number; sliding: number; window: number }> => {
    const [bucket = 0, , window = 0, , sliding = 0] = await on.$$eval(".numbers b", (all) => all.map((each) => Number(each.textContent)));
    return { bucket, sliding, window };
  };

  test("two bursts at the edge of a window: the fixed window serves more at once, the bucket as many in the end", async () => {
    await choose("alice", "sandbox");
    await page.fill("#capacity", "10");
    await page.fill("#refill", "50"); // a window of two seconds
    // A busy machine may miss the edge each time. The page says so, and is pressed again.
    for (let presses = 0; presses < 3 && !((await page.textContent("#note")) ?? "").startsWith("Two bursts of 10"); presses++) {
      await page.click("#edge");
      await page.waitForSelector('#edge[aria-disabled="true"]');
      await page.waitForSelector('#edge[aria-disabled="false"]');
    }
    expect(await page.textContent("#window-note")).toBe("10 in 2 s, counted anew in each window: around its edge up to 20 at once.");
    expect(await page.$$eval("#compare tbody th", (all) => all.map((each) => each.textContent))).toEqual(["in 0.5 s", "in 2 s"]);
    await page.waitForSelector('#edge[aria-disabled="false"]');
    expect(await page.textContent("#note")).toBe("Two bursts of 10 came around the window's end, and then a request for each token.");
    const [atOnce = 0, , windowAtOnce = 0] = await page.$$eval("#compare tbody tr:first-child td", (all) => all.map((each) => Number(each.textContent)));
    expect(windowAtOnce).toBeGreaterThan(atOnce);
    expect(await page.textContent("#sliding-in-all"), "the sliding window keeps its limit").toBe("10");
    expect(await page.textContent("#sliding-note")).toBe("Never more than 10 in any 2 s. Each request comes back 2 s after it was served.");
  });

  test("two bursts wait in the sandbox where a window is long, and the page says how long", async () => {
    await choose("bob", "login-code"); // a window of one hour
    await page.click("#edge");
    await page.waitForFunction(() => /^First burst in \d\.\d s, /.test(document.querySelector("#note")?.textContent ?? ""));
    expect(await page.inputValue("#policy")).toBe("sandbox");
    expect(await page.textContent("#window-note")).toContain("5 in 5 s, ");
    expect(await page.getAttribute("#edge", "aria-disabled")).toBe("true");
    expect(await page.evaluate(() => document.activeElement?.id), "the keyboard keeps its place").toBe("edge");
    await page.dispatchEvent("#edge", "click"); // Playwright itself waits for a button that is not disabled
    await page.waitForFunction(() => /^It is playing now\. First burst in \d\.\d s, /.test(document.querySelector("#note")?.textContent ?? ""));
    expect((await counts("You"))[0], "a second press while it waits sends nothing").toBe(1);
    await page.selectOption("#policy", "bulk");
    await textIs("#note", "The numbers changed while the bursts waited. Press again.");
    expect(await page.getAttribute("#edge", "aria-disabled")).toBe("false");
  });

  test("the status keeps its words while a slider is dragged, and no level is told under other numbers", async () => {
    await choose("alice", "sandbox");
    await textIs("#state", "Ready: 5 of 5 tokens left");
    await noteStatus();
    // The server takes the new numbers late. Meanwhile it answers with the level of the old ones.
    let take = (): void => undefined;
    const taken = new Promise<void>((resolve) => (take = resolve));
    await page.route("**/live/sandbox", (route) => taken.then(() => route.continue()));
    for (const capacity of ["4", "3"]) await page.fill("#capacity", capacity);
    await page.waitForResponse((response) => response.url().includes("/live/level"));
    await page.waitForResponse((response) => response.url().includes("/live/level"));
    expect(await page.textContent("#state")).toBe("Ready: 5 of 5 tokens left");
    take();
    await textIs("#state", "Ready: 3 of 3 tokens left");
    expect((await statusTexts()).filter((text) => !/^Ready: (3 of 3|4 of 4) tokens left$|^The bucket has tokens: requests are served\.$/.test(text))).toEqual([]);
  });

  test("the status keeps its words from a change of policy or caller to the first answer", async () => {
    await choose("alice", "sandbox");
    await textIs("#state", "Ready: 5 of 5 tokens left");
    await noteStatus();
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await page.route("**/live/level?*", (route) => answered.then(() => route.continue()));
    await choose("carol", "interactive");
    await page.waitForFunction(() => document.querySelector("#policy-text")?.textContent?.startsWith("10 at once"));
    await page.waitForSelector("#chart .head", { state: "detached" }); // it is drawn without a level
    expect(await page.textContent("#state")).toBe("Ready: 5 of 5 tokens left");
    answer();
    await textIs("#state", "Ready: 10 of 10 tokens left");
    expect((await statusTexts()).filter((text) => text.includes("unavailable") || text.includes("does not answer"))).toEqual([]);
  });

  test("a sandbox that another page changed is shown with its numbers", async () => {
    await choose("alice", "sandbox");
    await page.request.put(`${server.url.origin}/live/sandbox`, { data: { capacity: 8, tokens: 20, everyMs: 10_000 } });
    await textIs("#state", "Ready: 8 of 8 tokens left");
    expect([await page.inputValue("#capacity"), await page.inputValue("#refill")]).toEqual(["8", "20"]);
  });

  test("a server that was stopped does not answer, which is no outage of its store", async () => {
    const own = await ExampleServer.start();
    onTestFinished(() => own.kill());
    page = await open(own);
    await textIs("#state", "Ready: 5 of 5 tokens left");
    await noteStatus();
    own.kill();
    await textIs("#state", "The server does not answer");
    await textIs("#status", "The server does not answer.");
    expect((await statusTexts()).filter((text) => text.includes("unavailable"))).toEqual([]);
    problems.length = 0; // Chromium reports the connection that was refused
    await page.click("#outage-button");
    await textIs("#note", "The server did not change its store. Is it still running?");
    await page.click("#reports");
    await page.waitForSelector('#report-rows [data-state="failed"]');
    expect(problems.filter((problem) => !problem.includes("ERR_CONNECTION_REFUSED"))).toEqual([]);
  });

  test("the note says what a button does when it has the focus, and after each press", async () => {
    const note = (): Promise<string | null> => page.textContent("#note");
    await page.focus("#burst");
    expect(await note()).toContain("15 requests at once");
    await page.focus("#capacity");
    expect(await note()).toBe("Each caller has a bucket of its own.");
    for (const id of ["#one", "#burst", "#foreground", "#ignoring"]) {
      const before = await note();
      await page.click(id);
      expect(await note()).not.toBe(before);
    }
    const on = await note();
    await page.click("#ignoring");
    expect(await note()).toBe("The client that ignores its answers has stopped.");
    expect(on).toContain("5 requests a second");
  });

  test("one word for a request, one sentence for the idea", async () => {
    expect(await page.textContent("header p")).toBe("A rate limiter for JavaScript servers. A refused caller learns exactly how long to wait.");
    expect((await page.innerText("body")).match(/\bcalls?\b|\baway\b/gi)).toBeNull();
  });

  test("other callers have buckets of their own, and lanes in the chart", async () => {
    await choose("device phone", "sandbox");
    await page.click("#others");
    await Promise.all([sent("Tablet", 3), sent("Watch", 2)]);
    await page.click("#others");
    expect(await counts("You")).toEqual([0, 0, 0, 0]);
    expect(await page.textContent("#chart")).toMatch(/Tablet.*Watch/s);
    await textIs("#state", "Ready: 5 of 5 tokens left");
  });

  test("the arrow keys and two buttons go from request to request, and each is told", async () => {
    await choose("bob", "bulk");
    await page.click("#one");
    await sent("You", 1);
    await page.focus("#chart");
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => /^You: request 1 of 1, \d+(\.\d)? s ago: served\.$/.test(document.querySelector("#chosen")?.textContent ?? ""));
    await page.waitForSelector("#chart .chosen", { state: "attached" });
    await page.focus("#capacity");
    await textIs("#chosen", "");
    await page.click("#previous");
    await page.waitForFunction(() => document.querySelector("#chosen")?.textContent?.startsWith("You: request 1 of 1, "));
    await page.click("#next");
    expect(await page.textContent("#chosen")).toContain("request 1 of 1");
  });

  test("two reports run at once, the third is refused by its limit, and the month counts those that ran", async () => {
    await page.selectOption("#caller", "device watch");
    await page.click("#reports");
    const texts = (): Promise<string[]> => page.$$eval("#report-rows li", (rows) => rows.map((row) => row.textContent ?? ""));
    await page.waitForFunction(() => document.querySelectorAll('#report-rows [data-state="refused"]').length === 1);
    expect((await texts()).join()).toContain("refused by parallel, ask again in 1 s");
    await page.waitForFunction(() => document.querySelector("#report-places")?.textContent === "0");
    await page.waitForFunction(() => document.querySelectorAll('#report-rows [data-state="done"]').length === 2);
    await page.waitForFunction(() => document.querySelector("#report-places")?.textContent === "2" && document.querySelector("#report-month")?.textContent === "98");
    expect(problems).toEqual([]);
  });

  test("an outage of the store in memory is a button, too", async () => {
    await choose("carol", "bulk");
    await page.click("#outage-button");
    await page.waitForSelector('#outage-button[aria-pressed="true"]');
    await textIs("#state", "The store is unavailable: this process decides");
    await textIs("#report-places", "?");
    await page.click("#burst");
    await sent("You", 15);
    expect(await counts("You")).toEqual([15, 1, 0, 14]);
    await page.click("#outage-button");
    await page.waitForSelector('#outage-button[aria-pressed="false"]');
    await textIs("#report-places", "2");
    await page.waitForFunction(() => document.querySelector("#state")?.textContent?.startsWith("Ready: "));
  });

  test.each([["nothing", ""], ["half an object", "{"], ["null", "null"], ["a long text", `"${"x".repeat(2_000)}"`]])("a sandbox of %s is a mistake of the sender", async (_, data) => {
    const answer = await page.request.put(`${server.url.origin}/live/sandbox`, { data, headers: { "content-type": "application/json" } });
    expect(answer.status()).toBe(400);
    expect(((await answer.json()) as { message: string }).message).toContain("Expected ");
  });

  describe("over a store that processes share", () => {
    /** Half of 3, rounded down, and then 503 and never 429. */
    async function outage(shared: ExampleServer): Promise<void> {
      onTestFinished(() => shared.kill());
      page = await open(shared);
      await page.selectOption("#policy", "bulk");
      await page.click("#outage-button");
      await page.waitForSelector('#outage-button[aria-pressed="true"]');
      await textIs("#state", "The store is unavailable: this process decides");
      await page.click("#burst");
      await sent("You", 15);
      expect(await counts("You")).toEqual([15, 1, 0, 14]);
      await page.waitForFunction(() => document.querySelector("#last")?.textContent?.startsWith("503"));
      await page.click("#outage-button");
      await page.waitForSelector('#outage-button[aria-pressed="false"]');
      await page.waitForFunction(() => document.querySelector("#chart-text")?.textContent?.startsWith("3 of 3 tokens"));
    }

    describeWith("redis-server", "Redis", () => {
      let redis: OwnRedis;
      beforeAll(async () => void (redis = await startRedis()));
      afterAll(() => redis.stop());

      test("an outage of Redis is a button, and so is its end", async () => outage(await ExampleServer.start(["--store", "redis"], { SLUICE_REDIS_URL: redis.url })));
    });

    describeWith("postgres", "Postgres", () => {
      const schema = `sluice_live_page_${process.pid}`;
      const url = new URL(postgresUrl());
      url.searchParams.set("options", `-c search_path=${schema}`);
      let admin: pg.Pool;
      beforeAll(async () => {
        admin = new pg.Pool({ connectionString: postgresUrl(), max: 1 });
        await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE; CREATE SCHEMA ${schema}`);
      });
      afterAll(async () => {
        await admin.query(`DROP SCHEMA ${schema} CASCADE`);
        await admin.end();
      });

      test("an outage of Postgres is a button, and so is its end", async () => outage(await ExampleServer.start(["--store", "postgres"], { SLUICE_POSTGRES_URL: url.href })));
    });
  });
});
