import { definePolicy, whenDone } from "sluice";

export const PLACES = 8;
export const STALE_MS = 1_600;

export const PAUSED = definePolicy({ name: "paused", limits: [{ name: "parallel", capacity: PLACES, returns: whenDone({ staleAfterMs: STALE_MS, retryAfterMs: 50 }) }] });
