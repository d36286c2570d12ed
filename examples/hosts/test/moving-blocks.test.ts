// The guide from rate-limiter-flexible: its `blockDuration` beside the two lines that do the same.
import { expect, test, vi } from "vitest";
import * as after from "../moving/rate-limiter-flexible/blocks-after.js";
import * as before from "../moving/rate-limiter-flexible/blocks-before.js";
import { start, stopTime, type RunningApp } from "./moving.js";

/** How many of 120 requests are served at first, in the block's last millisecond, after it, and after the second block. */
async function served(app: RunningApp): Promise<number[]> {
  const told = [];
  for (const ms of [0, 59_999, 1, 59_999, 1]) {
    vi.advanceTimersByTime(ms);
    told.push((await app.send(120)).served);
  }
  return told;
}

test.each([["rate-limiter-flexible", before], ["sluice", after]])("%s: blocked for a minute after the first refusal, and then all 100 are there", async (_, { createApp }) => {
  stopTime();
  expect(await served(await start("express", createApp()))).toEqual([100, 0, 100, 0, 100]);
});
