import { resolve } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { Decision } from "../core/decision.js";
import { SluiceError } from "../core/errors.js";
import { MAY_BE_DONE, Misuse, reasonText, StoreFailure, thrownText, type CommandIo } from "./io.js";
import { findLimiter, type FoundLimiter } from "./find-limiter.js";
import { readOrder, type Order, type Verb } from "./read-order.js";
import { doneText, leftText, nothingText, UNKNOWN_TEXT } from "./sentences.js";

export const OPERATE_HELP = `npx sluice peek   <module> <limiter> <key ...>
npx sluice credit <module> <limiter> <key ...> --cost 10
npx sluice debit  <module> <limiter> <key ...> --cost 10
npx sluice block  <module> <limiter> <key ...> --for 10min
npx sluice reset  <module> <limiter> <key ...>

Shows what a caller has left, and changes it, through the limiters of your own service.

  <module>           a file that exports limiters, such as ./limits.mjs
  <limiter>          the name of the export, such as interactive
  <key ...>          the key, part by part: user 42 for the key ["user", 42]; or as JSON: '["user"]' for one part
                     an address is read in any form: address 2001:db8::1 for the key ["address", "2001:db8::/64"]
  --cost 10          the tokens to give or take; for peek, the cost to ask for. For several limits tokens=500,requests=1
  --for 10min        how long to block (s, min, h, d). --for 0 ends a block
  --ipv6-prefix 56   the addresses in the key are networks of addressKey, with this prefix of your gate
  --exactly          the addresses in the key are as you write them
  --policy gold      a policy that the module exports, for a caller of a tier: gold, or tiers.gold
  --reason "..."     printed with what was done, for your records
  --json             the answer as JSON
  --memory           also over a store in memory, for a test or a demo. No service sees what is done

The exit code is 0 if it was done, and 2 for wrong arguments or a module that failed before. It is 1 if the store
failed, if the module failed later, or if the output cannot be written.
`;

// A client may still be connecting, and its first call then exceeds the store's timeout.
const TRIES = 20;
// After it was done: the store has just answered.
const TRIES_AFTER = 4;
const TRY_AGAIN_MS = 250;

/** `npx sluice peek`, `credit`, `debit`, `block` and `reset`: does it, and prints what is left to the caller. */
export async function operate(verb: Verb, args: readonly string[], io: CommandIo): Promise<void> {
  const order = readOrder(verb, args);
  const found = await findLimiter({ ...order, file: resolve(order.file) });
  const before = await peekSoon(order, found, TRIES);
  if (verb !== "peek") {
    io.change = "begun";
    await askStore(() => act(order, found), true);
    io.change = "done";
  }
  // At once: an operator who does not see that it was done would do it again.
  if (!order.json && verb !== "peek") io.stdout.write(doneText(order, found, before));
  const left = verb === "peek" ? before : await peekAfter(order, found);
  if (order.json) io.stdout.write(`${JSON.stringify(jsonAnswer(order, found, before, left))}\n`);
  else if (left === null) io.stdout.write(UNKNOWN_TEXT);
  else if (verb !== "peek") io.stdout.write(leftText(order, found, left, before));
  else io.stdout.write(`${leftText(order, found, left)}${nothingText(order, found, left)}`.trimEnd() + "\n");
}

/** The answer for programs. `before` is absent for `peek`. `left` is null if the store did not answer a second time. */
function jsonAnswer(
  { verb, name, key, notes, cost, forMs, reason }: Order,
  { ownPath, otherTiers }: FoundLimiter,
  before: Decision,
  left: Decision | null,
): object {
  return {
    command: verb, limiter: name, key,
    ...(cost !== undefined && { cost }),
    ...(verb === "block" && { forMs }),
    ...(reason !== undefined && { reason }),
    ...(notes.length > 0 && { notes }),
    ...(ownPath !== undefined && { ownPolicy: ownPath }),
    ...(otherTiers.length > 0 && { otherTiers }),
    ...(verb !== "peek" && { before }),
    left,
  };
}

async function act({ verb, key, cost = 0, forMs }: Order, { limiter, tier }: FoundLimiter): Promise<void> {
  const choice = tier === undefined ? {} : { policy: tier };
  if (verb === "credit") await limiter.credit(key, { cost, ...choice });
  else if (verb === "debit") await limiter.debit(key, { cost, ...choice });
  else if (verb === "block") await limiter.block(key, forMs, choice);
  else await limiter.reset(key, choice);
}

/** Asks until the store answers, for some seconds. Nothing is changed before it does. */
async function peekSoon({ verb, key, cost }: Order, { limiter, tier }: FoundLimiter, most: number): Promise<Decision> {
  const wanted = { ...(verb === "peek" && cost !== undefined && { cost }), ...(tier !== undefined && { policy: tier }) };
  let known: unknown;
  for (let tries = 1; ; tries++) {
    try {
      return await askStore(() => limiter.peek(key, wanted), false);
    } catch (error) {
      // The error of the open circuit breaker says only that the store is not called now, so an earlier one is kept.
      if (known === undefined || !thrownText(error).includes("ERR_STORE_OPEN")) known = error;
      if (!(error instanceof StoreFailure) || tries === most) throw known;
      await after(TRY_AGAIN_MS);
    }
  }
}

/** What is left after it was done. Null if the store fails now: that must not look as if it had not been done. */
async function peekAfter(order: Order, found: FoundLimiter): Promise<Decision | null> {
  try {
    return await peekSoon(order, found, TRIES_AFTER);
  } catch {
    return null;
  }
}

/** Calls the limiter. Its TypeErrors and RangeErrors are mistakes in the arguments; all else is the store's. */
async function askStore<T>(call: () => T | Promise<T>, isChange: boolean): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (error instanceof TypeError || error instanceof RangeError) throw new Misuse(error.message);
    const code = error instanceof SluiceError ? ` (${error.code})` : "";
    const cure = "Check that it runs, and that the module connects to it";
    // The open circuit breaker did not call the store. After any other failure the store may have done it.
    const isOpen = error instanceof SluiceError && error.code === "ERR_STORE_OPEN";
    const done = !isChange ? "" : isOpen ? "It was not done. " : `${MAY_BE_DONE}. `;
    throw new StoreFailure(`The store failed: ${reasonText(error)}${code}. ${done}${cure}`);
  }
}
