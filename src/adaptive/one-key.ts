import { expected } from "../core/check.js";
import { encodeKey, shownKey, type Key } from "../core/key.js";
import { plainInternalsOf } from "../limiter/internals.js";
import type { ConsumeOptions, PlainLimiter } from "../limiter/limiter.js";
import type { MemoryStore } from "../stores/memory/memory.js";

type Rest<T extends (...args: never[]) => unknown> = Parameters<T> extends [unknown, ...infer More] ? More : never;

/** Makes a limiter charge the key `only` for every caller. `block`, `reset`, `debit` and `credit` take no other key. */
export function chargeOneKey(limiter: PlainLimiter<MemoryStore>, only: string): void {
  const internals = plainInternalsOf(limiter);
  const { consume, peek } = limiter;
  const { settle, guarded } = internals;
  const encoded = encodeKey(only);
  const checked = (key: Key): string => (encodeKey(key), only); // throws for what is no key
  Object.assign(limiter, {
    consume: (key: Key, asked?: number | ConsumeOptions) => consume(checked(key), asked),
    peek: (key: Key, asked?: number | ConsumeOptions) => peek(checked(key), asked),
  });
  for (const verb of ["debit", "credit", "block", "reset"] as const) {
    const act = limiter[verb] as (...args: unknown[]) => void;
    limiter[verb] = (key: Key, ...rest: unknown[]) => {
      if (key !== only) throw new TypeError(expected("key", `"${only}", which all callers share`, shownKey(key)));
      act(key, ...rest);
    };
  }
  const ask: typeof guarded.ask = (call, options) => {
    const parts = call.parts.map((part) => ({ ...part, key: encoded })) as unknown as typeof call.parts;
    return guarded.ask({ ...call, parts }, options);
  };
  Object.assign(internals, {
    settle: (key: Key, ...rest: Rest<typeof settle>) => settle(checked(key), ...rest),
    // Renewals of long work ask it with the key of their caller.
    guarded: { ...guarded, ask },
  });
}
