// A headless Chromium with an empty profile, which connects only to the servers of the test.
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Browser } from "playwright-core";

/** The program that tests start: the one in `SLUICE_CHROMIUM`, or the first of the usual names on the PATH. */
export function chromiumProgram(): string | undefined {
  const named = process.env["SLUICE_CHROMIUM"];
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const usual = ["chromium", "chromium-browser", "google-chrome"].flatMap((name) => folders.map((folder) => join(folder, name)));
  return (named === undefined ? usual : [named]).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts Chromium. Each context of the browser has separate cookies and a separate cache. */
export async function startChromium(): Promise<Browser> {
  const { chromium } = await import("playwright-core");
  return chromium.launch({
    executablePath: chromiumProgram() as string,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}
