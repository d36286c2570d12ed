// `npx sluice peek`, `credit`, `debit`, `block` and `reset`, called as an operator calls them, over a service's own limiters.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { combine, createLimiter, createWaiter, definePolicy, MemoryStore, monthly, perMinute, perSecond, StoreUnavailableError, whenDone, type Key, type Store } from "sluice";
import { ManualClock } from "sluice/testing";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { LiveLimits, ownName } from "../../examples/live-limits/live-limits.js";
import { runCommand } from "../../src/command/run-command.js";
import { callsOf } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-operate-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** The limiters of the service. The module that the command imports takes them from here. */
function service() {
  const clock = new ManualClock(Date.UTC(2026, 10, 20));
  const store = new MemoryStore({ clock: clock.now });
  const gold = definePolicy({ name: "gold", capacity: 100, refill: perSecond(10) });
  const interactive = createLimiter({ policy: { name: "interactive", capacity: 30, refill: perSecond(5) }, store });
  const chat = createLimiter({
    policy: {
      name: "chat",
      limits: [
        { name: "requests", capacity: 60, refill: perMinute(60) },
        { name: "month", capacity: 10_000, renews: monthly() },
        { name: "parallel", capacity: 2, returns: whenDone() },
      ],
    },
    store,
  });
  return { clock, exports: { interactive, chat, both: combine({ interactive, chat }), patient: createWaiter(interactive), tiers: { gold }, port: 3_000 } };
}
const QUIET = "Nothing was spent under this key: right for a caller who has been quiet; check the spelling otherwise.";
let of: ReturnType<typeof service>;
let files = 0;
let limits: string;
const given = globalThis as unknown as { operated?: object; shop?: object; failing?: object };
afterAll(() => {
  for (const name of ["operated", "shop", "failing"] as const) delete given[name];
});
beforeEach(() => {
  of = service();
  given.operated = of.exports;
  limits = join(folder, `limits-${++files}.mjs`); // Node remembers a module by its path
  writeFileSync(limits, `export const { interactive, chat, both, patient, tiers, port } = globalThis.operated;\n`);
});

/** The service of these tests counts in memory. */
const run = (...args: string[]) => runAsUsual(...args, "--memory");

async function runAsUsual(...args: string[]): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const [out, err]: [string[], string[]] = [[], []];
  const into = (texts: string[]) => new Writable({ write: (chunk, _, done) => (texts.push(String(chunk)), done()) });
  const code = await runCommand(args, { stdout: into(out), stderr: into(err) });
  return { code, out: out.join(""), err: err.join("") };
}
const said = async (...args: string[]): Promise<string> => {
  const { code, out, err } = await run(...args);
  expect([code, err]).toEqual([0, ""]);
  return out;
};

describe("peek", () => {
  test("says what is left to the caller, and whether a call now is allowed", async () => {
    const key = ["user", 42] as const;
    expect(await said("peek", limits, "interactive", "user", "42")).toBe('["user","42"], "interactive" of interactive: 30 of 30 left, full\nA call now is allowed.\nNothing is spent under this key: right for a caller who has been quiet; check the spelling otherwise.\n');
    of.exports.interactive.consume(key, 30);
    expect(await said("peek", limits, "interactive", "user", "42")).toBe('["user","42"], "interactive" of interactive: 0 of 30 left, full in 6 s\nA call now is refused: ask again in 200 ms.\n');
    expect(await said("peek", limits, "interactive", "user", "42", "--cost", "31")).toContain("A call of the cost 31 now is never allowed: it costs more than the capacity.");
    expect(of.exports.interactive.peek(key, 0).remaining).toBe(0);
  });

  test("has a line for each limit of several, and names the one that refuses", async () => {
    of.exports.chat.consume("ann", { cost: { requests: 3, month: 1_000 } });
    of.exports.chat.consume("ann");
    expect(await said("peek", limits, "chat", "ann")).toBe(
      '"ann", "chat" of chat:\n  requests: 56 of 60 left, full in 4 s\n  month: 8,999 of 10,000 left, full in 11 days\n  parallel: 0 of 2 free\nA call now is refused by "chat:parallel": ask again in 1 s.\n',
    );
    expect(await said("peek", limits, "chat", "bob", "--cost", "month=10001")).toMatch(/is never allowed: it costs more than the capacity of "chat:month"\.\n/);
  });

  test("looks with the policy of the caller's tier", async () => {
    of.exports.interactive.consume("ann", { cost: 60, policy: of.exports.tiers.gold });
    expect(await said("peek", limits, "interactive", "ann", "--policy", "gold")).toContain('"gold" of interactive: 40 of 100 left');
  });

  test("answers as JSON", async () => {
    const { left, ...rest } = JSON.parse(await said("peek", limits, "interactive", "user", "42", "--json")) as { left: object };
    expect(rest).toEqual({ command: "peek", limiter: "interactive", key: ["user", "42"] });
    expect(left).toMatchObject({ allowed: true, remaining: 30, capacity: 30, policy: "interactive" });
  });

  test("shows no control characters of a key", async () => {
    expect(await said("peek", limits, "interactive", "\u001b[2J")).toMatch(/^"\\u001b\[2J", /);
  });
});

