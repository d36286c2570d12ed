// The React hook, the countdown without a framework, and SWR, in Chromium. Time stands still until a test moves it.
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startChromium } from "../../../test/helpers/chromium.js";
import { describeWith } from "../../../test/helpers/services.js";
import { until } from "../../../test/helpers/soon.js";
import { openPage, type OpenPage } from "./site.js";

declare const window: { leave(): void };

describeWith("chromium", "in a browser", () => {
  let browser: Browser;
  beforeAll(async () => void (browser = await startChromium()));
  afterAll(() => browser.close());

  const shows = ({ page }: OpenPage, name: string, disabled = false): Promise<void> => page.getByRole("button", { name, exact: true, disabled }).waitFor();

  /** Clicks, and waits until the server has answered for the nth time. */
  async function click({ page, arrived }: OpenPage, times: number): Promise<void> {
    await page.getByRole("button").click();
    await until(() => arrived.length === times);
  }

  describe.each(["login", "countdown"] as const)("%s", (name) => {
    test("a refused button counts down, and its next click is admitted", async () => {
      const open = await openPage(browser, name);
      await click(open, 1);
      await shows(open, "Send code");
      await click(open, 2);
      for (let seconds = 12; seconds > 0; seconds--) {
        await shows(open, `Try again in ${seconds} s`, true);
        if (seconds === 12 && name === "login") await takePicture(open);
        await open.advance(1_000);
      }
      await shows(open, "Send code");
      await click(open, 3);
      await shows(open, "Send code");
      expect(open.arrived).toEqual(["POST /login/code 204", "POST /login/code 429", "POST /login/code 204"]);
      expect(open.complaints.filter((line) => !/429|React DevTools/.test(line))).toEqual([]);
    });
  });

  /** `SLUICE_PICTURE=docs/images/try-again.png npm run check:hosts` draws the picture of the guide. */
  async function takePicture({ page }: OpenPage): Promise<void> {
    const path = process.env["SLUICE_PICTURE"];
    if (path !== undefined) await page.screenshot({ path });
  }

  describe("useRateLimit", () => {
    test("shows the client's own wait, and two clicks at once send once", async () => {
      const open = await openPage(browser, "save", { isSpent: true });
      await click(open, 1);
      await shows(open, "sending 12");
      await open.advance(5_000);
      await shows(open, "sending 7");
      await open.advance(7_000);
      await shows(open, "idle null");
      expect(open.arrived).toEqual(["PUT /inbox 429", "PUT /inbox 204"]);
    });

    test("is idle after the answer, also when the wall clock was set back during the wait", async () => {
      const open = await openPage(browser, "save", { isSpent: true });
      await click(open, 1);
      await shows(open, "sending 12");
      await open.page.clock.setSystemTime(await open.page.evaluate(() => Date.now() - 5_000));
      await open.advance(12_000);
      await shows(open, "idle null");
      await open.advance(1_000);
      expect(await open.page.getByRole("button").textContent()).toBe("idle null");
    });

    test("an unmounted component sends no more", async () => {
      const open = await openPage(browser, "save", { isSpent: true });
      await click(open, 1);
      await shows(open, "sending 12");
      await open.page.evaluate(() => window.leave());
      await open.advance(20_000);
      // Had the wait gone on, its request would have taken the token.
      expect(await open.page.evaluate(() => fetch("/inbox").then(({ status }) => status))).toBe(200);
      expect(open.arrived).toEqual(["PUT /inbox 429", "GET /inbox 200"]);
    });

    test("hands on an error that is no refusal", async () => {
      const open = await openPage(browser, "save");
      await open.page.route("**/inbox", (route) => route.fulfill({ status: 500 }));
      await open.page.getByRole("button").click();
      await shows(open, "idle Error: Status 500");
    });
  });

  describe("SWR", () => {
    /** Opens the page after the token was spent, until the server has answered. */
    async function openInbox(everyMs: number): Promise<OpenPage> {
      const open = await openPage(browser, "inbox", { everyMs, isSpent: true });
      // SWR waits for a frame, which is a matter of the page's clock alone.
      while (open.arrived.length === 0) await open.page.clock.runFor(20);
      return open;
    }
    const reads = ({ page }: OpenPage, text: string): Promise<void> => page.getByText(text, { exact: true }).nth(1).waitFor();

    test("refused for 12 s: it waits 12 s, and its second request is admitted", async () => {
      const open = await openInbox(12_000);
      await reads(open, "loading");
      await open.advance(12_000);
      await reads(open, "hello");
      expect(open.arrived).toEqual(["GET /inbox 429", "GET /inbox 200"]);
    });

    test("refused for an hour: its error has the wait, and SWR does not ask again", async () => {
      const open = await openInbox(3_600_000);
      await reads(open, "wait_too_long 3600000");
      await open.page.clock.runFor(600_000);
      expect(await open.page.evaluate(() => fetch("/inbox").then(({ status }) => status))).toBe(429);
      expect(open.arrived).toEqual(["GET /inbox 429", "GET /inbox 429"]);
    });
  });
});
