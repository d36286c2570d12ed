// The built site in Chromium, as readers see it. `npm run check:site` builds it first.
import { existsSync, readdirSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { startChromium } from "../../test/helpers/chromium.js";
import { describeWith } from "../../test/helpers/services.js";
import { DIST, serve } from "./serve.js";

const pages = existsSync(DIST) ? readdirSync(DIST, { recursive: true, encoding: "utf8" }).map((file) => file.replaceAll("\\", "/")).filter((file) => file.endsWith(".html") && file !== "404.html").sort() : [];
const WIDTHS = [375, 768, 1_280];

test("the site is built, with a page for each part", () => {
  expect(pages).toEqual(expect.arrayContaining(["index.html", "concepts.html", "adapters/express.html", "stores/redis.html", "examples/tiers.html", "decisions/index.html", "api/sluice.html", "changelog.html"]));
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
    page.on("console", (message) => void (["error", "warning"].includes(message.type()) && problems.push(message.text())));
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
    for (const path of pages.filter((each) => each.split("/").slice(0, -1).join("/") === folder)) {
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
      for (const [word, expected] of [["circuit breaker", "/guides/outages.html"], ["SLUICE_STORE_SLOW", "/guides/warnings.html#sluice_store_slow"], ["MemoryStoreOptions", "/api/sluice"]] as const) {
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
      expect(await page.isVisible("h2#sluice_store_slow")).toBe(true);
      expect(problems).toEqual([]);
    });
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