describe("what changes something", () => {
  const left = (key: string | readonly [string, number]) => of.exports.interactive.peek(key).remaining;

  test("debit takes, credit gives, each with its reason", async () => {
    expect(await said("debit", limits, "interactive", "user", "42", "--cost", "20", "--reason", "ticket 7")).toBe(
      'Took 20 tokens from ["user","42"]. Nothing was spent under this key: right for a caller who has been quiet; check the spelling otherwise. Reason: ticket 7\n["user","42"], "interactive" of interactive: 10 of 30 left, full in 4 s; 30 before\nA call now is allowed.\n',
    );
    expect(left(["user", 42])).toBe(10);
    expect(await said("credit", limits, "interactive", "user", "42", "--cost", "1")).toContain('Gave 1 token to ["user","42"].\n');
    expect(left(["user", 42])).toBe(11);
  });

  test("names the limits of several", async () => {
    expect(await said("debit", limits, "chat", "ann", "--cost", "requests=10,month=500")).toMatch(/^Took 10 of requests, 500 of month from "ann"\. Nothing was spent [^\n]*\n.*requests: 50 of 60[^\n]*; 60 before\n.*month: 9,500 of 10,000[^\n]*; 10,000 before\n.*parallel: 2 of 2 free\n/s);
    const { before, left } = JSON.parse(await said("credit", limits, "chat", "ann", "--cost", "requests=4", "--reason", "goodwill", "--json")) as Record<string, { limits: { remaining: number }[] }>;
    expect([before, left].map((each) => each?.limits[0]?.remaining)).toEqual([50, 54]);
  });

  test("block refuses for a time, and --for 0 ends it", async () => {
    expect(await said("block", limits, "interactive", "ann", "--for", "10min")).toMatch(/^Blocked "ann" for 10 min\. Nothing was spent [^\n]*\n.*: 0 of 30 left[^\n]*; 30 before\nA call now is refused: the caller is blocked for 10 min\.\n$/);
    expect(of.exports.interactive.consume("ann")).toMatchObject({ allowed: false, blocked: true });
    expect(await said("block", limits, "interactive", "ann", "--for", "0")).toContain('Ended the block of "ann".\n');
    expect(of.exports.interactive.consume("ann").allowed).toBe(true);
  });

  test.each([[0, 10, " Of these 0 came back: no more was spent."], [3, 10, " Of these 3 came back: no more was spent."], [10, 10, ""], [11, 10, ""], [30, 10, ""], [30, 40, ""], [29, 30, " Of these 29 came back: no more was spent."]])(
    "of %d spent tokens a credit of %d gives back what it says", async (spent, given, note) => {
      if (spent > 0) of.exports.interactive.debit("ann", spent);
      expect(await said("credit", limits, "interactive", "ann", "--cost", String(given), "--reason", "goodwill")).toMatch(`Gave ${given} tokens to "ann".${note}${spent === 0 ? ` ${QUIET}` : ""} Reason: goodwill\n`);
    },
  );

  test("a credit of several limits says of each what came back", async () => {
    of.exports.chat.debit("ann", { cost: { requests: 4, month: 900 } });
    expect(await said("credit", limits, "chat", "ann", "--cost", "requests=10,month=500")).toMatch(/^Gave 10 of requests, 500 of month to "ann"\. Of these 4 of requests, 500 of month came back: no more was spent\.\n/);
    expect(await said("credit", limits, "chat", "ann", "--cost", "month=100")).toMatch(/^Gave 100 of month to "ann"\.\n/);
  });

  test("a block that ends sooner than an earlier one says which one stays", async () => {
    await said("block", limits, "interactive", "ann", "--for", "60min");
    expect(await said("block", limits, "interactive", "ann", "--for", "1s")).toMatch(/^"ann" was blocked for longer than 1 s: the block of 60 min stays\. --for 0 ends it\.\n/);
    expect(await said("block", limits, "interactive", "ann", "--for", "2h", "--reason", "bot")).toMatch(/^Blocked "ann" for 2 h\. Reason: bot\n/);
    expect(await said("block", limits, "interactive", "ann", "--for", "2h")).toMatch(/^Blocked "ann" for 2 h\.\n/);
  });

  test.each([["1234d", "1234 d", "1234 days"], ["90s", "90 s", "90 s"], ["1001ms", "1001 ms", "1.01 s"], ["119400ms", "119400 ms", "120 s"], ["7201s", "7201 s", "2.01 h"], ["120s", "120 s", "2 min"], ["10m", "10 min", "10 min"], [" 10 m", "10 min", "10 min"], ["10min", "10 min", "10 min"]])("a time is repeated, and waits are rounded up: %s", async (text, repeated, wait) => {
    expect(await said("block", limits, "interactive", "ann", "--for", text)).toMatch(new RegExp(`^Blocked "ann" for ${repeated}\\. Nothing was spent [^]*the caller is blocked for ${wait}\\.`));
  });

  test("reset gives everything back and ends a block", async () => {
    of.exports.interactive.consume("ann", 30);
    of.exports.interactive.block("ann", 60_000);
    expect(await said("reset", limits, "interactive", "ann")).toBe('Reset "ann": all tokens are back, and no block is left.\n"ann", "interactive" of interactive: 30 of 30 left, full; 0 before\nA call now is allowed.\n');
  });

  test("acts with the policy of the caller's tier", async () => {
    await said("debit", limits, "interactive", "ann", "--cost", "60", "--policy", "gold");
    expect(of.exports.interactive.peek("ann", { policy: of.exports.tiers.gold }).remaining).toBe(40);
  });
});

