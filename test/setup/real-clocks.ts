// Real clocks in unit tests, read off their source.
import ts from "typescript";

/** The files that may look at one or wait for one, and why they pass on a busy machine. */
export const EXCEPTIONS: Readonly<Record<string, string>> = {
  "test/adapters/node/unread-body.test.ts": "pokes a connection until it is over, and counts timers",
  "test/client/fetch/waiting.test.ts": "measures that a real wait is not too short: a longer one passes",
  "test/core/clock.test.ts": "replaces `performance`, and takes one token of five",
  "test/core/two-clocks.test.ts": "fakes the date alone, so that it is another clock",
  "test/diagnostics/mistakes.test.ts": "writes `performance.now` as a mistake, which is refused",
  "test/examples/walk.ts": "waits as long as `Retry-After` says, for a server in a process of its own",
  "test/helpers/bundled.ts": "the age of files in a cache",
  "test/helpers/soon.ts": "has the time limit of all tests that wait for something",
  "test/helpers/stores.ts": "a slow store, for tests with fake timers",
  "test/http/gate.test.ts": "names the clocks, and does not read them",
  "test/in-flight/pooled-store.ts": "a slow store, for tests with fake timers",
  "test/limiter/quotas.test.ts": "names a clock, and goes by its dates, whatever they are",
  "test/limits/dates.test.ts": "names a clock, and does not read it",
};

/**
 * What looks at a real clock or waits for one, as `line: code`. Where timers are faked, those and clocks are taken for fake:
 * in a test, or for a hook in all of its group.
 */
export function realClocks(path: string, text: string): string[] {
  // Most files have nothing of it, and need not be parsed.
  if (!WAITS.test(text) && !CLOCKS.test(text)) return [];
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022);
  const textOf = (node: ts.Node | undefined): string => node?.getText(file) ?? "";

  /** Reads the time, or passes a function that does, or sets a timer. */
  const isReal = (node: ts.Node): boolean => {
    if (ts.isPropertyAccessExpression(node)) return /^(performance|Date)\.now$|^process\.hrtime$|^AbortSignal\.timeout$/.test(textOf(node));
    if (ts.isNewExpression(node)) return textOf(node.expression) === "Date" && !node.arguments?.length;
    if (ts.isStringLiteral(node)) return /^(node:)?timers\/promises$/.test(node.text);
    if (ts.isCallExpression(node) && /^(util\.)?promisify\(setTimeout\)$/.test(textOf(node))) return true;
    return ts.isCallExpression(node) && /^set(Timeout|Interval)$/.test(textOf(node.expression)) && !/^0?$/.test(textOf(node.arguments[1]));
  };
  /** Waits for a condition with the limit of Vitest, which is a second. */
  const isShortWait = (node: ts.Node): boolean => ts.isCallExpression(node) && /^vi\.wait(For|Until)$/.test(textOf(node.expression));
  /** Fakes one of the two clocks that sluice looks at, while the other one goes on. */
  const isHalfFake = (node: ts.Node): boolean =>
    (ts.isPropertyAssignment(node) && textOf(node.name) === "toFake" && textOf(node).includes('"performance"') !== textOf(node).includes('"Date"')) ||
    (ts.isCallExpression(node) && STOPS.test(textOf(node)) && !text.includes('spyOn(Date, "now")'));

  const calls = (node: ts.Node, name: RegExp): boolean => ts.isCallExpression(node) && name.test(textOf(node.expression));
  /** Whether timers are faked in a node itself: not in a test or a group within it. */
  const fakes = (node: ts.Node): boolean => ts.forEachChild(node, (child) => calls(child, FAKES) || (!calls(child, SCOPES) && fakes(child))) ?? false;

  const found: string[] = [];
  const visit = (node: ts.Node, around = false): void => {
    const isFake = around || ((ts.isSourceFile(node) || calls(node, SCOPES)) && fakes(node));
    if (isShortWait(node) || isHalfFake(node) || (!isFake && isReal(node))) {
      found.push(`${file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1}: ${textOf(node).split("\n")[0]?.slice(0, 80)}`);
    } else ts.forEachChild(node, (child) => visit(child, isFake));
  };
  visit(file);
  return found;
}

const WAITS = /vi\.wait|toFake|spyOn\(performance/;
const STOPS = /^vi\.spyOn\(performance, "now"\)\.mockReturnValue\(/;
const CLOCKS = /(performance|Date)\.now|hrtime|new Date\(\)|timers\/promises|set(Timeout|Interval)\(|AbortSignal\.timeout|promisify/;
const FAKES = /^vi\.useFakeTimers$/;
// Not hooks, which belong to their group.
const SCOPES = /^(test|it|describe)\b/;
