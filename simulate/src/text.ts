import type { Limit, Policy, Refill } from "sluice";

/** A number with commas between thousands: 12,345. */
export function grouped(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/** A share in percent, with as many digits as it needs: 71 %, 0.67 %. */
export function percent(part: number, whole: number): string {
  const share = whole === 0 ? 0 : (100 * part) / whole;
  return `${share === 0 || share >= 10 ? Math.round(share) : Number(share.toPrecision(2))} %`;
}

/** A wait for people, as {@link duration} and rounded up: one that is a little shorter would be too short. */
export const waitText = (ms: number): string => duration(ms, Math.ceil);

/** A duration for people: 900 ms, 12 s, 3 min, 2.5 h, 4 days. It has three digits, or those of whole units. */
export function duration(ms: number, round: (units: number) => number = Math.round): string {
  if (ms < 1_000) return `${ms} ms`;
  const [size, unit] = (
    [
      [86_400_000, "days"],
      [3_600_000, "h"],
      [60_000, "min"],
      [1_000, "s"],
    ] as const
  ).find(([each]) => ms >= 2 * each) ?? [1_000, "s"];
  const parts = 10 ** Math.max(0, 2 - Math.floor(Math.log10(ms / size)));
  return `${round(ms / (size / parts)) / parts} ${unit}`;
}

/** Text of a log without control characters of any kind: a caller could move the cursor, or turn the line around. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, "\uFFFD");
}

/** A text of at most so many letters. A caller may make a key as long as it likes. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The name of a caller of a log, for a line on a terminal. */
export function callerLabel(key: string): string {
  return printable(cut(key, 60));
}

/** A text of its own. V8 keeps a part of a text as a reference to the whole: a key would keep 64 kB of its log. */
export function flatText(text: string): string {
  return Buffer.from(text).toString();
}

/** A count and its noun: 1 caller, 302 callers. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Rows as a table for a terminal. The first row is the head. Columns of numbers are aligned to the right. */
export function table(rows: ReadonlyArray<readonly string[]>): string {
  const [head = []] = rows;
  const widths = head.map((_, i) => Math.max(...rows.map((row) => (row[i] ?? "").length)));
  const isNumber = head.map((_, i) =>
    rows.slice(1).every((row) => /^[\d,.]+(?: (?:%|ms|s|min|h|days))?$|^-$/.test(row[i] ?? "")),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => (isNumber[i] === true ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number)))
      .join("  ")
      .trimEnd();
  return [line(head), widths.map((width) => "-".repeat(width)).join("  "), ...rows.slice(1).map(line)].join("\n");
}

/** Bars for a terminal: a label, a bar as long as its part of the largest, and the number. */
export function bars(rows: ReadonlyArray<readonly [label: string, number: number]>, width = 40): string {
  const most = Math.max(1, ...rows.map(([, number]) => number));
  const labels = Math.max(0, ...rows.map(([label]) => label.length));
  return rows
    .map(
      ([label, number]) =>
        `${label.padEnd(labels)}  ${"█".repeat(Math.ceil((width * number) / most)).padEnd(width)}  ${grouped(number)}`,
    )
    .join("\n");
}

/** A policy as it is written for a command: "30, 5/s", or with names for several limits. */
export function limitsText({ limits }: Policy): string {
  return limits
    .map((limit) => `${limits.length > 1 ? `${limit.name} ` : ""}${grouped(limit.capacity)}${returnText(limit)}`)
    .join("; ");
}

function returnText({ refill, renews, returns }: Limit): string {
  if (refill !== undefined) return `, ${rateText(refill)}`;
  if (returns !== undefined) return "afterMs" in returns ? ` in any ${duration(returns.afterMs)}` : " at once";
  return ` a ${renews?.every ?? "time"}`;
}

/** A rate as it is written for a command: "5/s", "1/10s". */
export function rateText({ tokens, everyMs }: Refill): string {
  const [size, unit] = (
    [
      [86_400_000, "d"],
      [3_600_000, "h"],
      [60_000, "min"],
      [1_000, "s"],
    ] as const
  ).find(([each]) => everyMs % each === 0) ?? [1, "ms"];
  return `${grouped(tokens)}/${everyMs === size ? "" : everyMs / size}${unit}`;
}
