/** The numbers of policies and whether each is on trial, for all processes: live limits with a switch. */
import { LiveLimits, type Numbers } from "../live-limits/live-limits.js";

/** The numbers of one policy, and whether it is on trial: it then counts and refuses no one. */
export interface Control extends Numbers {
  readonly shadow?: boolean;
}

/** What holds now for a policy. */
export type NamedControl = Required<Control> & { readonly name: string };

/** Live limits that also know which policies are on trial. Write `shadow: () => controls.isShadow("interactive")`. */
export class Controls extends LiveLimits<Control> {
  isShadow(name: string): boolean {
    return this.numbers(name).shadow === true;
  }

  /** What holds now for this policy. */
  of(name: string): NamedControl {
    const { capacity, tokens, everyMs, shadow = false } = this.numbers(name);
    return { name, capacity, tokens, everyMs, shadow };
  }

  /** What holds now, for each policy. */
  list(): NamedControl[] {
    return this.names.map((name) => this.of(name));
  }
}

/** In words: "capacity 20, 1 token every 1 s, enforced". */
export function describeControl({ capacity, tokens, everyMs, shadow }: Control): string {
  return `capacity ${capacity}, ${tokens} ${tokens === 1 ? "token" : "tokens"} every ${everyMs / 1_000} s, ${shadow === true ? "on trial" : "enforced"}`;
}
