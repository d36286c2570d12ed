import { isA, objectOf, type Check } from "./checks.js";
import type { Timing } from "../options.js";
import { sleep } from "../sleep.js";

/** Checks `time`, and fills in the platform's. */
export function timing(): Check {
  return objectOf<Timing>({
    now: isA("function", () => performance.now()),
    wallNow: isA("function", Date.now),
    sleep: isA("function", sleep),
    random: isA("function", Math.random),
  });
}
