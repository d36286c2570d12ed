/** `onWait`: every wait is told as it begins, to the call's own function or the client's. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { WaitInfo } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";
import { givenUp, limited, talk, URL_A } from "../fake-server.js";
import { FakeTime } from "../fake-time.js";

const list = (): { told: WaitInfo[]; onWait: (wait: WaitInfo) => void } => {
  const told: WaitInfo[] = [];
  return { told, onWait: (wait) => void told.push(wait) };
};

test("each wait before a retry is told, with its reason, its end and its jitter", async () => {
  const { told, onWait } = list();
  const down = new Response("down", { status: 503, headers: { "Retry-After": "2" } });
  const { fetch, time } = talk([limited(), down, new TypeError("fetch failed")], { onWait, maxAttempts: 4 }, new FakeTime({ random: () => 0.5 }));
  const start = time.wallNow();
  await time.run(fetch(`${URL_A}?page=1`));
  const same = { method: "GET", url: `${URL_A}?page=1` };
  expect(told).toEqual([
    { ...same, reason: "limited", status: 429, attempts: 1, waitMs: 1_050, retryAt: new Date(start + 1_050) },
    { ...same, reason: "unavailable", status: 503, attempts: 2, waitMs: 2_100, retryAt: new Date(start + 3_150) },
    { ...same, reason: "network_error", status: null, attempts: 3, waitMs: 2_050, retryAt: new Date(start + 5_200) },
  ]);
  expect(time.sleeps).toEqual([1_050, 2_100, 2_050]);
});

test("a call that is given up waits for nothing, and tells nothing", async () => {
  const { told, onWait } = list();
  await givenUp(talk([limited({ "Retry-After": "600" })], { onWait }).fetch(URL_A));
  expect(told).toEqual([]);
});

test("a call's own function takes the place of the client's", async () => {
  const [client, own] = [list(), list()];
  const { fetch, time, sent } = talk([limited()], { onWait: client.onWait });
  await time.run(fetch(URL_A, { onWait: own.onWait }));
  expect([client.told.length, own.told.length]).toEqual([0, 1]);
  expect(sent[0]?.init).not.toHaveProperty("onWait");
});

describe("merged calls", () => {
  test("are told each, and one that joins during a wait is told what is left of it", async () => {
    const [a, b, late] = [list(), list(), list()];
    const { fetch, time, sent } = talk([limited({ "Retry-After": "10" })]);
    const calls = [fetch(URL_A, { onWait: a.onWait }), fetch(URL_A, { onWait: b.onWait })];
    await time.advance(4_000);
    calls.push(fetch(URL_A, { onWait: late.onWait }));
    await time.run(Promise.all(calls));
    expect(sent).toHaveLength(2);
    expect([a, b, late].map(({ told }) => told.map(({ waitMs }) => waitMs))).toEqual([[10_000], [10_000], [6_000]]);
    expect(late.told[0]?.retryAt).toEqual(a.told[0]?.retryAt);
  });

  test("that join after a wait are not told of it", async () => {
    const late = list();
    let answer: (response: Response) => void = () => undefined;
    const { fetch, time } = talk([limited(), () => new Promise<Response>((resolve) => (answer = resolve))]);
    const first = fetch(URL_A);
    await time.advance(5_000);
    const second = fetch(URL_A, { onWait: late.onWait });
    answer(new Response());
    await Promise.all([first, second]);
    expect(late.told).toEqual([]);
  });

  test.each(["the first", "a later one"])("an abort inside `onWait` counts at once, in %s", async (which) => {
    const stop = new AbortController();
    const reason = new Error("left");
    const { fetch, time } = talk([limited()]);
    const aborting = { signal: stop.signal, onWait: () => stop.abort(reason) };
    const outcomes: Promise<unknown>[] = [];
    const ask = (init: object): void => void outcomes.push(fetch(URL_A, init).then(({ status }) => status, (error: unknown) => error));
    ask(which === "the first" ? aborting : {});
    await time.advance(500);
    ask(which === "the first" ? {} : aborting);
    await time.advance(0);
    // It does not wait until the others are sent again.
    expect(await outcomes[which === "the first" ? 0 : 1]).toBe(reason);
    expect(await time.run(Promise.all(outcomes))).toEqual(which === "the first" ? [reason, 200] : [200, reason]);
  });

  test("that have aborted are told no more", async () => {
    const [left, stays] = [list(), list()];
    const leaving = new AbortController();
    const { fetch, time } = talk([limited(), limited()]);
    const gone = fetch(URL_A, { onWait: left.onWait, signal: leaving.signal });
    const here = fetch(URL_A, { onWait: stays.onWait });
    await time.advance(500);
    leaving.abort();
    await expect(gone).rejects.toBe(leaving.signal.reason);
    await time.run(here);
    expect([left.told.length, stays.told.length]).toEqual([1, 2]);
  });
});

describe("a traffic", () => {
  const queue = (): { traffic: ReturnType<typeof createTraffic>; merge: false } => ({ traffic: createTraffic(), merge: false });

  test("tells a queued call of its wait at once", async () => {
    const { told, onWait } = list();
    const { fetch, time } = talk([limited({ "Retry-After": "12" })], queue());
    const first = fetch(URL_A);
    await time.advance(2_000);
    const start = time.wallNow();
    const second = fetch(URL_A, { onWait });
    await time.advance(0);
    expect(told).toEqual([{ method: "GET", url: URL_A, reason: "queued", status: null, attempts: 0, waitMs: 10_000, retryAt: new Date(start + 10_000) }]);
    await time.run(Promise.all([first, second]));
    expect(told.length).toBeGreaterThan(0);
  });

  test("tells again when the wait becomes longer", async () => {
    const { told, onWait } = list();
    const { fetch, time } = talk([limited({ "Retry-After": "5" }), limited({ "Retry-After": "20" })], queue());
    const first = fetch(URL_A);
    await time.advance(1_000);
    const second = fetch(URL_A, { onWait });
    await time.run(Promise.all([first, second]));
    const ends = told.map(({ retryAt }) => retryAt.getTime() - (time.wallNow() - time.now()));
    expect(ends[0]).toBe(5_000);
    expect(ends[1]).toBeGreaterThanOrEqual(25_000);
    expect(ends).toEqual(ends.toSorted((a, b) => a - b));
  });

  test("of merged calls tells each of them", async () => {
    const [a, b] = [list(), list()];
    const { fetch, time } = talk([limited({ "Retry-After": "5" })], { traffic: createTraffic() });
    const first = fetch(`${URL_A}?1`);
    await time.advance(1_000);
    await time.run(Promise.all([first, fetch(`${URL_A}?2`, { onWait: a.onWait }), fetch(`${URL_A}?2`, { onWait: b.onWait })]));
    expect([a.told[0]?.waitMs, b.told[0]?.waitMs]).toEqual([4_000, 4_000]);
  });

  test("goes on with the other calls when `onWait` aborts some of them", async () => {
    const { fetch, sent, time } = talk([limited({ "Retry-After": "5" }), limited({ "Retry-After": "20" })], queue());
    const first = fetch(`${URL_A}?a`);
    await time.advance(1_000);
    const [c, e] = [new AbortController(), new AbortController()];
    let longer = 0;
    const onWait = (): void => { if (++longer === 2) for (const each of [c, e]) each.abort(); };
    const others = ["b", "c", "d", "e", "f"].map((name) =>
      fetch(`${URL_A}?${name}`, { ...(name === "b" && { onWait }), signal: name === "c" ? c.signal : name === "e" ? e.signal : null }),
    );
    const settled = Promise.allSettled([first, ...others]);
    expect((await time.run(settled)).map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"]);
    expect(sent.filter(({ url }) => /[ce]$/.test(url))).toEqual([]);
  });

  test("tells nobody who need not wait", async () => {
    const { told, onWait } = list();
    await talk([], { ...queue(), onWait }).fetch(URL_A);
    expect(told).toEqual([]);
  });
});

test.each([
  ["throws", () => { throw new Error("no screen"); }],
  ["rejects", () => Promise.reject(new Error("no screen"))],
])("a function that %s changes nothing, and the console has its error", async (_, onWait) => {
  const written = vi.spyOn(console, "error").mockImplementation(() => undefined);
  onTestFinished(() => written.mockRestore());
  const { fetch, time } = talk([limited()], { onWait: onWait as () => void });
  expect((await time.run(fetch(URL_A))).status).toBe(200);
  expect(written.mock.calls).toEqual([[new Error("no screen")]]);
});
