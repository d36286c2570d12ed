import { definePolicy, monthly, perSecond, whenDone } from "sluice";

export const CAPACITY = 8;
export const STALE_MS = 2_000;

/** A policy as a gateway has it: rate, tokens, month and parallel calls. The other limits have room for all. */
export const chat = definePolicy({
  name: "chat",
  limits: [
    { name: "requests", capacity: 100_000, refill: perSecond(10_000) },
    { name: "tokens", capacity: 100_000, refill: perSecond(10_000) },
    { name: "month", capacity: 10_000_000, renews: monthly() },
    { name: "parallel", capacity: CAPACITY, returns: whenDone({ staleAfterMs: STALE_MS }) },
  ],
});
