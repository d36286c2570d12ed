// Reads the walks of src/README.md.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The text of the tour. */
export const TOUR = readFileSync(fileURLToPath(new URL("../../src/README.md", import.meta.url)), "utf8");

/** The stops that the tour lists under a heading, in its order: `http/gate.ts createGate.decide`. */
export function stopsUnder(heading: string): string[] {
  const section = TOUR.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  return [...section.matchAll(/^\d+\. \[`([^`]+)`\]\(([^)]+)\):/gm)].map(([, name, file]) => `${file} ${name}`);
}

/** Those of the `stops` that ran, in the order in which each ran first. */
export function taken(stops: readonly string[], ran: readonly string[]): string[] {
  return ran.filter((stop) => stops.includes(stop));
}
