/** A field of a line: its name, and the parts between the dots. */
export interface NamedField {
  readonly field: string;
  readonly path: readonly string[];
}

export const namedField = (field: string): NamedField => ({ field, path: field.split(".") });

/**
 * Returns the value at a name with dots. A name may itself contain dots, as those of OpenTelemetry do, so the longest
 * name comes first at every level.
 */
export function valueAt(value: unknown, path: readonly string[]): unknown {
  if (path.length === 0) return value;
  if (typeof value !== "object" || value === null) return undefined;
  for (let taken = path.length; taken > 0; taken--) {
    const name = path.slice(0, taken).join(".");
    if (!Object.hasOwn(value, name)) continue;
    const found = valueAt((value as Record<string, unknown>)[name], path.slice(taken));
    if (found !== undefined) return found;
  }
  return undefined;
}

const MOST_COLLECTED = 200;
const DEEPEST = 4;

/** Collects the names of an object, deeper ones with dots. */
export function collectNames(value: unknown, names: Set<string>, before = "", depth = 0): void {
  if (typeof value !== "object" || value === null || Array.isArray(value) || depth >= DEEPEST) return;
  for (const [name, inner] of Object.entries(value)) {
    if (names.size >= MOST_COLLECTED) return;
    const whole = `${before}${name}`;
    if (typeof inner === "object" && inner !== null && !Array.isArray(inner)) collectNames(inner, names, `${whole}.`, depth + 1);
    else if (whole.length <= 100) names.add(whole);
  }
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