describe("tiers of one name", () => {
  let shop: string;
  const tiers = {
    free: definePolicy({ name: "interactive", capacity: 10, refill: perSecond(2) }),
    paid: definePolicy({ name: "interactive", capacity: 50, refill: perSecond(10) }),
  };
  beforeEach(() => {
    const interactive = createLimiter({ policy: tiers.free, store: new MemoryStore({ clock: () => 0 }) });
    given.shop = { interactive, tiers };
    shop = join(folder, `shop-${++files}.mjs`);
    writeFileSync(shop, "export const interactive = globalThis.shop.interactive;\nexport const tiers = globalThis.shop.tiers;\n");
  });

  test("a name that several have is refused, and each is named by its place", async () => {
    expect((await run("peek", shop, "interactive", "ann", "--policy", "interactive")).err).toBe(
      `sluice: Expected --policy to name one policy that ${shop} exports, got interactive, the name of several. Write tiers.free or tiers.paid\n`,
    );
    for (const name of ["paid", "tiers.paid"]) expect(await said("peek", shop, "interactive", "ann", "--policy", name)).toContain("50 of 50 left, full\nA call now is allowed.\n");
  });

  test("without --policy the answer says by which numbers it is", async () => {
    expect(await said("peek", shop, "interactive", "ann")).toMatch(/10 of 10 left, full\nA call now is allowed\.\nThis is by the numbers of interactive itself\. For a caller of another tier add --policy tiers\.paid\.\nNothing is spent/);
    expect(JSON.parse(await said("peek", shop, "interactive", "ann", "--json"))).toMatchObject({ otherTiers: ["tiers.paid"] });
    expect(await said("peek", shop, "interactive", "ann", "--policy", "free")).not.toContain("by the numbers");
  });
});

