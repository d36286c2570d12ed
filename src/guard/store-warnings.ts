import { createStoreHints, type StoreHints } from "#diagnostics";
import type { GuardSettings, OnStoreError } from "../port/guard-options.js";
import { lineOf } from "../warnings/line-of.js";
import { warn } from "../warnings/warnings.js";

const DEFAULT_SHARE = ", the default: set it to the number of your processes";

/** Gives the process warnings about one store. */
export class StoreWarnings {
  readonly hints: StoreHints;
  readonly #sharedBy: number;
  readonly #isDefaultShare: boolean;
  /** The values of `onStoreError` of the limiters over the store. */
  readonly #choices = new Set<OnStoreError>();
  #name = "The store";
  /** Whether the first outage was told. */
  #isTold = false;

  constructor({ timeoutMs, sharedBy, isDefaultShare }: GuardSettings) {
    this.#sharedBy = sharedBy;
    this.#isDefaultShare = isDefaultShare;
    this.hints = createStoreHints(timeoutMs, () => this.#name);
  }

  /** Adds a limiter over the store. The first one's policy names the store. */
  add(policy: string, onStoreError: OnStoreError): void {
    if (this.#choices.size === 0) this.#name = `The store of policy "${policy}"`;
    this.#choices.add(onStoreError);
  }

  /** The store became unavailable with `error`, and no observer listens. */
  unavailable(error: unknown): void {
    if (this.#isTold || this.hints.failed(error)) return;
    this.#isTold = true;
    const share = this.#sharedBy === 1 ? "each limit in full" : `1/${this.#sharedBy} of each limit`;
    const meanwhile: Record<OnStoreError, string> = {
      local: `this process grants ${share} by itself (\`sharedBy: ` +
        `${this.#sharedBy}\`${this.#isDefaultShare ? DEFAULT_SHARE : ""})`,
      allow: "every request is allowed",
      unavailable: "every request is refused",
    };
    const choices = [...this.#choices];
    const isOne = choices.length === 1;
    const texts = choices.map((choice) => (isOne ? "" : `with \`onStoreError: "${choice}"\` `) + meanwhile[choice]);
    warn(
      "SLUICE_STORE_UNAVAILABLE",
      `${this.#name} is unavailable: ${lineOf(error)}. Until it answers, ${texts.join(", ")}. ` +
        "Pass `observe` to be told of each outage.",
    );
  }
}
