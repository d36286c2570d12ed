// The built site in Chromium, as readers see it. `npm run check:site` builds it first.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, ConsoleMessage, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startChromium } from "../../test/helpers/chromium.js";
import { describeWith } from "../../test/helpers/services.js";
import { DIST, serve } from "./serve.js";

const pages = existsSync(DIST) ? readdirSync(DIST, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/")).filter((file) => file.endsWith(".html") && file !== "404.html").sort() : [];
const WIDTHS = [375, 768, 1_280];

test("the site is built, with a page for each part", () => {
  expect(pages).toEqual(expect.arrayContaining(["index.html", "start.html", "playground.html", "concepts.html", "adapters/express.html", "stores/redis.html", "examples/tiers.html", "decisions.html", "api/sluice.html", "api/sluice.Function.createLimiter.html", "changelog.html"]));
});

test("every page is there as Markdown, and listed in llms.txt", () => {
  const list = readFileSync(join(DIST, "llms.txt"), "utf8");
  const missing = pages.map((page) => page.replace(/html$/, "md")).filter((page) => !existsSync(join(DIST, page)) || !list.includes(`(/${page})`));
  expect(missing).toEqual([]);
  expect(readFileSync(join(DIST, "llms-full.txt"), "utf8")).toContain("# Outages");
});

describeWith("chromium", "the site in a browser", () => {
  let browser: Browser;
  let site: Awaited<ReturnType<typeof serve>>;
  const problems: string[] = [];
  beforeAll(async () => void ([browser, site] = await Promise.all([startChromium(), serve()])));
  afterAll(() => {
    site.server.close();
    site.server.closeAllConnections();
    return browser.close();
  });

  /** A tab that notes each request to another server, each file that is missing and each error. */
  async function open(options: Parameters<Browser["newContext"]>[0] = {}): Promise<Page> {
    problems.length = 0;
    const context = await browser.newContext(options);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    page.on("request", (request) => void (!/^(?:data|blob):/.test(request.url()) && new URL(request.url()).origin !== site.origin && problems.push(`asks ${request.url()}`)));
    page.on("response", (response) => void (response.status() >= 400 && problems.push(`${response.status()} for ${response.url()}`)));
    page.on("pageerror", ({ message }) => void problems.push(message));
    // The site fetches the pages behind visible links before a click, also while it is offline.
    const isAhead = (message: ConsoleMessage): boolean =>
      /\/assets\/.+\.md\.[^/]+\.js$/.test(message.location().url) && message.text().endsWith("net::ERR_INTERNET_DISCONNECTED");
    page.on("console", (message) => void (["error", "warning"].includes(message.type()) && !isAhead(message) && problems.push(message.text())));
    return page;
  }

  const visit = (page: Page, path: string): Promise<unknown> => page.goto(`${site.origin}/${path}`, { waitUntil: "networkidle" });

  test("the check notices a request to another server", async () => {
    const page = await open();
    await visit(page, "index.html");
    await page.evaluate(() => void fetch("http://127.0.0.2:9/").catch(() => undefined));
    await expect.poll(() => problems).toContain("asks http://127.0.0.2:9/");
  });

  // In chunks, so that a report names the folder and no test takes long.
  const folders = [...new Set(pages.map((path) => path.split("/").slice(0, -1).join("/")))];
  test.each(folders)("pages in /%s fit phones, tablets and desktops, ask no other server and log no error", async (folder) => {
    const page = await open();
    const wide: string[] = [];
    const all = pages.filter((each) => each.split("/").slice(0, -1).join("/") === folder);
    // Symbols of the API look alike: of more than 100 pages in a folder, about 60 are opened.
    const every = all.length > 100 ? Math.ceil(all.length / 60) : 1;
    for (const path of all.filter((_, i) => i % every === 0)) {
      await page.goto(`${site.origin}/${path}`, { waitUntil: "load" });
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        const found = await page.evaluate(() => document.documentElement.scrollWidth);
        if (found > width) wide.push(`${path} is ${found} wide at ${width}`);
      }
    }
    expect(wide).toEqual([]);
    expect(problems).toEqual([]);
  });

  describe.each([1_280, 375])("in a window of %i pixels", (width) => {
    test("the search finds pages, errors and the API reference, and no server is asked", async () => {
      const page = await open({ viewport: { width, height: 800 } });
      await visit(page, "index.html");
      for (const [word, expected] of [["circuit breaker", "/guides/outages.html"], ["SLUICE_STORE_SLOW", "/guides/warnings.html#sluice_store_slow"], ["MemoryStoreOptions", "/api/sluice"], ["logging", "/guides/metrics.html#logging-who-is-limited"], ["who is limited", "/guides/metrics.html#logging-who-is-limited"], ["change a limit at run time", "/guides/changing-limits.html#change-a-limit-at-run-time-without-a-deploy"]] as const) {
        await page.click("#local-search button");
        await page.fill("#localsearch-input", word);
        await page.waitForSelector(`.VPLocalSearchBox .results a[href*="${expected}"]`);
        await page.keyboard.press("Escape");
      }
      expect(problems).toEqual([]);
    });

    test("a result of the search opens its page", async () => {
      const page = await open({ viewport: { width, height: 800 } });
      await visit(page, "guides/errors.html");
      await page.click("#local-search button");
      await page.fill("#localsearch-input", "SLUICE_STORE_SLOW");
      await page.click('.VPLocalSearchBox .results a[href*="#sluice_store_slow"]');
      await page.waitForURL("**/guides/warnings.html#sluice_store_slow");
      await page.waitForSelector("h2#sluice_store_slow");
      expect(problems).toEqual([]);
    });
  });

  test("samples fit their column in a window of 1280 pixels, without scrolling", async () => {
    const page = await open({ viewport: { width: 1_280, height: 800 } });
    const wide: string[] = [];
    for (const path of ["index.html", "start.html", "options.html", "concepts.html", "guides/outages.html", "guides/recipes.html", "adapters/express.html"]) {
      await page.goto(`${site.origin}/${path}`, { waitUntil: "load" });
      const found = await page.$$eval("pre", (all) => all.filter((each) => each.scrollWidth > each.clientWidth).length);
      if (found > 0) wide.push(`${path}: ${found}`);
    }
    expect(wide).toEqual([]);
  });

  test("a name in a sample shows its type and its documentation under the pointer", async () => {
    const page = await open({ viewport: { width: 1_280, height: 800 } });
    for (const path of ["index.html", "adapters/express.html"]) {
      await visit(page, path);
      await page.hover('.twoslash-hover > span:text-is("rateLimit") >> nth=0');
      await page.waitForSelector(".twoslash-floating.v-popper__popper--shown .twoslash-popup-code");
      expect(await page.textContent(".twoslash-floating.v-popper__popper--shown")).toContain("rateLimit");
      await page.mouse.move(0, 0);
    }
    expect(problems).toEqual([]);
  });

  test("the home page has a tab for each framework, and package managers", async () => {
    const page = await open({ viewport: { width: 1_280, height: 800 } });
    await visit(page, "index.html");
    expect(await page.$$eval(".front-code .tabs label", (all) => all.map((each) => each.textContent))).toEqual(["Express", "Fastify", "Hono", "NestJS", "Next.js"]);
    await page.click('.front-code label:text("NestJS")');
    expect(await page.textContent(".front-code .blocks > .active")).toContain("sluice/nest");
    await visit(page, "start.html");
    expect(await page.$$eval(".vp-code-group .tabs label", (all) => all.map((each) => each.textContent))).toContain("pnpm");
    expect(problems).toEqual([]);
  });

  test("the home page shows the picture and the 429 on its first screen", async () => {
    const page = await open({ viewport: { width: 1_280, height: 800 } });
    await visit(page, "index.html");
    for (const part of [".front-edge img", ".front-code .language-http"]) {
      const box = await page.locator(part).boundingBox();
      expect(box !== null && box.y + box.height, part).toBeLessThanOrEqual(800);
    }
    await page.setViewportSize({ width: 375, height: 800 });
    const tops = await Promise.all([".front-code .vp-code-group", ".front-code .language-http", ".front-edge img"].map(async (part) => (await page.locator(part).boundingBox())?.y ?? 0));
    expect(tops).toEqual(tops.toSorted((a, b) => a - b));
    expect(problems).toEqual([]);
  });

  test("the playground begins with the edge of a window, and shows the 429 on its first screen", async () => {
    const page = await open({ viewport: { width: 1_280, height: 800 } });
    await visit(page, "playground.html");
    await page.waitForSelector("#playground[data-ready]");
    const counts = await Promise.all(["most", "most-window"].flatMap((most) => ["play", "play-sliding", "play-window"].map((chart) => `#${chart}-count-${most}`)).map((id) => page.textContent(id)));
    expect(counts, "at once, and in 2 s").toEqual(["5", "5", "9", "10", "5", "10"]);
    expect(await page.textContent("#play-limit")).toBe("5 at once, then 2.5 a second. In any 2 s at most 10, as with a fixed window of 2 s.");
    expect(await page.textContent("#play-answer")).toMatch(/^HTTP\/1\.1 429/);
    for (const part of ["#play-answer", "#play-link", "#play-window"]) {
      const box = await page.locator(part).boundingBox();
      expect(box !== null && box.y + box.height, part).toBeLessThanOrEqual(800);
    }
    expect(await page.isVisible("#play-every"), "a slider without an effect").toBe(false);
    await page.click("#play-even");
    await page.waitForFunction(() => document.querySelector("#play-edge")?.getAttribute("aria-pressed") === "false");
    expect(await page.isVisible("#play-every")).toBe(true);
    expect(await page.textContent("#play-requests")).toBe("");
    await page.click("#play-edge");
    await page.waitForFunction(() => document.querySelector("#play-window-count-most")?.textContent === "9");
    expect(problems).toEqual([]);
  });

  test.each([375, 1_280])("the playground decides without a server, and its link holds the settings, in a window of %i pixels", async (width) => {
    const page = await open({ viewport: { width, height: 800 } });
    await visit(page, "playground.html?capacity=5&refill=25&steady=0&burst=8&every=10");
    await page.waitForSelector("#playground[data-ready]");
    expect(await page.textContent("#play-count")).toBe("● 10 served × 6 refused");
    await page.context().setOffline(true);
    await page.fill("#play-burst", "4");
    await page.waitForFunction(() => document.querySelector("#play-count")?.textContent === "● 8 served × 0 refused");
    expect(new URL(page.url()).searchParams.get("burst")).toBe("4");
    await page.fill("#play-burst", "6");
    await page.waitForFunction(() => document.querySelector("#play-answer")?.textContent?.startsWith("HTTP/1.1 429"));
    await page.focus("#play-chart");
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.querySelector("#play-answer-name")?.textContent === "Request 1 of 12, at 1 s: served.");
    expect(await page.textContent("#play-answer")).toContain("ratelimit-remaining: 4");
    await page.click("#play-next");
    await page.waitForFunction(() => document.querySelector("#play-answer-name")?.textContent === "Request 2 of 12, at 1 s: served.");
    await page.click("#play-previous");
    expect(await page.isDisabled("#play-previous")).toBe(true);
    expect(await page.textContent("#play-text")).toMatch(/^5 of 5 tokens left\. In 20 s: 10 served, 2 refused\.$/);
    const lines = await page.$$eval(".play-count", (all) => all.map((each) => Math.round(each.getBoundingClientRect().height)));
    expect(lines.filter((height) => height > 26), "the counts are on one line").toEqual([]);
    expect(problems).toEqual([]);
  });

  test.each(["light", "dark"] as const)("a reader whose system is %s can choose the other", async (colorScheme) => {
    const page = await open({ viewport: { width: 1_280, height: 800 }, colorScheme });
    await visit(page, "concepts.html");
    const isDark = (): Promise<boolean> => page.evaluate(() => document.documentElement.classList.contains("dark"));
    const picture = page.locator('img[src$="bucket.svg"]');
    expect(await isDark()).toBe(colorScheme === "dark");
    const before = await picture.screenshot();
    await page.click(".VPNavBar .VPSwitchAppearance");
    expect(await isDark()).toBe(colorScheme !== "dark");
    expect((await picture.screenshot()).equals(before), "the picture changes as well").toBe(false);
    expect(problems).toEqual([]);
  });
});