describe("callers with numbers of their own", () => {
  let shop: string;
  const numbers = { capacity: 10, tokens: 2, everyMs: 1_000 };
  const KEYS: Key[] = [["user", 42], ["user", "o'hara"], "ann", ["address", "2001:db8::/64"], ["tenant", "a.b", 7]];
  beforeEach(() => {
    const limits = new LiveLimits({ interactive: numbers });
    KEYS.forEach((key, i) => limits.set(ownName("interactive", key), { ...numbers, capacity: 100 + i }));
    given.shop = { interactive: createLimiter({ policy: limits.policy("interactive"), store: new MemoryStore({ clock: () => 0 }) }), callers: limits.callers("interactive") };
    shop = join(folder, `callers-${++files}.mjs`);
    writeFileSync(shop, "export const { interactive, callers } = globalThis.shop;\n");
  });

  test.each(KEYS.map((key, i) => [JSON.stringify(key), key, 100 + i] as const))("%s is shown by these numbers, and any other caller by those for all", async (_, key, capacity) => {
    const parts = typeof key === "string" ? [key] : key.map(String);
    const name = `callers.${JSON.stringify(typeof key === "string" ? key : parts)}`;
    for (const more of [[], ["--policy", name], ["--policy", name.slice("callers.".length)]]) {
      expect(await said("peek", shop, "interactive", ...parts, ...more), more[1]).toContain(`: ${capacity} of ${capacity} left, full\nA call now is allowed.\n`);
    }
    expect(await said("peek", shop, "interactive", ...parts)).toContain(`\nThis is by the caller's own numbers, ${name}.\n`);
    expect(JSON.parse(await said("peek", shop, "interactive", ...parts, "--json"))).toMatchObject({ ownPolicy: name, left: { capacity } });
    expect(await said("peek", shop, "interactive", ...parts, "7")).toContain("10 of 10 left");
  });

  test.each([["peek"], ["reset"], ["credit", "--cost", "5"], ["block", "--for", "0"]])("%s of an idle caller does not ask for the key: its own numbers are under it", async (verb, ...more) => {
    for (const chosen of [[], ["--policy", 'callers.["user","42"]'], ["--policy", '["user","42"]']]) {
      expect(await said(verb, shop, "interactive", "user", "42", ...more, ...chosen)).not.toContain("check the spelling");
    }
    // Chosen for another caller, the numbers say nothing about the key.
    for (const chosen of [[], ["--policy", 'callers.["user","42"]']]) {
      expect(await said(verb, shop, "interactive", "user", "43", ...more, ...chosen)).toContain("check the spelling");
    }
  });

  test("each verb acts by these numbers", async () => {
    expect(await said("debit", shop, "interactive", "user", "42", "--cost", "60")).toContain("40 of 100 left");
    expect(await said("credit", shop, "interactive", "user", "42", "--cost", "20")).toContain("60 of 100 left");
    expect(await said("block", shop, "interactive", "user", "42", "--for", "1min")).toContain("0 of 100 left, full in 60 s");
    expect(await said("reset", shop, "interactive", "user", "42")).toContain("100 of 100 left");
  });

  test("the key of another notation is the same caller", async () => {
    expect(await said("peek", shop, "interactive", '["user",42]')).toContain("100 of 100");
    expect(await said("peek", shop, "interactive", "address", "2001:DB8::7")).toContain("103 of 103");
  });

  test("a tier is offered beside them", async () => {
    Object.assign(given.shop ?? {}, { tiers: { paid: definePolicy({ name: "interactive", capacity: 50, refill: perSecond(1) }) } });
    const again = join(folder, `callers-${++files}.mjs`);
    writeFileSync(again, "export const { interactive, callers, tiers } = globalThis.shop;\n");
    expect(await said("peek", again, "interactive", "bob")).toContain("of another tier add --policy tiers.paid.\n");
  });

  test("another caller is offered none of them, and a mistake names them as a shell takes them", async () => {
    expect(await said("peek", shop, "interactive", "bob")).not.toContain("--policy");
    expect(JSON.parse(await said("peek", shop, "interactive", "bob", "--json"))).not.toHaveProperty("otherTiers");
    const { code, err } = await run("peek", shop, "interactive", "bob", "--policy", 'callers.["user","43"]');
    expect([code, err]).toEqual([2, expect.stringContaining(`got callers.["user","43"]. It exports 'callers.["user","42"]', `)]);
    expect((await run("peek", shop, "interactive", "bob", "--policy", "callers.[user,42]")).err).toContain(`It exports 'callers.["user","42"]', `);
  });

  test("of a thousand customers twelve are named, the nearest first", async () => {
    const limits = new LiveLimits({ interactive: numbers });
    for (let i = 0; i < 1_000; i++) limits.set(ownName("interactive", ["user", i]), numbers);
    Object.assign(given.shop ?? {}, { callers: limits.callers("interactive") });
    const again = join(folder, `callers-${++files}.mjs`);
    writeFileSync(again, "export const { interactive, callers } = globalThis.shop;\n");
    expect((await run("peek", again, "interactive", "bob", "--policy", 'callers.["usr","777"]')).err).toMatch(/It exports 'callers\.\["user","777"\]', .*, 988 more\n$/);
  });

  test("of two policies of one caller none is chosen", async () => {
    Object.assign(given.shop ?? {}, { more: { '["user","42"]': definePolicy({ name: "interactive", capacity: 7, refill: perSecond(1) }) } });
    const again = join(folder, `callers-${++files}.mjs`);
    writeFileSync(again, "export const { interactive, callers, more } = globalThis.shop;\n");
    expect(await said("peek", again, "interactive", "user", "42")).toMatch(/: 10 of 10 left[^]*--policy 'more\.\["user","42"\]'/);
    expect((await run("peek", again, "interactive", "user", "42", "--policy", '["user","42"]')).err).toContain(`the name of several. Write 'callers.["user","42"]' or 'more.["user","42"]'`);
  });
});

describe("a limiter over a store in memory", () => {
  test("is refused, because no service sees what is done", async () => {
    const { code, out, err } = await runAsUsual("block", limits, "interactive", "user", "42", "--for", "10min");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain("interactive counts in the memory of this process, so no service sees this. Export a limiter over a shared store.");
    expect(of.exports.interactive.peek(["user", 42]).allowed).toBe(true);
  });
});

