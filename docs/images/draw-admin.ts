// Takes the pictures of the operators' page: `npx tsx docs/images/draw-admin.ts`. It starts examples/admin and Chromium.
import { fileURLToPath } from "node:url";
import { start } from "../../examples/admin/service.js";
import { startChromium } from "../../test/helpers/chromium.js";

const fileOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const PICTURES = [
  ["admin.png", 1_280, "light"],
  ["screens/admin-1280-dark.png", 1_280, "dark"],
  ["screens/admin-375-light.png", 375, "light"],
  ["screens/admin-375-dark.png", 375, "dark"],
] as const;
const password = "only for the picture";

const [browser, running] = await Promise.all([startChromium(), start({ operators: { ann: password }, port: 0, adminPort: 0, audit: () => undefined })]);
try {
  const call = async (user: string, times: number, path = "/inbox"): Promise<void> => {
    for (let i = 0; i < times; i++) await (await fetch(running.service + path, { headers: { authorization: `Bearer token-of-${user}` } })).text();
  };
  for (const [user, times] of [["42", 9], ["7", 6], ["1207", 5], ["31", 4], ["900", 2]] as const) await call(user, times);
  await call("script", 160);
  await call("42", 14, "/reports");
  await call("partner", 60, "/search");
  for (const [name, width, colorScheme] of PICTURES) {
    const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme });
    await page.goto(running.admin);
    await page.fill("#sign-in [name=name]", "ann");
    await page.fill("#sign-in [name=password]", password);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "user 42" }).first().click();
    await page.waitForSelector("#levels li");
    await page.mouse.move(0, 0);
    await page.screenshot({ path: fileOf(name), fullPage: width < 1_280 });
    await page.close();
  }
} finally {
  await running.close();
  await browser.close();
}
