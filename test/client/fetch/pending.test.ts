import { expect, test } from "vitest";
import { createFetch, type ClientFetch } from "sluice/client";
import { SluiceError } from "sluice";
import { limited, talk, URL_A } from "../fake-server.js";

const tooMany = (most: number) => ({
  name: "SluiceError", code: "ERR_TOO_MANY_CALLS", message: `Expected at most ${most} pending calls, got one more. Await some, or raise \`maxPending\``,
});

/** A client whose server answers when told to. */
function held(maxPending?: number) {
  const answers: Array<(response: Response) => void> = [];
  const fetch: ClientFetch = createFetch({ fetch: () => new Promise((answer) => answers.push(answer)), maxPending });
  return { answers, fetch };
}

test("a call beyond `maxPending` rejects at once and is not sent, until another has ended", async () => {
  const { answers, fetch } = held(3);
  const calls = [1, 2, 3].map((i) => fetch(`${URL_A}/${i}`));
  const refused: unknown = await fetch(`${URL_A}/4`).catch((error: unknown) => error);
  expect(refused).toMatchObject(tooMany(3));
  expect(refused).toBeInstanceOf(SluiceError);
  await expect(fetch(URL_A, { method: "POST" })).rejects.toMatchObject(tooMany(3));
  expect(answers).toHaveLength(3);
  answers[1]?.(new Response("ok"));
  await calls[1];
  void fetch(`${URL_A}/4`);
  await Promise.resolve();
  expect(answers).toHaveLength(4);
});

test("merged calls, calls that wait for a retry and calls that fail count until they end", async () => {
  const { fetch, time } = talk([limited(), limited(), new Error("network")], { maxPending: 2 });
  const [first, merged] = [fetch(URL_A), fetch(URL_A)];
  await time.advance(500);
  await expect(fetch(URL_A)).rejects.toMatchObject(tooMany(2));
  await expect(time.run(Promise.all([first, merged]))).rejects.toThrow("network");
  await Promise.allSettled([first, merged]);
  await expect(fetch("http://[", {})).rejects.toThrow(TypeError);
  const signal = AbortSignal.abort();
  await expect(fetch(URL_A, { signal })).rejects.toBe(signal.reason);
  expect((await Promise.all([fetch(URL_A), fetch(`${URL_A}/2`)])).map(({ status }) => status)).toEqual([200, 200]);
});

test("by default 10,000 calls may be pending", async () => {
  const { fetch } = held();
  for (let i = 0; i < 10_000; i++) void fetch(`${URL_A}/${i}`);
  await expect(fetch(URL_A)).rejects.toMatchObject(tooMany(10_000));
});
