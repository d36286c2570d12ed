// Takes the pictures of the site's home page and playground: `npm run site && npx tsx docs/images/draw-site.ts`. It starts Chromium.
import { fileURLToPath } from "node:url";
import { serve } from "../../site/test/serve.js";
import { startChromium } from "../../test/helpers/chromium.js";

const PAGES = [["home", "index.html"], ["playground", "playground.html"]] as const;

const [browser, { origin, server }] = await Promise.all([startChromium(), serve()]);
try {
  for (const [name, path] of PAGES) {
    for (const width of [1_280, 375]) {
      for (const colorScheme of ["light", "dark"] as const) {
        const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
        await page.goto(`${origin}/${path}`, { waitUntil: "networkidle" });
        await page.screenshot({ path: fileURLToPath(new URL(`screens/${name}-${width}-${colorScheme}.png`, import.meta.url)) });
        await page.close();
      }
    }
  }
} finally {
  server.close();
  server.closeAllConnections();
  await browser.close();
}