describe("a store that fails", () => {
  let module: string;
  /** A store that other processes share. `fail` may throw before each call of a method. */
  function over(fail: (method: "peek" | "adjust" | "block") => void) {
    const memory = new MemoryStore();
    const store: Store = storeOf({
      sync: true,
      clock: memory.clock,
      consume: (...args) => callsOf(memory).consume(...args),
      peek: (...args) => (fail("peek"), callsOf(memory).peek(...args)),
      adjust: (...args) => (fail("adjust"), callsOf(memory).adjust(...args)),
      block: (...args) => (fail("block"), callsOf(memory).block(...args)),
    });
    const interactive = createLimiter({ policy: { name: "interactive", capacity: 30, refill: perSecond(5) }, store });
    given.failing = interactive;
    module = join(folder, `failing-${++files}.mjs`);
    writeFileSync(module, "export const interactive = globalThis.failing;\n");
  }
  test("after it was done: what was done is said, what is left is not known, and the exit code is 0", async () => {
    let calls = 0;
    const failLater = (method: string): void => {
      if (method === "peek" && ++calls > 1) throw new Error("connection lost");
    };
    over(failLater);
    expect(await runAsUsual("credit", module, "interactive", "ann", "--cost", "10")).toEqual({
      code: 0, err: "", out: 'Gave 10 tokens to "ann". Of these 0 came back: no more was spent. Nothing was spent under this key: right for a caller who has been quiet; check the spelling otherwise.\nWhat is left is unknown: the store did not answer.\n',
    });
    over(failLater);
    calls = 0;
    expect(JSON.parse((await runAsUsual("credit", module, "interactive", "ann", "--cost", "10", "--json")).out)).toMatchObject({ command: "credit", left: null });
  });

  test.each([
    ["ERR_STORE_TIMEOUT", "It may have been done. Look before you repeat it. "],
    ["ERR_STORE_OPEN", "It was not done. "],
  ] as const)("while it is done, with %s: it says whether it may have been done", async (code, said) => {
    over((method) => {
      if (method === "adjust") throw new StoreUnavailableError(code, "No answer");
    });
    const answer = await runAsUsual("debit", module, "interactive", "ann", "--cost", "10");
    expect(answer).toMatchObject({ code: 1, out: "" });
    expect(answer.err).toBe(`sluice: The store failed: No answer (${code}). ${said}Check that it runs, and that the module connects to it\n`);
  });
});

describe("a key", () => {
  test("of one part is written as JSON, as a log writes keys", async () => {
    of.exports.interactive.consume(["ann"], 10);
    of.exports.interactive.consume(["user", "42"], 20);
    expect(await said("peek", limits, "interactive", '["ann"]')).toMatch(/^\["ann"\], .*: 20 of 30 left/);
    expect(await said("peek", limits, "interactive", '["user",42]')).toMatch(/^\["user",42\], .*: 10 of 30 left/);
    for (const text of ["[x]", "[]", '[["ann"]]', "[1.5]"]) expect(await said("peek", limits, "interactive", text)).toContain(`${JSON.stringify(text)}, `);
  });
});

