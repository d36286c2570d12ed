import { guardChecks, type StoreHints } from "#diagnostics";
import type { GuardSettings, OnStoreError } from "../port/guard-options.js";
import { rootLineOf } from "../warnings/line-of.js";
import { warn } from "../warnings/warnings.js";
import { sharesWork, startTimer } from "../platform.js";
import { withCause, type CauseOf } from "./errors.js";

// A client that lost its server tries again within this time, and then knows why.
const CAUSE_AFTER_MS = 250;

const SHARE_CURE = "Set `sharedBy` of the store to the number of your processes";
const OBSERVE_CURE = "Pass `observe` to be told of each outage";

/** Gives the process warnings about one store. */
export class StoreWarnings {
  readonly hints: StoreHints | undefined;
  readonly #causeOf: CauseOf;
  readonly #sharedBy: number;
  readonly #isDefaultShare: boolean;
  /** The values of `onStoreError` of the limiters over the store. */
  readonly #choices = new Set<OnStoreError>();
  #name = "The store";
  /** Whether the first outage was told. */
  #isTold = false;
  /** How often the store had answered when a failure was told. Null before. */
  #toldAfter: number | null = null;

  constructor({ timeoutMs, sharedBy, isDefaultShare }: GuardSettings, causeOf: CauseOf) {
    this.#causeOf = causeOf;
    this.#sharedBy = sharedBy;
    this.#isDefaultShare = isDefaultShare;
    this.hints = guardChecks ? guardChecks.createStoreHints(timeoutMs, () => this.#name) : undefined;
  }

  /** Adds a limiter over the store. The first one's policy names the store. */
  add(policy: string, onStoreError: OnStoreError): void {
    if (this.#choices.size === 0) this.#name = `The store of policy "${policy}"`;
    this.#choices.add(onStoreError);
  }

  /** A call failed. Speaks at once if the store has never answered: its circuit opens only after several failures. */
  failed(error: unknown, successes: number): void {
    if (this.hints?.failed(error)) this.#toldAfter ??= successes;
    else if (successes === 0) this.#tellEarly("has not answered yet", error, successes);
  }

  /** A caller is refused because a call failed, and there is no observer. Speaks if nothing was told. */
  refused(error: unknown, successes: number): void {
    this.#tellEarly("failed", error, successes);
  }

  /** The store became unavailable with `error`, and no observer listens. */
  unavailable(error: unknown, successes: number): void {
    if (this.#isTold || this.hints?.failed(error)) return;
    this.#isTold = true;
    if (this.#toldAfter !== successes) this.#tell("is unavailable", error, successes);
  }

  #tellEarly(what: string, error: unknown, successes: number): void {
    if (this.#toldAfter === null) this.#tell(what, error, successes);
  }

  #tell(what: string, error: unknown, successes: number): void {
    this.#toldAfter = successes;
    const isUnknown = this.#causeOf(error) === null && sharesWork();
    if (!isUnknown) return this.#say(what, error);
    startTimer(() => {
      withCause(error, this.#causeOf);
      if (!this.hints?.failed(error)) this.#say(what, error);
    }, CAUSE_AFTER_MS);
  }

  #say(what: string, error: unknown): void {
    const share = this.#sharedBy === 1 ? "each limit in full" : `1/${this.#sharedBy} of each limit`;
    const meanwhile: Record<OnStoreError, string> = {
      local: `this process grants ${share} by itself`,
      allow: "every request is allowed",
      unavailable: "every request is refused",
    };
    const choices = [...this.#choices];
    const isOne = choices.length === 1;
    const texts = choices.map((choice) => (isOne ? "" : `with \`onStoreError\` "${choice}" `) + meanwhile[choice]);
    const isShare = this.#isDefaultShare && this.#choices.has("local");
    warn(
      "SLUICE_STORE_UNAVAILABLE",
      `${this.#name} ${what}: ${rootLineOf(error)}. Until it answers, ${texts.join(", ")}. ` +
        `${isShare ? SHARE_CURE : OBSERVE_CURE}.`,
    );
  }
}
