// The gateway of examples/llm over real sockets, with a clock that stands still unless a test moves it.
import { request } from "node:http";
import { createLimiter, MemoryStore, type AsyncStore, type Reading } from "sluice";
import { guard } from "sluice/store";
import { ManualClock } from "sluice/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { costOf, createBudget, keysOf, minute, month, policyOf, type ModelLimits } from "../../examples/llm/budgets.js";
import { soon, until } from "../helpers/soon.js";
import { mostAhead } from "./llm-windows.js";
import { openWorld, type Question } from "./llm-world.js";
import { expectWarnings } from "../setup/warnings.js";
import { callsOf, type StoreCalls } from "../../src/testing/store-calls.js";
import { storeOf } from "../helpers/store-of.js";
import { spyOnVerb } from "../helpers/spy-on-verb.js";

const models: Readonly<Record<string, ModelLimits>> = {
  small: { user: { ...minute(60, 30_000), ...month(1_000_000, 4) }, team: minute(100, 50_000) },
  large: { user: { ...minute(2, 1_000), ...month(1_000_000, 4) }, team: minute(3, 1_500) },
  few: { user: { ...minute(60, 30_000), ...month(2_000, 2) }, team: minute(100, 50_000) },
};

let clock: ManualClock;
let store: MemoryStore;
let world: Awaited<ReturnType<typeof openWorld>>;
/** What the language model was asked last. */
let asked: object;
/** Holds the language model back before each token while it is not null. */
let hold: Promise<void> | null;

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] }); // so that nothing is renewed while the store's clock stands still
  clock = new ManualClock();
  store = new MemoryStore({ clock: clock.now });
  hold = null;
  world = await openWorld({ store, models }, { pace: async (chat) => ((asked = chat), await new Promise(setImmediate), await hold) });
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  world.close();
});

/** What is left of each limit of the user and of the team. */
function readings(as: string, model: string): readonly Reading[] {
  const [team = "", user = ""] = as.split("/");
  const keys = keysOf({ user, team });
  return (["user", "team"] as const).flatMap((whose) => {
    const policy = policyOf(`${whose}-${model}`, (models[model] as ModelLimits)[whose]);
    return createLimiter({ store, policy }).peek(keys[whose], 0).limits ?? [];
  });
}

/** What is left of [the user's requests, tokens, the team's requests, tokens]. */
function left(as: string, model = "small"): number[] {
  return readings(as, model).filter(({ limit }) => limit === "requests" || limit === "tokens").map(({ remaining }) => remaining);
}

/** What is left of [the user's month, the user's parallel answers]. */
function rest(as: string, model = "small"): number[] {
  return readings(as, model).filter(({ limit }) => limit === "month" || limit === "parallel").map(({ remaining }) => remaining);
}

/** Asks and reads the whole answer. */
async function whole(question: Partial<Question>): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
  const answer = await refusal(question);
  await closed();
  return answer;
}

