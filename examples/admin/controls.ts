/** The numbers of policies and whether each is on trial, for all processes: live limits with a switch. */
import { LiveLimits, type Numbers } from "../live-limits/live-limits.js";

/** The numbers of one policy, and whether it is on trial: it then counts and refuses no one. */
export interface Control extends Numbers {
  readonly shadow?: boolean;
}

/** Live limits that also know which policies are on trial. Write `shadow: () => controls.isShadow("interactive")`. */
export class Controls extends LiveLimits {
  readonly #shadow = new Set<string>();

  isShadow(name: string): boolean {
    return this.#shadow.has(name);
  }

  override set(name: string, { shadow, ...numbers }: Control): void {
    super.set(name, numbers);
    if (shadow === true) this.#shadow.add(name);
    else this.#shadow.delete(name);
  }

  /** What holds now, by name. */
  list(): (Control & { readonly name: string })[] {
    return this.names.map((name) => {
      const [{ capacity, refill }] = this.policy(name).limits;
      return { name, capacity, tokens: refill?.tokens ?? 0, everyMs: refill?.everyMs ?? 0, shadow: this.isShadow(name) };
    });
  }
}
