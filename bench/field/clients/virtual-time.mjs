// Time in which a wait of a day is over at once. Only the waits of the clients are virtual: a timer is one of them if the
// file that calls `setTimeout` is a client's. All other timers run in real time. Import this file before the clients,
// because some of them keep the functions that they find at import.

/** Node's timers fire at once (after 1 ms) if the delay is above this or below 1 (nodejs.org/api/timers.html). */
const LONGEST_TIMER = 2 ** 31 - 1;
const START = Date.UTC(2026, 5, 15, 12);

const RealDate = Date;
const realRandom = Math.random;
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

/** The virtual time, ms since 1970. Only waits move it. */
export const virtualNow = () => now;

/** Sets the time back to noon, because a case must not depend on earlier cases. */
export function restart() {
  now = START;
}

/** The line of the stack with the caller of the function that made `error`. */
const callerOf = (error) => error.stack.split("\n")[2] ?? "";

globalThis.Date = VirtualDate;
performance.now = () => now - START;
// Octokit's queue (bottleneck) gives its jobs random names, and drops a job when its name is taken.
Math.random = () => (callerOf(new Error()).includes("/bottleneck/") ? realRandom() : 0.5);
globalThis.setTimeout = Object.assign(virtualSetTimeout, realSetTimeout);

/** Makes a timer virtual when the path of the file that sets it matches one of `files`. */
export function makeVirtual(files) {
  waiters = files;
}

function virtualSetTimeout(callback, delay, ...args) {
  const caller = callerOf(new Error());
  if (!waiters.some((file) => file.test(caller))) return realSetTimeout(callback, delay, ...args);
  const due = now + (delay >= 1 && delay <= LONGEST_TIMER ? delay : 0);
  return realSetTimeout(() => {
    now = Math.max(now, due);
    callback(...args);
  }, 0);
}
