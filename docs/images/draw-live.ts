// Takes the picture of the live page in the README: `npx tsx docs/images/draw-live.ts`. It starts the example server and Chromium.
import { fileURLToPath } from "node:url";
import { ExampleServer } from "../../test/examples/example-server.js";
import { startChromium } from "../../test/helpers/chromium.js";

const OUTPUT = fileURLToPath(new URL("live.png", import.meta.url));

const [browser, server] = await Promise.all([startChromium(), ExampleServer.start()]);
try {
  const page = await browser.newPage({ viewport: { width: 860, height: 700 } });
  await page.goto(server.url.href);
  await page.waitForSelector("body[data-ready]");
  const press = async (id: string, thenMs: number): Promise<void> => {
    await page.click(`#${id}`);
    await page.waitForTimeout(thenMs);
  };
  await page.selectOption("#policy", "sandbox");
  await page.waitForTimeout(2_000);
  await press("one", 700);
  await press("one", 700);
  await press("burst", 2_500);
  await press("obeying", 0);
  await press("ignoring", 5_500);
  await press("burst", 2_000);
  await page.locator('section[aria-labelledby="bucket"]').screenshot({ path: OUTPUT });
} finally {
  server.kill();
  await browser.close();
}