describe("an address", () => {
  test.each(["2001:db8:1:2:aaaa::1", " 2001:DB8:1:2::1 ", "[2001:db8:1:2::1]:443", "2001:db8:1:2::1%eth0", "2001:db8:1:2::/64"])("%s is the key of the gate", async (text) => {
    expect(await said("block", limits, "interactive", "address", text, "--for", "10min")).toMatch(/^Blocked \["address","2001:db8:1:2::\/64"\] for 10 min\./);
    expect(of.exports.interactive.consume(["address", "2001:db8:1:2::/64"]).allowed).toBe(false);
  });

  test.each([
    ["2001:db8:1::/48", [], 48, "64, the default,"], ["2001:db8:1:200::/56", [], 56, "64, the default,"], ["2001:db8:1:200::/56", ["--ipv6-prefix", "48"], 56, "48"],
    ["2001:db8:1:2::/64", ["--ipv6-prefix", "56"], 64, "56"],
  ] as const)("%s as a network of another length than the gate's is told, with %j", async (text, more, bits, own) => {
    const note = `A gate with the ipv6Prefix ${own} has no key of ${bits} bits, so this is no caller of it. If yours has ${bits}, add --ipv6-prefix ${bits}.`;
    for (const verb of [["block", "--for", "1h"], ["peek"], ["debit", "--cost", "1"]]) {
      expect(await said(verb[0] as string, limits, "interactive", "address", text, ...verb.slice(1), ...more)).toContain(`${note}\n`);
    }
    expect(JSON.parse(await said("peek", limits, "interactive", "address", text, "--json", ...more))).toMatchObject({ notes: [note] });
    expect(await said("peek", limits, "interactive", "address", text, "--ipv6-prefix", String(bits))).not.toContain("A gate with");
  });

  test.each(["192.0.2.7", "192.0.2.7/32", "2001:db8::1", "2001:db8:1:2::/64", "2001:db8::1/128"])("%s is no network of another length", async (text) => {
    expect(await said("peek", limits, "interactive", "address", text)).not.toContain("A gate with");
  });

  test("has the prefix of the gate, with --ipv6-prefix", async () => {
    expect(await said("peek", limits, "interactive", "address", "2001:db8:1:2ff::1", "--ipv6-prefix", "56")).toMatch(/^\["address","2001:db8:1:200::\/56"\]/);
    for (const wrong of ["31", "65", "x", "6.4"]) expect(await run("peek", limits, "interactive", "ann", "--ipv6-prefix", wrong)).toMatchObject({ code: 2, err: expect.stringContaining("--ipv6-prefix") });
  });

  test("is the first of a list, which is said", async () => {
    expect(await said("peek", limits, "interactive", "address", "192.0.2.7, 10.0.0.1")).toMatch(/^\["address","192\.0\.2\.7"\][^]*Took the first address of the list: 192\.0\.2\.7\.\n/);
    expect(JSON.parse(await said("peek", limits, "interactive", "address", "192.0.2.7, 10.0.0.1", "--json"))).toMatchObject({ notes: ["Took the first address of the list: 192.0.2.7."] });
  });

  test("stays as it is where both readings are one, and where it is none", async () => {
    for (const key of [["network", "192.0.2.7"], ["network", "2001:db8:1::/56"], ["192.0.2.7"], ["user", "1.2.3"], ["address", "home"], ["address"]]) {
      expect(await said("peek", limits, "interactive", ...key)).toContain(`${JSON.stringify(key.length === 1 ? key[0] : key)}, `);
    }
  });
});

describe("an address that may be two keys", () => {
  const V6 = "2001:db8:1:2:aaaa::1";
  const CHANGES = [["block", "--for", "1h"], ["debit", "--cost", "1"], ["credit", "--cost", "1"], ["reset"], ["peek"]] as const;

  test.each<[typed: string[], read: unknown]>([
    [["network", V6], ["network", "2001:db8:1:2::/64"]],
    [["tenant", "7", V6], ["tenant", "7", "2001:db8:1:2::/64"]],
    [["browser", V6, "x"], ["browser", "2001:db8:1:2::/64", "x"]],
    [["network", "::ffff:192.0.2.7"], ["network", "192.0.2.7"]],
    [["network", "192.0.2.7:443"], ["network", "192.0.2.7"]],
    [["network", "2001:DB8:1:2::/64"], ["network", "2001:db8:1:2::/64"]],
    [["network", "192.0.2.7, 10.0.0.1"], ["network", "192.0.2.7"]],
    [[`["network","${V6}"]`], ["network", "2001:db8:1:2::/64"]],
    [[V6], "2001:db8:1:2::/64"],
  ])("%j: no verb acts on either, and both are named", async (typed, read) => {
    const written = typed[0]?.startsWith("[") ? (JSON.parse(typed[0]) as string[]) : typed.length === 1 ? typed[0] : typed;
    for (const [verb, ...more] of CHANGES) {
      const { code, out, err } = await run(verb, limits, "interactive", ...typed, ...more);
      expect([code, out]).toEqual([2, ""]);
      expect(err).toContain(`Expected to know which caller is meant: ${JSON.stringify(written)} or ${JSON.stringify(read)}. Add --exactly for the first, or --ipv6-prefix 64`);
    }
    for (const key of [written, read]) expect(of.exports.interactive.peek(key as Key)).toMatchObject({ allowed: true, resetMs: 0 });
    expect(await said("block", limits, "interactive", ...typed, "--for", "1h", "--exactly")).toContain(`Blocked ${JSON.stringify(written)} for 1 h.`);
    expect(await said("block", limits, "interactive", ...typed, "--for", "1h", "--ipv6-prefix", "64")).toContain(`Blocked ${JSON.stringify(read)} for 1 h.`);
    for (const key of [written, read]) expect(of.exports.interactive.consume(key as Key)).toMatchObject({ blocked: true });
  });

  test("--ipv6-prefix holds for every address of a key", async () => {
    expect(await said("block", limits, "interactive", "network", V6, "--for", "1h", "--ipv6-prefix", "56")).toContain('Blocked ["network","2001:db8:1::/56"] for 1 h.');
    expect(await said("peek", limits, "interactive", "pair", V6, "2001:db8:2:3::1", "--ipv6-prefix", "48")).toContain('["pair","2001:db8:1::/48","2001:db8:2::/48"]');
    expect(await said("peek", limits, "interactive", "network", "192.0.2.7", "--ipv6-prefix", "56")).toContain('["network","192.0.2.7"]');
    expect(await said("peek", limits, "interactive", "network", "2001:db8:1::/48", "--ipv6-prefix", "56")).toContain("has no key of 48 bits");
  });

  test("a prefix without an address is refused, and so are both options", async () => {
    for (const key of [["user", "42"], ["ann"], ["address", "home"]]) {
      expect((await run("block", limits, "interactive", ...key, "--for", "1h", "--ipv6-prefix", "56")).err).toContain("Expected an address in the key for --ipv6-prefix, got ");
    }
    expect((await run("peek", limits, "interactive", "address", V6, "--ipv6-prefix", "56", "--exactly")).err).toContain("Expected one of --exactly and --ipv6-prefix, got both");
  });

  test("--exactly takes the key as it is typed, after the part address too", async () => {
    for (const text of [V6, "203.0.113.0/24", "home"]) expect(await said("peek", limits, "interactive", "address", text, "--exactly")).toMatch(new RegExp(`^\\["address",${JSON.stringify(text)}\\], [^\n]*\n[^\n]*\n[^\n]*\n$`));
  });

  test("an idle network of the default prefix names the other reason", async () => {
    expect(await said("block", limits, "interactive", "address", V6, "--for", "1h")).toContain("check the spelling, and the prefix of your gate (--ipv6-prefix) otherwise.");
    expect(await said("block", limits, "interactive", "address", "192.0.2.7", "--for", "1h")).toContain("check the spelling otherwise.");
  });

  test.each(["203.0.113.0/24", "203.0.113.0/255.255.255.0", "203.0.113.*", "203.0.113.0-203.0.113.255", "2001:db8::/20", "2001:db8:1:2:3::/80", "::ffff:203.0.113.0/120", '"203.0.113.0/24"', "203.0.113.0/24, 10.0.0.1"])(
    "the network %s is refused, with what works", async (text) => {
      for (const key of [["address", text], ["network", text], [text]]) {
        const { code, out, err } = await run("block", limits, "interactive", ...key, "--for", "1h");
        expect([code, out]).toEqual([2, ""]);
        expect(err).toBe(`sluice: Expected one caller, got the network ${text}. Refuse a network in your proxy or firewall. To limit its callers otherwise, let a \`policy\` or \`skip\` function of the gate look at the address. For a key with this very text add --exactly\n`);
      }
    },
  );

  test.each(["1.2.3", "a/24", "10/2", "v1.2.3-4", "1.2.3.4-beta", "::x/64"])("%s is no network", async (text) => {
    expect(await said("peek", limits, "interactive", "build", text)).toContain(`["build",${JSON.stringify(text)}], `);
  });
});

