// Who waits for tokens of a bucket is told when this process gives some back.
import { combine, createLimiter, definePolicy, MemoryStore, perSecond } from "sluice";
import { describe, expect, test, vi } from "vitest";
import { onReturned, tellReturned } from "../../src/limiter/verbs/returned.js";
import { outage, UnsteadyStore } from "../helpers/unsteady-store.js";
import { expectWarnings } from "../setup/warnings.js";

const policy = { name: "api", capacity: 5, refill: perSecond(1) };

describe("tokens that come back", () => {
  test("are told of after a settlement, a refund, a credit, the end of a block and a reset, and after nothing else", () => {
    const limiter = createLimiter({ policy, store: new MemoryStore({ clock: () => 0 }) });
    const listener = vi.fn();
    const end = onReturned(limiter.store, "api ann", listener);
    const other = onReturned(limiter.store, "api bob", () => expect.unreachable());
    const decisions = [limiter.consume("ann"), limiter.consume("ann"), limiter.consume("ann")] as const;
    const calls: readonly [() => unknown, told: number][] = [
      [() => limiter.settle("ann", decisions[0], 0), 1], [() => limiter.settle("ann", decisions[0], 0), 0], [() => limiter.refund("ann", decisions[1]), 1],
      [() => limiter.settle("ann", decisions[2], 1), 0], [() => limiter.credit("ann", 1), 1], [() => limiter.block("ann", 0), 1], [() => limiter.reset("ann"), 1],
      [() => limiter.debit("ann", 1), 0], [() => limiter.block("ann", 1_000), 0], [() => limiter.peek("ann"), 0], [() => limiter.consume("ann", 9), 0],
    ];
    for (const [call, told] of calls) {
      listener.mockClear();
      call();
      expect(listener).toHaveBeenCalledTimes(told);
    }
    end();
    other();
    limiter.reset("ann");
    expect(listener).not.toHaveBeenCalled();
  });

  test("are told of by the bucket: the policy's name and the encoded key, whichever limiter gave them back", () => {
    const store = new MemoryStore({ clock: () => 0 });
    const [one, two] = [createLimiter({ policy, store }), createLimiter({ policy, store })];
    const pro = definePolicy({ ...policy, capacity: 50 });
    const listener = vi.fn();
    onReturned(store, "api (3:ann1:7", listener);
    one.credit(["ann", 7], 1);
    two.reset(["ann", 7], { policy: pro });
    combine({ one }).credit({ one: ["ann", 7] }, 1);
    expect(listener).toHaveBeenCalledTimes(3);
  });

  test("are not told of when the store fails", async () => {
    expectWarnings("SLUICE_SETTLEMENT_FAILED");
    const store = new UnsteadyStore(() => 0, { breaker: false });
    const limiter = createLimiter({ policy, store });
    const decision = await limiter.consume("ann");
    const listener = vi.fn();
    onReturned(store, "api ann", listener);
    store.health = "down";
    await expect(limiter.credit("ann", 1)).rejects.toBe(outage);
    await expect(limiter.refund("ann", decision)).rejects.toBe(outage);
    expect(listener).not.toHaveBeenCalled();
  });

  test("a listener may end itself or add another while it is told", () => {
    const store = new MemoryStore();
    const told: string[] = [];
    const end = onReturned(store, "api ann", () => {
      told.push("first");
      end();
      onReturned(store, "api ann", () => told.push("second"));
    });
    tellReturned(store, "api ann");
    tellReturned(store, "api ann");
    end();
    tellReturned(store, "api bob");
    expect(told).toEqual(["first", "second"]);
  });
});
