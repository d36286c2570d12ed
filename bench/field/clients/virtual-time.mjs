// Time in which a wait of a day is over at once. Only the waits of the clients themselves are virtual, told apart by the
// file that calls `setTimeout`; whatever else uses timers goes on in real time. To be imported before the clients, who may
// keep what they find.

/** Longer than this, or not a number of at least 1, and Node's timers fire after 1 ms (nodejs.org/api/timers.html). */
const LONGEST_TIMER = 2 ** 31 - 1;
const START = Date.UTC(2026, 5, 15, 12);

const RealDate = Date;
const realSetTimeout = globalThis.setTimeout;
let waiters = [];
let now = START;

class VirtualDate extends RealDate {
  constructor(...args) {
    if (args.length === 0) super(now);
    else super(...args);
  }
  static now() {
    return now;
  }
}

/** The virtual time, ms since 1970. It moves by waits alone. */
export const virtualNow = () => now;

/** Back to noon, so that no case depends on the ones before it. */
export function restart() {
  now = START;
}

globalThis.Date = VirtualDate;
performance.now = () => now - START;
Math.random = () => 0.5;
globalThis.setTimeout = Object.assign(virtualSetTimeout, realSetTimeout);

/** From now on the timers that are set by files that fit one of `files` are virtual. */
export function makeVirtual(files) {
  waiters = files;
}

function virtualSetTimeout(callback, delay, ...args) {
  const [, , caller = ""] = new Error().stack.split("\n");
  if (!waiters.some((file) => file.test(caller))) return realSetTimeout(callback, delay, ...args);
  const ms = delay >= 1 && delay <= LONGEST_TIMER ? delay : 1;
  return realSetTimeout(() => {
    now += ms;
    callback(...args);
  }, 0);
}
