import { show } from "../../core/check.js";
import type { StoreCall } from "../../core/records.js";
import type { Store } from "../../port/store.js";
import { AssertionError } from "../assert.js";
import type { StoreSetup } from "./setup.js";

const TOGETHER = "consume of several parts";
// After a call without an answer, the suite has failed, and its later calls wait at most 500 ms.
const IMPATIENT_MS = 500;
// A timer that is late means that the event loop was blocked. An answer can then be in the socket already.
const GRACE_MS = 20;
// Saved before a case can skew the clock.
const realNow = performance.now.bind(performance);

/** How long the calls of one suite wait. */
export interface Patience {
  timeoutMs: number;
}

/** The calls of one case that wait for an answer. When all of them are silent until the deadline, they fail. */
export class CallWatch {
  readonly #patience: Patience;
  readonly #now: () => number;
  readonly #waiting: string[] = [];
  #heardAt = 0;

  constructor(patience: Patience, now = realNow) {
    this.#patience = patience;
    this.#now = now;
  }

  /** Returns `store` with an `ask` and a `close` that fail after the deadline. */
  watch(store: Store, setup: StoreSetup): Store {
    const { sync, clock, kinds, guard, verbs, together } = store;
    const inTime = (answer: unknown, what: string): unknown =>
      typeof (answer as PromiseLike<unknown> | undefined)?.then === "function"
        ? this.within(answer, what, setup.unreachable)
        : answer;
    const watched = {
      sync, clock, kinds, guard, verbs,
      together: typeof together === "function" ? together.bind(store) : together,
      ask: (call: StoreCall) => {
        const answers = inTime(store.ask(call), call.parts.length > 1 ? TOGETHER : call.verb);
        return answers instanceof Promise ? answers.then((all) => checkList(call, all)) : checkList(call, answers);
      },
      ...(!store.sync && store.recall !== undefined && { recall: store.recall.bind(store) }),
      ...(store.close !== undefined && { close: () => inTime(store.close?.(), "close") }),
    };
    return watched as unknown as Store;
  }

  /** Waits for `answer`. Throws when no call of the case was answered within the deadline. */
  async within<T>(answer: T | PromiseLike<T>, method: string, unreachable = false): Promise<T> {
    this.#heardAt = this.#now();
    this.#waiting.push(method);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const silence = new Promise<never>((_resolve, reject) => {
      const check = (last: boolean): void => {
        const leftMs = this.#heardAt + this.#patience.timeoutMs - this.#now();
        if (leftMs > 0) timer = setTimeout(check, leftMs, false);
        else if (!last) timer = setTimeout(check, GRACE_MS, true);
        else reject(this.#fail(method, unreachable));
      };
      timer = setTimeout(check, this.#patience.timeoutMs, false);
    });
    try {
      return await Promise.race([answer, silence]);
    } finally {
      clearTimeout(timer);
      this.#waiting.splice(this.#waiting.indexOf(method), 1);
      this.#heardAt = this.#now();
    }
  }

  #fail(method: string, unreachable: boolean): AssertionError {
    const { timeoutMs } = this.#patience;
    this.#patience.timeoutMs = Math.min(timeoutMs, IMPATIENT_MS);
    const counts = [...new Set(this.#waiting)].map(
      (name) => `${this.#waiting.filter((one) => one === name).length} of \`${name}\``,
    );
    const others = this.#waiting.length > 1 ? `. Waiting are ${this.#waiting.length} calls: ${counts.join(", ")}` : "";
    return new AssertionError(`Expected \`${method}\` to answer within ${timeoutMs} ms, got nothing${others}`, {
      likelyCause: silenceCause(method, this.#waiting.length, unreachable),
    });
  }
}

function checkList({ verb, parts }: StoreCall, answers: unknown): unknown {
  if (Array.isArray(answers) && answers.length === parts.length) return answers;
  const got = Array.isArray(answers) ? `a list of ${answers.length}` : show(answers);
  throw new AssertionError(`Expected \`ask\` to answer "${verb}" with a list of ${parts.length}, got ${got}`, {
    likelyCause: "`ask` answers a list with one answer for each part: `[decision]`, or the `answers` of `answerCall`.",
  });
}

function silenceCause(method: string, waiting: number, unreachable: boolean): string {
  if (method === "factory") return "The factory waits for a server that does not answer. Give its connection a timeout.";
  if (unreachable) return "The store waits for a connection without end. Give its client a timeout.";
  if (method === "close") return "`close` waits for a call, a connection or a timer that does not end.";
  if (waiting > 1) {
    return "The calls wait for each other (a deadlock). Take all locks in one fixed order, and release them also after an error.";
  }
  return `\`${method}\` never settles its promise, or a lock is taken twice or was not released by an earlier call.`;
}
