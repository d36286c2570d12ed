import { MemoryStore } from "sluice";
import { ManualClock } from "sluice/testing";
import { expect, test } from "vitest";
import { chat, type Model } from "../../examples/settle/chat.js";

const PROMPT = "tell me a story"; // four words

/** A model that writes so many words, whatever it is asked. */
const writing = (words: number): Model =>
  async function* () {
    for (let i = 0; i < words; i++) yield "word";
  };

function serviceOf(model: Model) {
  const clock = new ManualClock();
  const service = chat((...asked) => model(...asked), { userOf: () => "ann", store: new MemoryStore({ clock: clock.now }) });
  const ask = (maxTokens: number, stream = true): Promise<Response> =>
    service(new Request("http://127.0.0.1/", { method: "POST", body: JSON.stringify({ prompt: PROMPT, maxTokens, stream }) }));
  /** How many tokens are left, found out by asking for one more than that. */
  const left = async (): Promise<number> => {
    for (let tokens = 1_000; tokens > 4; tokens--) {
      const response = await ask(tokens - 4);
      if (response.status !== 200) continue;
      await response.body?.cancel();
      return tokens;
    }
    return 0;
  };
  return { clock, ask, left };
}

test("an answer costs what was written, and not what was asked for", async () => {
  const { ask, left } = serviceOf(writing(40));
  expect((await (await ask(900)).text()).split(" ")).toHaveLength(41);
  expect(await left()).toBe(1_000 - 4 - 40);
});

test("a whole answer costs what was written too, and is refused like a stream", async () => {
  const { ask, left } = serviceOf(writing(40));
  expect((await (await ask(900, false)).text()).split(" ")).toHaveLength(40);
  expect(await left()).toBe(1_000 - 4 - 40);
  expect((await ask(1_000, false)).status).toBe(400);
  const refused = await ask(990, false);
  expect([refused.status, refused.headers.get("Retry-After")]).toEqual([429, "1"]);
});

test("a whole answer that breaks off keeps the largest cost", async () => {
  let model: Model = async function* () {
    yield "once";
    throw new Error("out of memory");
  };
  const { ask, left } = serviceOf((...asked) => model(...asked));
  expect((await ask(600, false)).status).toBe(502);
  model = writing(0);
  expect(await left()).toBe(1_000 - 604);
});

test("while it is being written the most that it can be is taken, and others wait", async () => {
  const { clock, ask } = serviceOf(writing(40));
  const first = await ask(500);
  const second = await ask(500);
  expect([second.status, second.headers.get("Retry-After")]).toEqual([429, "1"]);
  await first.text();
  expect((await ask(500)).status).toBe(200);
  expect((await ask(1_000)).status).toBe(400);
  clock.advance(60_000);
  expect((await ask(996)).status).toBe(200);
});

test("whoever stops reading pays for what was written by then", async () => {
  const { ask, left } = serviceOf(writing(40));
  const reader = (await ask(900)).body?.getReader();
  for (let i = 0; i < 10; i++) await reader?.read();
  await new Promise((resolve) => setImmediate(resolve)); // the stream reads one word ahead
  await reader?.cancel();
  expect(await left()).toBe(1_000 - 4 - 11);
});

test("a model that writes more than it was told to leaves a debt, which the next call waits for", async () => {
  const { clock, ask } = serviceOf(writing(1_200));
  await (await ask(100)).text();
  const next = await ask(1);
  // The model used 1,100 tokens beyond the estimate of 104, and one capacity, 1,000, is charged. So 104 tokens are owed and 5
  // are wanted, at 100 a second.
  expect([next.status, next.headers.get("Retry-After")]).toEqual([429, "2"]);
  clock.advance(1_089);
  expect((await ask(1)).status).toBe(429);
  clock.advance(1);
  expect((await ask(1)).status).toBe(200);
});

test("a model that is not there costs nothing, and one that breaks off what it wrote", async () => {
  let model: Model = () => {
    throw new Error("no such model");
  };
  const { ask, left } = serviceOf((...asked) => model(...asked));
  expect((await ask(900)).status).toBe(502);
  model = async function* () {
    yield "once";
    yield "upon";
    throw new Error("out of memory");
  };
  await expect((await ask(900)).text()).rejects.toThrow("out of memory");
  model = writing(0);
  expect(await left()).toBe(1_000 - 4 - 2);
});
