/** A number with commas between thousands: 12,345. */
export function grouped(number: number): string {
  return String(number).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

/**
 * A wait for people: 900 ms, 12 s, 3 min, 2.5 h, 4 days. Rounded up, because one that is a little shorter is too short.
 */
export function waitText(ms: number): string {
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
  return `${Math.ceil(ms / (size / parts)) / parts} ${unit}`;
}

/** A text without control characters of any kind: a caller's key could move the cursor, or turn the line around. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, "\uFFFD");
}

/** Sorts names by their likeness to one, the nearest first. */
export function nearestFirst(names: Iterable<string>, to: string): string[] {
  const distance = (name: string): number =>
    Math.min(editDistance(name.toLowerCase(), to.toLowerCase()), editDistance(lastPart(name), lastPart(to)) + 0.5);
  const rows = [...names].map((name) => ({ name, distance: distance(name) }));
  return rows.toSorted((a, b) => a.distance - b.distance).map(({ name }) => name);
}

const lastPart = (name: string): string => name.slice(name.lastIndexOf(".") + 1).toLowerCase();

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (above[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(change, (above[j] as number) + 1, (row[j - 1] as number) + 1));
    }
  }
  return row[b.length] as number;
}
