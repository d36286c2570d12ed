// The search of the built site, with questions that people type. `npm run check:site` builds it first.
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startChromium } from "../../test/helpers/chromium.js";
import { describeWith } from "../../test/helpers/services.js";
import { BY_NAME, KNOWN, UNSEEN, type Question } from "./questions.js";
import { serve } from "./serve.js";

const RESULTS = ".VPLocalSearchBox .results a.result";

describeWith("chromium", "the search of the site", () => {
  let browser: Browser;
  let page: Page;
  let site: Awaited<ReturnType<typeof serve>>;
  beforeAll(async () => {
    [browser, site] = await Promise.all([startChromium(), serve()]);
    page = await browser.newPage({ viewport: { width: 1_280, height: 800 } });
    await page.goto(`${site.origin}/start.html`, { waitUntil: "networkidle" });
    await page.click("#local-search button");
  });
  afterAll(() => {
    site.server.close();
    site.server.closeAllConnections();
    return browser.close();
  });

  /** The addresses of the first three results, best first. */
  async function search(typed: string): Promise<string[]> {
    await page.fill("#localsearch-input", "");
    await page.waitForFunction((results) => document.querySelector(results) === null, RESULTS);
    await page.fill("#localsearch-input", typed);
    await page.waitForSelector(RESULTS);
    return page.$$eval(RESULTS, (all) => all.slice(0, 3).map((each) => each.getAttribute("href") ?? ""));
  }

  /** How many questions find an accepted page first, and among the first three, and what the others found. */
  async function ask(questions: readonly Question[]) {
    const [found, others] = [{ first: 0, three: 0 }, [] as string[]];
    for (const [typed, accepted] of questions) {
      const hits = await search(typed);
      const place = hits.findIndex((hit) => accepted.test(hit));
      if (place === 0) found.first++;
      if (place >= 0) found.three++;
      if (place !== 0) others.push(`${place < 0 ? "missed" : place + 1} ${typed}: ${hits.join(" ")}`);
    }
    return { ...found, others: others.join("\n") };
  }

  test("of the 24 known questions 23 find their page among the first three results, and 18 find it first", async () => {
    const { first, three, others } = await ask(KNOWN);
    expect(KNOWN).toHaveLength(24);
    expect(three, others).toBeGreaterThanOrEqual(23);
    expect(first, others).toBeGreaterThanOrEqual(18);
  });

  test("of 12 questions made up without a look at the headings, 10 find their page among the first three results", async () => {
    const { three, others } = await ask(UNSEEN);
    expect(UNSEEN).toHaveLength(12);
    expect(three, others).toBeGreaterThanOrEqual(10);
  });

  test("each thing that users ask for by name finds its page first", async () => {
    const { first, others } = await ask(BY_NAME);
    expect(first, others).toBe(BY_NAME.length);
  });
});