/** Asks while other answers are under way. */
async function refusal(question: Partial<Question>): Promise<{ readonly status: number; readonly headers: Headers; readonly text: string }> {
  const response = await world.ask({ as: "red/ann", prompt: "write 20", ...question });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Until all answers have ended, so that their costs are settled. */
async function closed(): Promise<void> {
  await until(() => world.open() === 0);
}

/** Asks, and reads `events` server-sent events. What comes after them can be read or cancelled. */
async function begin(question: Partial<Question>, events: number): Promise<ReadableStreamDefaultReader<Uint8Array>> {
  const response = await world.ask({ as: "red/ann", prompt: "write 20", ...question });
  expect(response.status).toBe(200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  for (let text = ""; text.split("\n\n").length <= events; ) text += new TextDecoder().decode((await reader.read()).value);
  return reader;
}

describe("an answer", () => {
  test("streams through, and costs one request and the tokens that were used", async () => {
    const { status, headers, text } = await whole({ maxTokens: 500 });
    expect([status, headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(text.match(/"content"/g)).toHaveLength(20);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
    expect(world.served).toMatchObject([{ user: "red/ann", model: "small", promptTokens: 2, completionTokens: 20, outcome: "complete" }]);
    expect(world.bills.map(({ used, outcome, estimate }) => [used, outcome, estimate])).toEqual([[null, "running", 502], [22, "complete", 502]]);
    expect(left("red/ann")).toEqual([59, 29_978, 99, 49_978]);
  });

  test("is asked for with all that the client wrote, and with what the gateway needs", async () => {
    const tools = [{ type: "function", function: { name: "look_up", parameters: { type: "object" } } }];
    await whole({ prompt: "write 3", more: { temperature: 0.2, stop: ["."], tools, n: 1, user: "someone else" } });
    expect(asked).toMatchObject({ temperature: 0.2, stop: ["."], tools, max_tokens: 100, stream: true, user: "red/ann", stream_options: { include_usage: true } });
    // The guess at the prompt counts the tools too.
    expect(world.bills[0]?.estimate).toBe(100 + Math.ceil(("write 3".length + JSON.stringify(tools).length) / 4));
  });

  test("comes whole for a client that wants no stream", async () => {
    const { text } = await whole({ stream: false, prompt: "write 3" });
    expect(JSON.parse(text)).toMatchObject({ choices: [{ message: { content: "runs through the " } }], usage: { total_tokens: 5 } });
    expect(left("red/ann")).toEqual([59, 29_995, 99, 49_995]);
  });

  test("takes the most that it can be while it is written, and its header fields tell all limits", async () => {
    let go = (): void => undefined;
    hold = new Promise((resolve) => (go = resolve));
    const response = await world.ask({ as: "red/ann", prompt: "write 20", maxTokens: 500 });
    expect(left("red/ann")).toEqual([59, 29_498, 99, 49_498]);
    expect(response.headers.get("ratelimit-policy")).toBe(
      '"team-small:requests";q=100;w=60, "user-small:requests";q=60;w=60, "user-small:parallel";q=4;qu="concurrent-requests"',
    );
    expect(response.headers.get("ratelimit")).toBe(
      '"team-small:requests";r=99;t=60, "team-small:tokens";r=49498;t=60, "user-small:requests";r=59;t=59, "user-small:tokens";r=29498;t=59, ' +
        '"user-small:month";r=999498;t=2678400, "user-small:parallel";r=3',
    );
    // The tokens bind: they are enough for 58 more such requests.
    expect(["limit", "remaining"].map((name) => response.headers.get(`ratelimit-${name}`))).toEqual(["30000", "29498"]);
    expect(response.headers.get("request-id")).toBe(world.bills[0]?.id);
    go();
    await response.text();
    await closed();
    expect(left("red/ann")).toEqual([59, 29_978, 99, 49_978]);
  });
});

describe("a month and answers in parallel", () => {
  test("an answer holds a place until it has ended, and its month pays for what it used", async () => {
    let go = (): void => undefined;
    hold = new Promise((resolve) => (go = resolve));
    const reader = await begin({ maxTokens: 500 }, 0);
    expect(rest("red/ann")).toEqual([999_498, 3]);
    go();
    while (!(await reader.read()).done);
    await closed();
    expect(rest("red/ann")).toEqual([999_978, 4]);
  });

  test("the third of two answers in parallel takes nothing, and is told when to ask again", async () => {
    let go = (): void => undefined;
    hold = new Promise((resolve) => (go = resolve));
    const readers = [await begin({ model: "few", maxTokens: 100 }, 0), await begin({ model: "few", maxTokens: 100 }, 0)];
    const { status, headers, text } = await refusal({ model: "few", maxTokens: 100 });
    expect([status, headers.get("retry-after"), (JSON.parse(text) as Record<string, unknown>)["violated-policies"]]).toEqual([429, "1", ["user-few:parallel"]]);
    expect(headers.get("ratelimit-policy")).toContain('"user-few:parallel";q=2;qu="concurrent-requests"');
    expect([left("red/ann", "few"), rest("red/ann", "few")]).toEqual([[58, 29_796, 98, 49_796], [1_796, 0]]);
    go();
    for (const reader of readers) while (!(await reader.read()).done);
    await closed();
    expect(rest("red/ann", "few")).toEqual([1_956, 2]);
    expect((await whole({ model: "few", maxTokens: 100 })).status).toBe(200);
  });

  test("a month that is used up refuses until the next one begins", async () => {
    await whole({ model: "few", prompt: "write 1500", maxTokens: 1_500 });
    const { status, headers, text } = await whole({ model: "few", maxTokens: 600 });
    const { "violated-policies": violated, retry_after: wait } = JSON.parse(text) as { "violated-policies": string[]; retry_after: number };
    expect([status, violated, rest("red/ann", "few")]).toEqual([429, ["user-few:month"], [498, 2]]);
    expect(headers.get("retry-after")).toBe(String(wait));
    clock.advance(wait * 1_000);
    expect((await whole({ model: "few", maxTokens: 600 })).status).toBe(200);
  });

  test("an answer whose client leaves, or that breaks off, or that never begins gives its place back", async () => {
    const reader = await begin({ prompt: "write 500", maxTokens: 500 }, 10);
    expect(rest("red/ann")[1]).toBe(3);
    await reader.cancel();
    await whole({ prompt: "write 50, break after 12", maxTokens: 500, stream: false });
    await whole({ prompt: "fail", maxTokens: 500 });
    await closed();
    await soon(() => expect(rest("red/ann")[1]).toBe(4));
  });
});

describe("a refusal", () => {
  test("for tokens has the whole contract, takes no request, and its wait is exact", async () => {
    await whole({ model: "large", prompt: "write 600", maxTokens: 600 });
    const { status, headers, text } = await whole({ model: "large", maxTokens: 600 });
    // 398 are left of 1000, and 602 wanted: 204 more, of 1000 a minute.
    expect([status, headers.get("retry-after"), headers.get("ratelimit-reset"), headers.get("ratelimit"), headers.get("cache-control")]).toEqual([
      429, "13", "13", '"team-large:requests";r=2, "team-large:tokens";r=898, "user-large:tokens";r=398;t=13', "no-store",
    ]);
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(JSON.parse(text)).toMatchObject({ status: 429, code: "rate_limited", retry_after: 13, "violated-policies": ["user-large:tokens"] });
    expect(left("red/ann", "large")).toEqual([1, 398, 2, 898]);
    clock.advance(12_239);
    expect((await whole({ model: "large", maxTokens: 600 })).status).toBe(429);
    clock.advance(1);
    expect((await whole({ model: "large", maxTokens: 600 })).status).toBe(200);
  });

  test("for requests leaves the tokens alone, and its wait is exact", async () => {
    for (let i = 0; i < 2; i++) await whole({ model: "large", maxTokens: 30 });
    const { status, headers, text } = await whole({ model: "large", maxTokens: 30 });
    expect([status, headers.get("retry-after"), headers.get("ratelimit-limit")]).toEqual([429, "30", "2"]);
    expect(JSON.parse(text)).toMatchObject({ "violated-policies": ["user-large:requests"] });
    expect(left("red/ann", "large")).toEqual([0, 956, 1, 1_456]);
    clock.advance(29_999);
    expect((await whole({ model: "large", maxTokens: 30 })).status).toBe(429);
    clock.advance(1);
    expect((await whole({ model: "large", maxTokens: 30 })).status).toBe(200);
  });

  test("of the team takes nothing from the user, and the other way round", async () => {
    await whole({ as: "red/bob", model: "large", prompt: "write 950", maxTokens: 950 });
    const { status, text } = await whole({ model: "large", maxTokens: 600 });
    expect([status, (JSON.parse(text) as Record<string, unknown>)["violated-policies"]]).toEqual([429, ["team-large:tokens"]]);
    expect(left("red/ann", "large")).toEqual([2, 1_000, 2, 548]);
    // Another team, and another model, have budgets of their own.
    expect((await whole({ as: "blue/ann", model: "large", maxTokens: 600 })).status).toBe(200);
    expect((await whole({ model: "small", maxTokens: 600 })).status).toBe(200);
  });

  test("that no wait helps is a 400 without Retry-After", async () => {
    const { status, headers, text } = await whole({ model: "large", maxTokens: 999 });
    expect([status, headers.get("retry-after"), (JSON.parse(text) as { code: string }).code]).toEqual([400, null, "cost_above_capacity"]);
    expect(left("red/ann", "large")).toEqual([2, 1_000, 3, 1_500]);
  });

  test("comes before a budget for strangers, unknown models and bodies that are no request", async () => {
    expect((await whole({ as: "stranger" })).status).toBe(401);
    expect((await whole({ model: "huge" })).status).toBe(404);
    expect((await whole({ maxTokens: 0 })).status).toBe(400);
    expect((await whole({ maxTokens: 1.5 })).status).toBe(400);
    const { status, text } = await whole({ maxTokens: Number.MAX_SAFE_INTEGER });
    expect([status, (JSON.parse(text) as { message: string }).message]).toEqual([400, "Expected `max_tokens` to be a whole number from 1 to 1000000"]);
    expect(world.bills).toEqual([]);
  });

  test.each<[what: string, question: Partial<Question>, message: string]>([
    ["several answers", { more: { n: 2 } }, "Expected `n` to be 1, got 2. Each answer costs tokens of its own"],
    ["another name of max_tokens", { more: { max_completion_tokens: 9_000 } }, "Expected `max_tokens`, got `max_completion_tokens`"],
    ["tools without a stream", { stream: false, more: { tools: [] } }, "Expected `stream` to be true beside `tools`"],
    ["content that is a list of parts", { more: { messages: [{ role: "user", content: [{ type: "text", text: "hello" }] }] } }, "Expected `messages` to be a list of { role, content }, each content a text"],
  ])("of %s is a 400 with the cure", async (_, question, message) => {
    const { status, text } = await whole(question);
    expect([status, (JSON.parse(text) as { message: string }).message]).toEqual([400, message]);
    expect(world.bills).toEqual([]);
  });
});

describe("an answer that does not end as it should", () => {
  test("whose client goes away costs the prompt and the tokens that were written, and the language model stops", async () => {
    let go = (): void => undefined;
    const reader = await begin({ prompt: "write 500, and I stop early", maxTokens: 500 }, 10);
    hold = new Promise((resolve) => (go = resolve));
    await reader.cancel();
    await until(() => world.bills.length === 2);
    go();
    await until(() => world.served[0]?.outcome === "aborted");
    await closed();
    const [{ completionTokens } = { completionTokens: 0 }] = world.served;
    const { used, outcome } = world.bills[1] as { used: number; outcome: string };
    expect(outcome).toBe("aborted");
    // The guess at the prompt is 7. Tokens that the model wrote while the word of the abort was on its way are not seen.
    expect(used).toBeGreaterThanOrEqual(7 + 10);
    expect(used).toBeLessThanOrEqual(7 + completionTokens);
    expect(left("red/ann")).toEqual([59, 30_000 - used, 99, 50_000 - used]);
  });

  test("whose client goes away while its tokens are taken costs nothing, and the language model is not asked", async () => {
    let go = (): void => undefined;
    const held = new Promise<void>((resolve) => (go = resolve));
    const consume = vi.fn(async (...asked: Parameters<StoreCalls<true>["consume"]>) => (await held, callsOf(store).consume(...asked)));
    const slow: AsyncStore = storeOf({ sync: false, kinds: store.kinds, guard: guard({ timeoutMs: 60_000 }), clock: clock.now, consume, adjust: async (policy, key, changes) => callsOf(store).adjust(policy, key, changes), renew: async (...renewal) => callsOf(store).renew(...renewal) });
    const other = await openWorld({ store: slow, models });
    try {
      const client = request(`${other.url}/v1/chat/completions`, { method: "POST", headers: { authorization: "Bearer red/ann" }, agent: false });
      client.on("error", () => {}); // its socket is destroyed
      client.end(JSON.stringify({ model: "small", messages: [{ role: "user", content: "write 500" }], max_tokens: 500, stream: true }));
      await until(() => consume.mock.calls.length > 0);
      client.destroy();
      await until(async () => (await other.connections()) === 0);
      go();
      await soon(() => expect([left("red/ann"), rest("red/ann")]).toEqual([[60, 30_000, 100, 50_000], [1_000_000, 4]]));
      expect([other.bills, other.served]).toEqual([[], []]);
    } finally {
      other.close();
    }
  });

  test("because the language model breaks off costs what was written, as a stream and whole", async () => {
    await expect(whole({ prompt: "write 50, break after 12", maxTokens: 500 })).rejects.toThrow();
    await until(() => world.bills.length === 2);
    await closed();
    expect(world.bills[1]).toMatchObject({ used: 18, outcome: "broken" });
    expect((await whole({ prompt: "write 50, break after 12", maxTokens: 500, stream: false })).status).toBe(502);
    expect(left("red/ann")).toEqual([58, 30_000 - 2 * 18, 98, 50_000 - 2 * 18]);
  });

  test("because the language model refuses, or is not there, costs nothing", async () => {
    expect((await whole({ prompt: "fail", maxTokens: 500 })).status).toBe(502);
    expect(left("red/ann")).toEqual([60, 30_000, 100, 50_000]);
    world.closeModel();
    expect((await whole({ maxTokens: 500 })).status).toBe(502);
    expect(left("red/ann")).toEqual([60, 30_000, 100, 50_000]);
    expect(world.bills.map(({ outcome }) => outcome)).toEqual(["running", "cancelled", "running", "cancelled"]);
  });

  test("because the language model writes more than it was asked for leaves a debt of at most one capacity, which later requests wait for", async () => {
    await whole({ model: "large", prompt: "write 1500, ignore the limit", maxTokens: 100 });
    // Estimated 107 and used 1504: 1000 more than the estimate is taken from the user, and 1397 from the team, which holds 1500.
    const { status, headers } = await whole({ model: "large", maxTokens: 100 });
    expect([status, headers.get("retry-after")]).toEqual([429, "13"]); // 107 owed and 102 wanted: 209 of 1000 a minute
    clock.advance(12_540);
    expect((await whole({ model: "large", maxTokens: 100 })).status).toBe(200);
  });

  test("when the settlement fails is complete for its client, and the estimate stays taken", async () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const adjust = spyOnVerb(store, "adjust").mockImplementation(() => {
      throw new Error("Redis is unavailable");
    });
    expect((await whole({ maxTokens: 500 })).text).toContain("[DONE]");
    expect(adjust).toHaveBeenCalled();
    adjust.mockRestore();
    expect(left("red/ann")).toEqual([59, 29_498, 99, 49_498]);
  });
});

describe("tokens over time", () => {
  test("L1 · an estimate that has refilled is not given back: of 30,000 tokens, 30,000 are used in one instant and not 59,000", async () => {
    let go = (): void => undefined;
    hold = new Promise((resolve) => (go = resolve));
    const slow = world.ask({ as: "red/ann", prompt: "write 1000", maxTokens: 29_997 });
    await until(() => world.bills.length === 1);
    expect(left("red/ann")[1]).toBe(0);
    clock.advance(60_000);
    // The minute has brought all of them back, and the next answer takes them.
    const second = world.ask({ as: "red/ann", prompt: "write 1000", maxTokens: 29_997 });
    await until(() => world.bills.length === 2);
    go();
    await Promise.all([slow, second].map(async (answer) => (await answer).text()));
    await closed();
    // Of the first answer's estimate nothing comes back, and of the second one's all that it did not use.
    expect(left("red/ann")[1]).toBe(30_000 - 1_002);
    expect((await whole({ prompt: "write 9000", maxTokens: 28_995 })).status).toBe(200);
    const granted = world.bills.filter(({ used }) => used !== null).map(({ at, used }) => [at, used as number] as const);
    expect(mostAhead(granted, minute(60, 30_000).tokens)).toBe(1_002 + 9_002);
  });

  test("L1 · the same with the limiter alone: the late settlement gives nothing back, to the token", async () => {
    expectWarnings("SLUICE_NOT_SETTLED"); // its place in flight comes back by itself
    const budget = createBudget("small", models["small"] as ModelLimits, store);
    const ann = keysOf({ user: "ann", team: "red" });
    const first = await budget.consume(ann, { cost: costOf(30_000) });
    clock.advance(60_000);
    const second = await budget.consume(ann, { cost: costOf(30_000) });
    expect([first.allowed, second.allowed]).toEqual([true, true]);
    await budget.settle(ann, first, { cost: costOf(1_000) });
    expect(left("red/ann")[1]).toBe(0);
    expect(await budget.settle(ann, second, { cost: costOf(30_000) })).toBe(true);
    expect(await budget.consume(ann, { cost: costOf(1) })).toMatchObject({ allowed: false, retryAfterMs: 2 });
  });

  test("an estimate that is never settled refills like any other tokens, and a settlement after that gives nothing back", async () => {
    expectWarnings("SLUICE_NOT_SETTLED"); // its place in flight comes back by itself
    const budget = createBudget("small", models["small"] as ModelLimits, store);
    const ann = keysOf({ user: "ann", team: "red" });
    const abandoned = await budget.consume(ann, { cost: costOf(30_000) });
    clock.advance(59_999);
    expect(left("red/ann")).toEqual([60, 29_999, 100, 50_000]);
    clock.advance(1);
    expect(left("red/ann")).toEqual([60, 30_000, 100, 50_000]);
    clock.advance(60_000);
    await budget.consume(ann, { cost: costOf(20_000) });
    await budget.settle(ann, abandoned, { cost: costOf(0) });
    expect(left("red/ann")[1]).toBe(10_000);
  });
});
