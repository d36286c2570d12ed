// The part of vitest's interface that the suites need, in plain JavaScript, so that they run inside Bun, Deno and a browser.
// The bundles of `npm run check:runtimes` have this file in place of "vitest".
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend } from "@vitest/expect";
import * as chai from "chai";

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);

/** vitest's own. */
export const expect = chai.expect;

type Body = () => unknown;

interface Group {
  readonly name: string;
  readonly parent: Group | null;
  readonly before: Body[];
  readonly after: Body[];
  readonly beforeEach: Body[];
  readonly afterEach: Body[];
  /** Tests and groups, in the order of their registration. */
  readonly content: (Group | Test)[];
}

interface Test {
  readonly name: string;
  /** Null for a test that is skipped. */
  readonly run: Body | null;
}

/** What became of one test. */
export interface Ended {
  readonly name: string;
  readonly outcome: "passed" | "failed" | "skipped";
  readonly error?: string;
}

// A suite that waits for a server, and gets no answer, names its own culprit long before.
const DEADLINE_MS = 60_000;

const groupOf = (name: string, parent: Group | null): Group => ({ name, parent, before: [], after: [], beforeEach: [], afterEach: [], content: [] });
const root = groupOf("", null);
let current = root;
let finishing: Body[] = [];

export const describe = Object.assign(
  (name: string, register: Body) => {
    const group = groupOf(name, current);
    current.content.push(group);
    current = group;
    // Registration is synchronous, as in vitest's own use here.
    register();
    current = group.parent as Group;
  },
  { each: eachOf((name, register) => describe(name, register)), skip: (name: string) => test.skip(name) },
);

export const test = Object.assign(
  (name: string, ...rest: readonly unknown[]) => void current.content.push({ name, run: rest.find((each) => typeof each === "function") as Body }),
  {
    each: eachOf((name, run) => test(name, run)),
    skip: (name: string) => void current.content.push({ name, run: null }),
  },
);

export const beforeAll = (run: Body): unknown => current.before.push(run);
export const afterAll = (run: Body): unknown => current.after.unshift(run);
export const beforeEach = (run: Body): unknown => current.beforeEach.push(run);
export const afterEach = (run: Body): unknown => current.afterEach.unshift(run);
export const onTestFinished = (run: Body): unknown => finishing.unshift(run);

/**
 * Runs every test that was registered, one after another, and calls `tell` after each. Skips the tests that `lacks`
 * names, each with the reason. A name that no test has is a failure.
 */
export async function runTests(tell: (ended: Ended) => void, lacks: Readonly<Record<string, string>> = {}): Promise<void> {
  const left = new Map(Object.entries(lacks));
  await runGroup(root, "");
  for (const name of left.keys()) tell({ name, outcome: "failed", error: "Expected a test of this name to skip, got none" });

  async function runGroup(group: Group, path: string): Promise<void> {
    try {
      for (const run of group.before) await inTime(run);
    } catch (error) {
      tell({ name: `${path} (before its tests)`, outcome: "failed", error: textOf(error) });
      return;
    }
    for (const one of group.content) {
      const name = path === "" ? one.name : `${path} › ${one.name}`;
      const reason = left.get(name);
      left.delete(name);
      if ("content" in one) await runGroup(one, name);
      else if (reason !== undefined) tell({ name: `${name} (skipped: ${reason})`, outcome: "skipped" });
      else tell({ name, ...(await runTest(one, group)) });
    }
    for (const run of group.after) {
      await inTime(run).catch((error: unknown) => tell({ name: `${path} (after its tests)`, outcome: "failed", error: textOf(error) }));
    }
  }

  async function runTest({ run }: Test, group: Group): Promise<Omit<Ended, "name">> {
    if (run === null) return { outcome: "skipped" };
    const groups: Group[] = [];
    for (let each: Group | null = group; each !== null; each = each.parent) groups.unshift(each);
    finishing = [];
    let failure: { readonly error: string } | undefined;
    const attempt = async (body: Body): Promise<void> => {
      await inTime(body).catch((error: unknown) => void (failure ??= { error: textOf(error) }));
    };
    for (const body of groups.flatMap((each) => each.beforeEach)) await attempt(body);
    if (failure === undefined) await attempt(run);
    for (const body of [...finishing, ...groups.reverse().flatMap((each) => each.afterEach)]) await attempt(body);
    return failure === undefined ? { outcome: "passed" } : { outcome: "failed", ...failure };
  }
}

async function inTime(run: Body): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Expected an end within ${DEADLINE_MS} ms, got none`)), DEADLINE_MS);
  });
  try {
    await Promise.race([Promise.resolve().then(run), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** vitest's `each`: a row that is an array is several arguments; `%s` and `$name` stand for them in the title. */
function eachOf(register: (name: string, run: Body) => void) {
  return (rows: readonly unknown[]) => (title: string, ...rest: readonly unknown[]) => {
    const run = rest.find((each) => typeof each === "function") as (...row: readonly unknown[]) => unknown;
    for (const row of rows) {
      const values: readonly unknown[] = Array.isArray(row) ? row : [row];
      let next = 0;
      const name = title
        .replace(/%[sdioj]/g, () => String(values[next++]))
        .replace(/\$([a-z]\w*)/gi, (_, key: string) => String((Object(values[0]) as Record<string, unknown>)[key]));
      register(name, () => run(...values));
    }
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : String(error);
}
