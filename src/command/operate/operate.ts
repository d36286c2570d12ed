import { resolve } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { Decision } from "../../core/decision.js";
import { SluiceError } from "../../core/errors.js";
import { StoreFailure } from "../failure.js";
import type { CommandIo } from "../io.js";
import { Misuse } from "../misuse.js";
import { findLimiter, type FoundLimiter } from "./find-limiter.js";
import { readOrder, type Order, type Verb } from "./read-order.js";
import { doneText, leftText } from "./sentences.js";

export const OPERATE_HELP = `npx sluice peek   <module> <limiter> <key ...>
npx sluice credit <module> <limiter> <key ...> --cost 10
npx sluice debit  <module> <limiter> <key ...> --cost 10
npx sluice block  <module> <limiter> <key ...> --for 10min
npx sluice reset  <module> <limiter> <key ...>

Shows what a caller has left, and changes it, through the limiters of your own service.

  <module>           a file that exports limiters, such as ./limits.mjs
  <limiter>          the name of the export, such as interactive
  <key ...>          the key, part by part: user 42 for the key ["user", 42]
  --cost 10          the tokens to give or take; for peek, the cost to ask for. For several limits tokens=500,requests=1
  --for 10min        how long to block (s, min, h, d). --for 0 ends a block
  --policy gold      a policy that the module exports, for a caller of a tier
  --reason "..."     printed with what was done, for your records
  --json             the answer as JSON
`;

// A client may still be connecting, and its first call then exceeds the store's timeout.
const TRIES = 20;
const TRY_AGAIN_MS = 250;

/** `npx sluice peek`, `credit`, `debit`, `block` and `reset`: does it, and prints what is left to the caller. */
export function operate(verb: Verb): (args: readonly string[], io: CommandIo) => Promise<void> {
  return async (args, io) => {
    const order = readOrder(verb, args);
    const found = await findLimiter(resolve(order.file), order.name, order.tier);
    const before = await peekSoon(order, found);
    if (verb !== "peek") await askStore(() => act(order, found));
    const left = verb === "peek" ? before : await peekSoon(order, found);
    if (order.json) io.stdout.write(`${JSON.stringify(jsonAnswer(order, before, left))}\n`);
    else io.stdout.write(`${doneText(order)}${leftText(order.key, order, left)}`);
  };
}

/** The answer for programs. `before` is absent for `peek`. */
function jsonAnswer({ verb, name, key, cost, forMs, reason }: Order, before: Decision, left: Decision): object {
  return {
    command: verb, limiter: name, key,
    ...(cost !== undefined && { cost }),
    ...(verb === "block" && { forMs }),
    ...(reason !== undefined && { reason }),
    ...(verb !== "peek" && { before }),
    left,
  };
}

async function act({ verb, key, cost = 0, forMs }: Order, { limiter, tier }: FoundLimiter): Promise<void> {
  const choice = tier === undefined ? [] : ([{ policy: tier }] as const);
  if (verb === "credit") await limiter.credit(key, cost, ...choice);
  else if (verb === "debit") await limiter.debit(key, cost, ...choice);
  else if (verb === "block") await limiter.block(key, forMs, ...choice);
  else await limiter.reset(key, ...choice);
}

/** Asks until the store answers, for some seconds. Nothing is changed before it does. */
async function peekSoon({ verb, key, cost }: Order, { limiter, tier }: FoundLimiter): Promise<Decision> {
  const wanted = { ...(verb === "peek" && cost !== undefined && { cost }), ...(tier !== undefined && { policy: tier }) };
  let known: unknown;
  for (let tries = 1; ; tries++) {
    try {
      return await askStore(() => limiter.peek(key, wanted));
    } catch (error) {
      // The error of the open circuit breaker says only that the store is not called now, so an earlier one is kept.
      if (known === undefined || !(error as Error).message.includes("ERR_STORE_OPEN")) known = error;
      if (!(error instanceof StoreFailure) || tries === TRIES) throw known;
      await after(TRY_AGAIN_MS);
    }
  }
}

/** Calls the limiter. Its TypeErrors and RangeErrors are mistakes in the arguments; all else is the store's. */
async function askStore<T>(call: () => T | Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof TypeError || error instanceof RangeError) throw new Misuse(message);
    const code = error instanceof SluiceError ? ` (${error.code})` : "";
    throw new StoreFailure(`The store failed: ${message}${code}. Check that it runs, and that the module connects to it`);
  }
}
