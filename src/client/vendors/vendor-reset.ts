import { parseReset } from "../reading/reset.js";

// The longest text that is read: a `Date` as text, with the name of its time zone.
const MAX_VENDOR_RESET_CHARACTERS = 128;
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
// Sat Nov 21 2026 12:00:00 GMT+0000 (Coordinated Universal Time)
const DATE_TEXT = /^([A-Z][a-z]{2} ){2}\d\d \d{4} [\d:]{8} GMT[+-]\d{4}(?=$| \()/;

/**
 * Parses a vendor's reset field into milliseconds from `sent`, at least 0. Null when it is malformed.
 *
 * Reads what {@link parseReset} reads, durations such as `6m0s`, and what `String(new Date())` gives.
 */
export function parseVendorReset(text: string, sent: number): number | null {
  if (text.length > MAX_VENDOR_RESET_CHARACTERS) return null;
  const resetMs = parseReset(text, sent);
  if (resetMs !== null || text === "") return resetMs;
  let ms = 0;
  // Sticky: stops at the first character that does not fit, so the time is linear.
  const rest = text.replace(
    /(\d+(?:\.\d+)?)(ms|[smh])/gy, (_, count: string, unit: string) => ((ms += +count * (UNIT_MS[unit] as number)), ""),
  );
  if (rest === "") return Math.ceil(ms);
  const at = Date.parse(DATE_TEXT.exec(text)?.[0] ?? "");
  return Number.isNaN(at) ? null : Math.max(0, Math.ceil(at - sent));
}
