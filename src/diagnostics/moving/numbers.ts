/** A number as it is written in code, such as 900_000. A function's number has the name `variable`. */
export function written(number: unknown, variable: string): string | undefined {
  if (typeof number === "function") return variable;
  return Number.isSafeInteger(number) && (number as number) > 0 ? String(number).replace(/\B(?=(?:\d{3})+$)/g, "_") : undefined;
}

// @upstash/ratelimit has milliseconds, too.
const PER: ReadonlyArray<readonly [ms: number, name: string, unit: RegExp]> = [
  [1, "perMs", /^ms$/], [1_000, "perSecond", /^s(?:ec(?:ond)?)?s?$/], [60_000, "perMinute", /^m(?:in(?:ute)?)?s?$/],
  [3_600_000, "perHour", /^h(?:(?:ou)?r)?s?$/], [86_400_000, "perDay", /^d(?:ay)?s?$/],
];

/** The refill of so many tokens, as it is written in code. */
export function refillText(tokens: string, everyMs: string): string {
  const per = PER.find(([ms]) => ms > 1 && written(ms, "") === everyMs);
  return per === undefined ? `{ tokens: ${tokens}, everyMs: ${everyMs} }` : `${per[1]}(${tokens})`;
}

/**
 * Milliseconds of a window as @fastify/rate-limit and @upstash/ratelimit take it: a number, or a text such as "15
 * minutes".
 */
export function msOf(window: unknown): unknown {
  if (typeof window !== "string") return window;
  const [, number, unit = ""] = /^(\d+) ?(\w+)$/.exec(window.toLowerCase()) ?? [];
  const ms = PER.find(([, , units]) => units.test(unit))?.[0];
  return ms === undefined ? window : Number(number) * ms;
}
