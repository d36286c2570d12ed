import { checkOptions, expected, type Explain } from "../core/check.js";

/** The option `time`, for tests: a `ManualClock`, or any of its members. The others are the platform's. */
export interface Time {
  /** Returns the milliseconds of a clock that never steps. It may stand still while the machine is suspended. */
  readonly now?: (() => number) | undefined;
  /** Returns milliseconds since 1970. */
  readonly wallNow?: (() => number) | undefined;
  /** Resolves after `ms`. */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
  /** Returns a number from 0 up to 1, for jitter. */
  readonly random?: (() => number) | undefined;
}

/** Returns the members of the option `time`. Throws a TypeError for an unknown one, and for one that is no function. */
export function checkTime(time: Time | undefined): Time {
  const own = checkOptions(time ?? {}, ["now", "wallNow", "sleep", "random"], "a ManualClock or an object", undefined, "time");
  for (const [name, member] of Object.entries(own)) {
    if (member !== undefined && typeof member !== "function") throw new TypeError(expected(`time.${name}`, "a function", member));
  }
  return own;
}

const TIME_MEMBERS = { clock: "now: clock", wallClock: "wallNow: wallClock", random: "random", sleep: "sleep" };

/** What to write for a member of `time` that stands beside it. */
export const timeCure: Explain = (name) =>
  Object.hasOwn(TIME_MEMBERS, name) ? `. Write \`time: { ${TIME_MEMBERS[name as keyof typeof TIME_MEMBERS]} }\`` : undefined;
