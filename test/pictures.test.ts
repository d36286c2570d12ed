// The pictures of docs/concepts.md are drawn from the library. Each script draws its own anew.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { drawOutage } from "../docs/images/concepts/draw-outage.js";
import { drawRefusal } from "../docs/images/concepts/draw-refusal.js";
import { drawTwoProcesses } from "../docs/images/concepts/draw-two-processes.js";
import { ROOT } from "./helpers/docs-read.js";

test.each([["two-processes", drawTwoProcesses], ["refusal", drawRefusal], ["outage", drawOutage]] as const)("%s.svg is what the library does", async (name, draw) => {
  expect(readFileSync(join(ROOT, `docs/images/concepts/${name}.svg`), "utf8")).toBe(await draw());
});
