// Real clocks in unit tests, read off their source.
import ts from "typescript";

/** The files that may look at one or wait for one, and why they pass on a busy machine. */
export const EXCEPTIONS: Readonly<Record<string, string>> = {
  "test/adapters/node/unread-body.test.ts": "pokes a connection until it is over, and counts timers",
  "test/core/clock.test.ts": "replaces `performance`, and takes one token of five",
  "test/diagnostics/mistakes.test.ts": "writes `performance.now` as a mistake, which is refused",
  "test/examples/walk.ts": "waits as long as `Retry-After` says, for a server in a process of its own",
  "test/helpers/bundled.ts": "the age of files in a cache",
  "test/helpers/soon.ts": "has the time limit of all tests that wait for something",
  "test/helpers/stores.ts": "a slow store, for tests with fake timers",
  "test/http/gate.test.ts": "names the clocks, and does not read them",
  "test/in-flight/pooled-store.ts": "a slow store, for tests with fake timers",
  "test/limits/dates.test.ts": "names a clock, and does not read it",
};

/**
 * What looks at a real clock or waits for one, as `line: code`. Timers and clocks of a file with fake timers are taken
 * for fake.
 */
export function realClocks(path: string, text: string): string[] {
  const isFake = text.includes("useFakeTimers");
  // Most files have nothing of it, and need not be parsed.
  if (!WAITS.test(text) && (isFake || !CLOCKS.test(text))) return [];
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022);
  const textOf = (node: ts.Node | undefined): string => node?.getText(file) ?? "";

  /** Reads the time, or passes a function that does, or sets a timer. */
  const isReal = (node: ts.Node): boolean => {
    if (ts.isPropertyAccessExpression(node)) return /^(performance|Date)\.now$|^process\.hrtime$/.test(textOf(node));
    if (ts.isNewExpression(node)) return textOf(node.expression) === "Date" && !node.arguments?.length;
    if (ts.isStringLiteral(node)) return /^(node:)?timers\/promises$/.test(node.text);
    return ts.isCallExpression(node) && /^set(Timeout|Interval)$/.test(textOf(node.expression)) && !/^0?$/.test(textOf(node.arguments[1]));
  };
  /** Waits for a condition with the limit of Vitest, which is a second. */
  const isShortWait = (node: ts.Node): boolean => ts.isCallExpression(node) && /^vi\.wait(For|Until)$/.test(textOf(node.expression));
  /** Fakes one of the two clocks that sluice looks at, while the other one goes on. */
  const isHalfFake = (node: ts.Node): boolean =>
    (ts.isPropertyAssignment(node) && textOf(node.name) === "toFake" && textOf(node).includes('"performance"') && !textOf(node).includes('"Date"')) ||
    (ts.isCallExpression(node) && STOPS.test(textOf(node)) && !text.includes('spyOn(Date, "now")'));

  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isShortWait(node) || isHalfFake(node) || (!isFake && isReal(node))) {
      found.push(`${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}: ${textOf(node).split("\n")[0]?.slice(0, 80)}`);
    } else ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

const WAITS = /vi\.wait|toFake|spyOn\(performance/;
const STOPS = /^vi\.spyOn\(performance, "now"\)\.mockReturnValue\(/;
const CLOCKS = /(performance|Date)\.now|hrtime|new Date\(\)|timers\/promises|set(Timeout|Interval)\(/;