describe("a key that may be another", () => {
  test.each([["user 42"], ["user:42"], ['["user"'], ["[user, 42]"], ['{"user":42}'], ["{user: 42}"]])("%s is one text, and the tuple is shown", async (text) => {
    expect(await said("peek", limits, "interactive", text)).toContain(`${JSON.stringify(text)}, `);
    expect(await said("peek", limits, "interactive", text)).toContain('The key is one text. For the tuple ["user","42"] write its parts with blanks between: user 42.\n');
  });

  test.each([["peek"], ["reset"], ["credit", "--cost", "5"], ["block", "--for", "0"], ["block", "--for", "1h"], ["debit", "--cost", "5"]])("%s says that nothing was spent and no block was left", async (verb, ...more) => {
    const asks = /Nothing (?:is|was) spent under this key: right for a caller who has been quiet; check the spelling otherwise\./;
    const order = [limits, "interactive", "bob", ...more];
    expect(await said(verb, ...order)).toMatch(asks);
    of.exports.interactive.reset("bob");
    of.exports.interactive.block("bob", 60_000);
    expect(await said(verb, ...order)).not.toMatch(asks);
    of.exports.interactive.block("bob", 0);
    of.exports.interactive.consume("bob", 30);
    expect(await said(verb, ...order)).not.toMatch(asks);
  });
});

describe("a module that cannot be loaded", () => {
  test.each([
    ["throws", 'console.log("connecting"); throw new Error("no address\\nof Redis");', "odd-throws.mjs: no address"],
    ["getter", 'export const interactive = { get policy() { throw new Error("not yet"); } };', "odd-getter.mjs: not yet"],
    ["nothing", "export const interactive = null; throw null;", "odd-nothing.mjs: null"],
  ])("%s: in a sentence", async (name, text, message) => {
    const file = join(folder, `odd-${name}.mjs`);
    const before = process.stdout.write;
    writeFileSync(file, `${text}\n`);
    const { code, out, err } = await run("peek", file, "interactive", "ann");
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(/^sluice: Cannot load [^\n]+\n$/);
    expect(err).toContain(message);
    expect(process.stdout.write).toBe(before);
  });

  test("because it throws what is no error", async () => {
    const throws = join(folder, "throws.mjs");
    writeFileSync(throws, "throw undefined;\n");
    expect(await run("peek", throws, "interactive", "ann")).toMatchObject({ code: 2, err: `sluice: Cannot load ${throws}: undefined\n` });
  });
});

