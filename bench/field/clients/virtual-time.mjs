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

/** Sets the time back to noon, so that no case depends on the cases before it. */
export function restart() {
  now = START;
}

/** The line of the stack that called the function where `error` was made. */
const callerOf = (error) => error.stack.split("\n")[2] ?? "";

globalThis.Date = VirtualDate;
performance.now = () => now - START;
// Octokit's queue (bottleneck) names its jobs by chance, and drops a job whose name is taken.
Math.random = () => (callerOf(new Error()).includes("/bottleneck/") ? realRandom() : 0.5);
globalThis.setTimeout = Object.assign(virtualSetTimeout, realSetTimeout);

/** Makes the timers virtual that a file sets whose path fits one of `files`. */
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
