// The recipes with the real packages, on a real server. Nothing waits in real time.
import type { RequestListener } from "node:http";
import { parseWait } from "sluice/client";
import { describe, expect, test } from "vitest";
import { hosts, type Host } from "./hosts.js";
import { always, outcomeOf, startWorld, type World } from "./world.js";

const HOUR_MS = 3_600_000;
const stays = new AbortController().signal;

/** A host, and its server. */
async function open(host: Host, everyMs: number | null, listener: RequestListener = host.listener): Promise<World & ReturnType<Host["open"]>> {
  const world = await startWorld(everyMs, listener);
  return { ...world, ...host.open(world.url, world.limits) };
}

/** The same, after a call that has spent the only token. */
async function openSpent(host: Host, everyMs: number): ReturnType<typeof open> {
  const opened = await open(host, everyMs);
  expect(await outcomeOf(opened.read(stays))).toMatchObject(host.answer);
  expect(opened.arrived.splice(0)).toHaveLength(1);
  return opened;
}

/** Expects the refusal, as the host tells of it. */
function expectRefusal(host: Host, outcome: unknown, waitMs: number): void {
  expect((outcome as object).constructor.name).toBe(host.refusal);
  const { status, headers } = host.responseOf(outcome as never);
  expect([status, parseWait(headers, Date.now())?.waitMs]).toEqual([429, waitMs]);
}

describe.each(Object.entries(hosts))("%s", (_, host) => {
  test("refused for 12 s: it waits 12 s, and its second request is admitted", async () => {
    const { read, arrived, waits } = await openSpent(host, 12_000);
    expect(await outcomeOf(read(stays))).toMatchObject(host.answer);
    expect(waits).toEqual([12_000]);
    expect(arrived.map(({ status }) => status)).toEqual([429, 200]);
    expect(arrived[1]?.body).toBe(arrived[0]?.body);
  });

  test("refused for an hour: it gets the refusal as it expects one, after one request", async () => {
    const { read, arrived, waits } = await openSpent(host, HOUR_MS);
    expectRefusal(host, await outcomeOf(read(stays)), HOUR_MS);
    expect([arrived.length, waits]).toEqual([1, []]);
  });

  test("a POST that is sent once: it gets the refusal after one request", async () => {
    const { post, arrived, waits } = await openSpent(host, 12_000);
    expectRefusal(host, await outcomeOf(post()), 12_000);
    expect(arrived).toMatchObject([{ method: "POST", status: 429 }]);
    expect(waits).toEqual([]);
  });

  test("an abort ends the wait", async () => {
    const { url, read, arrived, hold, advance } = await openSpent(host, 12_000);
    const asleep = hold();
    const leaving = new AbortController();
    const outcome = outcomeOf(read(leaving.signal));
    await asleep;
    leaving.abort();
    expect(((await outcome) as object).constructor.name).toBe(host.aborted);
    await advance(12_000);
    // The token is there for the next request, so no other request took it.
    expect((await fetch(url)).status).not.toBe(429);
    expect(arrived).toHaveLength(2);
  });

  test("a server that breaks off gets three requests, not three for each retry of the host", async () => {
    const { read, arrived, waits } = await open(host, null, (request) => void request.socket.destroy());
    expect(await outcomeOf(read(stays))).toBeInstanceOf(Error);
    expect(arrived).toHaveLength(3);
    expect(waits).toEqual([100, 100]);
  });

  test("a 501 is the host's, after one request", async () => {
    const { read, arrived } = await open(host, null, always({ message: "Something went wrong." }, 501));
    expect(await outcomeOf(read(stays))).not.toMatchObject(host.answer);
    expect(arrived).toHaveLength(1);
  });

  test("a 500 is the host's, after as many requests as its own retries send", async () => {
    const { read, arrived } = await open(host, null, always({ message: "Something went wrong." }, 500));
    expect(await outcomeOf(read(stays))).not.toMatchObject(host.answer);
    expect(arrived).toHaveLength(host.repeatsServerErrors ? 3 : 1);
  });
});
