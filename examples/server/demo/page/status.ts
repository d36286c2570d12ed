/** The status of the bucket in words, for the eye and for a screen reader. */
import type { OnStoreError } from "sluice";
import type { Levels } from "./levels.js";

/** What the page says. `said` has no countdown, because a screen reader reads each change aloud. */
export interface Status {
  readonly state: "free" | "refused" | "unavailable" | "silent";
  readonly text: string;
  readonly said: string;
}

const MEANWHILE: Readonly<Record<OnStoreError, string>> = {
  local: "this process decides",
  allow: "all requests are served",
  unavailable: "requests get a 503",
};

/** The status at `now`, computed from the level and not from the last answer. Null while nothing new is known. */
export function statusAt(now: number, levels: Levels, capacity: number, onStoreError: OnStoreError): Status | null {
  if (levels.knowledge === "unknown") return null;
  if (levels.knowledge === "silent") return whole("silent", "The server does not answer");
  if (levels.knowledge === "unavailable") return whole("unavailable", `The store is unavailable: ${MEANWHILE[onStoreError]}`);
  const againAt = levels.againAt(now);
  // Rounded up, so that the countdown never ends early.
  if (againAt !== null) return { state: "refused", text: `Empty: next request in ${secondsUp(againAt - now)} s`, said: "The bucket is empty: requests are refused." };
  return { state: "free", text: `Ready: ${Math.floor((levels.tokensAt(now) ?? 0) * 10 + 1e-6) / 10} of ${capacity} tokens left`, said: "The bucket has tokens: requests are served." };
}

/** Milliseconds as seconds with one decimal place, rounded up. */
export function secondsUp(ms: number): string {
  return (Math.ceil(ms / 100) / 10).toFixed(1);
}

function whole(state: Status["state"], text: string): Status {
  return { state, text, said: `${text}.` };
}