test("simulate is another package, which the answer names", async () => {
  expect(await run("simulate", "access.log", "--key", "address")).toEqual({ code: 2, out: "", err: "sluice: simulate is a package of its own now. Write npx sluice-simulate access.log ...\n" });
});

describe("a mistake says what to write, and changes nothing", () => {
  test.each<[args: string[], message: string]>([
    [["peak"], "Expected a command (peek, credit, debit, block, reset), got peak"],
    [["peek"], "Expected the module of your limiters, got nothing. Write npx sluice peek ./limits.mjs interactive user 42"],
    [["debit", "FILE"], "Expected the name of a limiter that FILE exports, got nothing. Write npx sluice debit ./limits.mjs interactive user 42 --cost 10"],
    [["block", "FILE", "interactive"], "Expected the key of a caller, got nothing. Write npx sluice block ./limits.mjs interactive user 42 --for 10min"],
    [["debit", "FILE", "interactive", "ann"], "Expected --cost, the tokens to debit, such as --cost 10 or --cost tokens=500, got nothing"],
    [["debit", "FILE", "interactive", "ann", "--cost", "-3"], "argument is ambiguous"],
    [["credit", "FILE", "interactive", "ann", "--cost", "1.5"], "Expected --cost to be a whole number, or tokens=500,requests=1, got 1.5"],
    [["debit", "FILE", "chat", "ann", "--cost", "tokens=5"], 'Unknown limit `tokens` in `cost`. The limits of policy "chat": requests, month, parallel'],
    [["debit", "FILE", "chat", "ann", "--cost", "5"], "Expected"],
    [["debit", "FILE", "chat", "ann", "--cost", "parallel=1"], "Expected"],
    [["block", "FILE", "interactive", "ann"], "Expected --for, such as --for 10min, or --for 0 to end a block, got nothing"],
    [["block", "FILE", "interactive", "ann", "--for", "soon"], 'Expected a time such as 10s, 500ms or 2min, got "soon"'],
    [["block", "FILE", "interactive", "ann", "--for", "99999d"], "Expected `forMs` to be at most"],
    [["peek", "FILE", "interactive", "ann", "--for", "1min"], "Expected no --for: it is for block, not for peek"],
    [["reset", "FILE", "interactive", "ann", "--cost", "1"], "Expected no --cost: reset needs none"],
    [["peek", "FILE", "interactve", "ann"], "to export a limiter `interactve`, got nothing. It exports chat, interactive"],
    [["peek", "FILE", "port", "ann"], "to export a limiter `port`, got something else. It exports chat, interactive"],
    [["peek", "FILE", "both", "ann"], "got a combination. Name one of its members. It exports chat, interactive"],
    [["peek", "FILE", "patient", "ann"], "got a waiter. Name the limiter that it waits for. It exports chat, interactive"],
    [["peek", "FILE", "interactive", "ann", "--policy", "silver"], "to name a policy that FILE exports, got silver. It exports tiers.gold"],
    [["peek", "FILE", "interactive", "user", ""], "Expected every part of `key` to be a non-empty string or an integer"],
    [["peek", "FILE", "interactive", "ann", "--costs", "1"], "Unknown option '--costs'"],
    [["peek", "gone.mjs", "interactive", "ann"], "Cannot load "],
  ])("%j", async (args, message) => {
    const { code, out, err } = await run(...args.map((each) => (each === "FILE" ? limits : each)));
    expect([code, out]).toEqual([2, ""]);
    expect(err).toContain(message.replaceAll("FILE", limits));
    expect(err.trimEnd().split("\n").length).toBeLessThanOrEqual(message === "argument is ambiguous" ? 4 : 1);
    for (const limiter of [of.exports.interactive, of.exports.chat]) expect(limiter.peek("ann", 0)).toMatchObject({ resetMs: 0, allowed: true });
  });

  test("a module without limiters says how to write one", async () => {
    const empty = join(folder, "empty.mjs");
    writeFileSync(empty, "export const port = 3000;\n");
    expect((await run("peek", empty, "user", "ann")).err).toContain("It exports none: write `export const user = createLimiter({ ... })`");
  });

  test("--help shows all five", async () => {
    for (const verb of ["peek", "credit", "debit", "block", "reset"]) expect(await said(verb, "--help")).toContain(`npx sluice ${verb} `);
    expect(await said("--help")).toContain("what a caller has left");
  });
});
