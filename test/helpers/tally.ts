// Counts the kinds of steps in a fuzz test. Histories without refusals would prove little.
import { expect } from "vitest";

/** Counts steps and their kinds. */
export class Tally {
  steps = 0;
  denials = 0;
  /** Steps with other numbers than the step before. */
  changes = 0;
  /** Steps at an earlier instant than the step before. */
  back = 0;

  /** Counts a step of a history. Returns it for the next call. */
  step(now: number, chosen: number, last: { now: number; chosen: number } | undefined): { now: number; chosen: number } {
    this.steps += 1;
    if (last !== undefined && now < last.now) this.back += 1;
    if (last !== undefined && chosen !== last.chosen) this.changes += 1;
    return { now, chosen };
  }

  /**
   * Prints the counts. Fails when a required kind is less than a twentieth of the steps. A server's clock has no steps
   * back.
   */
  tell(where: string, matter: readonly ("denials" | "changes" | "back")[] = ["denials", "changes", "back"]): void {
    const { steps, denials, changes, back } = this;
    const share = (part: number): string => `${part} (${Math.round((part / steps) * 100)} %)`;
    console.log(`${where}: ${steps} steps, ${share(denials)} denials, ${share(changes)} changes of numbers, ${share(back)} steps back`);
    for (const part of matter) expect(this[part], part).toBeGreaterThan(steps / 20);
  }
}
