// When the work of a request ends: tokens in flight, and costs that a handler reports.
import { Controller, Get, Req, Sse } from "@nestjs/common";
import { createLimiter, MemoryStore, perHour, whenDone } from "sluice";
import { RateLimit, reportCost } from "sluice/nest";
import { ManualClock } from "sluice/testing";
import { Observable } from "rxjs";
import { describe, expect, test } from "vitest";
import { limited, limits, platforms, signIn, start } from "./apps.js";

const parallel = { name: "parallel", capacity: 1, returns: whenDone() };
const reported = { name: "reported", refill: perHour(10) };

/** A promise that its test resolves. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}

describe.each(platforms)("the work of a request of NestJS on $platform", (platform) => {
  test("a place in flight comes back with the close of the response", async () => {
    const slow = gate();
    const streaming = gate();
    @Controller()
    @RateLimit(parallel)
    class Parallel {
      @Get("slow") async slow(): Promise<string> {
        await slow.opened;
        return "slow";
      }
      @Sse("events") events(): Observable<{ data: string }> {
        return new Observable((subscriber) => {
          subscriber.next({ data: "1" });
          void streaming.opened.then(() => subscriber.complete());
        });
      }
      @Get("throws") throws(): never {
        throw new Error("thrown");
      }
    }
    const store = new MemoryStore({ clock: new ManualClock() });
    const ask = await start(platform, { imports: [limits({ store })], controllers: [Parallel], providers: [signIn, limited] });
    const left = (): number => createLimiter({ policy: parallel, store }).peek(["user", "ann"]).remaining;

    const first = ask("GET /slow", "ann");
    await expect.poll(left).toBe(0);
    expect((await ask("GET /slow", "ann")).status).toBe(429);
    slow.open();
    expect((await first).status).toBe(200);
    await expect.poll(left).toBe(1);

    const events = await ask("GET /events", "ann");
    expect([events.status, left()]).toEqual([200, 0]);
    streaming.open();
    await events.text();
    await expect.poll(left).toBe(1);

    expect((await ask("GET /throws", "ann")).status).toBe(500);
    await expect.poll(left).toBe(1);
  });

  test("a handler reports what its request really cost", async () => {
    @Controller()
    class Reports {
      @RateLimit({ policy: reported, cost: 5 }) @Get("reports") reports(@Req() request: object): string {
        reportCost(request, 2);
        return "reports";
      }
    }
    const store = new MemoryStore({ clock: new ManualClock() });
    const ask = await start(platform, { imports: [limits({ store })], controllers: [Reports], providers: [signIn, limited] });
    await (await ask("GET /reports", "ann")).text();
    await expect.poll(() => createLimiter({ policy: reported, store }).peek(["user", "ann"]).remaining).toBe(8);
  });
});
