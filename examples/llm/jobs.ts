/** Reservations for jobs at night: they wait for their tokens instead of being refused. */
import { setTimeout as delay } from "node:timers/promises";
import type { ChatReservation } from "./budgets.js";

/**
 * Reserves as soon as the tokens are there. A refusal says to the millisecond when that is, if no other caller takes them
 * first. Rejects when the cost can never fit, and with the signal's reason.
 */
export async function reserveInTime(reserve: () => Promise<ChatReservation>, signal: AbortSignal, wait = delay): Promise<ChatReservation> {
  for (;;) {
    signal.throwIfAborted();
    const reservation = await reserve();
    if (reservation.allowed) return reservation;
    const { reason, retryAfterMs } = reservation.decision;
    if (reason === "cost_above_capacity") throw new RangeError("The job asks for more tokens than its budget can hold");
    await wait(Math.ceil(retryAfterMs), undefined, { signal });
  }
}
