// Takes the pictures of the live page: `npx tsx docs/images/draw-live.ts`. It starts the example server and Chromium.
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { ExampleServer } from "../../test/examples/example-server.js";
import { startChromium } from "../../test/helpers/chromium.js";

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
/** The picture of the README, and the page on a phone and a desktop, in both colors. Each has a caller whose bucket is full. */
const PICTURES = [
  ["live.png", 1_280, "light", "alice"],
  ["screens/live-1280-dark.png", 1_280, "dark", "bob"],
  ["screens/live-375-light.png", 375, "light", "carol"],
  ["screens/live-375-dark.png", 375, "dark", "device phone"],
] as const;

const [browser, server] = await Promise.all([startChromium(), ExampleServer.start()]);
try {
  for (const [name, width, colorScheme, caller] of PICTURES) {
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme, reducedMotion: "reduce" });
    await page.goto(server.url.href);
    await page.waitForSelector("body[data-ready]");
    await page.selectOption("#caller", caller);
    await play(page);
    await page.screenshot({ path: fileOf(name) });
    await page.close();
  }
} finally {
  server.kill();
  await browser.close();
}

/** Other callers, and two bursts around the end of a window with what follows. The page says when all are answered. */
async function play(page: Page): Promise<void> {
  await page.click("#more summary");
  await page.click("#others");
  await page.click("#more summary");
  await page.click("#edge");
  await page.waitForSelector('#edge[aria-disabled="false"]');
  await page.mouse.move(2, 2);
  await page.waitForTimeout(400); // the level of the bucket is read and drawn
}
