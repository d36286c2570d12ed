// The caller that is looked at: what is left to it, and what the next call would get.
import type { CallerState } from "../actions.js";
import { element, make } from "./parts.js";

/** Shows what is left. Null if the store does not say. */
export function showState(state: CallerState | null): void {
  const verdict = element("verdict");
  if (state === null) {
    verdict.dataset["state"] = "unknown";
    verdict.textContent = "What is left is unknown.";
    element("levels").replaceChildren();
    return;
  }
  const { levels, allowed, blocked, retryAfterMs } = state;
  verdict.dataset["state"] = allowed ? "free" : "refused";
  if (allowed) verdict.textContent = "The next call is allowed.";
  else if (blocked) verdict.textContent = `Blocked for ${duration(retryAfterMs)} more: all calls are refused.`;
  else verdict.textContent = `The next call is refused. Ask again in ${duration(retryAfterMs)}.`;
  element("levels").replaceChildren(...levels.map(drawLevel));
}

function drawLevel({ limit, remaining, capacity }: CallerState["levels"][number]): HTMLLIElement {
  const row = document.createElement("li");
  const meter = document.createElement("div");
  const share = Math.max(0, Math.min(1, remaining / capacity));
  meter.className = "meter";
  meter.dataset["state"] = remaining <= 0 ? "empty" : share <= 0.2 ? "low" : "free";
  for (const [name, value] of Object.entries({ role: "meter", "aria-valuemin": 0, "aria-valuemax": capacity, "aria-valuenow": remaining, "aria-label": `${limit}: ${remaining} of ${capacity} left` })) meter.setAttribute(name, String(value));
  const fill = make("span", "");
  fill.style.width = `${100 * share}%`;
  meter.append(fill);
  row.append(make("span", limit), meter, make("span", `${remaining} of ${capacity} left`));
  return row;
}

/** "45 s", "9 min 58 s", "2 h 5 min" or "3 d 4 h". Rounded up to seconds. */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  for (const [unit, size, next, small] of [["d", 86_400, "h", 3_600], ["h", 3_600, "min", 60], ["min", 60, "s", 1]] as const) {
    if (seconds < size) continue;
    const rest = Math.floor((seconds % size) / small);
    return `${Math.floor(seconds / size)} ${unit}${rest === 0 ? "" : ` ${rest} ${next}`}`;
  }
  return `${seconds} s`;
}
