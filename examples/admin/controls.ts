/** The numbers of policies and whether each is on trial, for all processes: live limits with a switch. */
import type { Key } from "sluice";
import { LiveLimits, type Numbers } from "../live-limits/live-limits.js";

/** The numbers of one policy, and whether it is on trial: it then counts and refuses no one. */
export interface Control extends Numbers {
  readonly shadow?: boolean;
}

/** What holds now for a policy. */
export type NamedControl = Required<Omit<Control, "more">> & Pick<Control, "more"> & { readonly name: string };

/** What holds now for one caller, and whether these numbers are its own. */
export type CallerNumbers = Numbers & { readonly isOwn: boolean };

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

  /** What holds now for this caller, or undefined if the policy has no numbers here. */
  ofCaller(name: string, key: Key): CallerNumbers | undefined {
    if (!this.names.includes(name)) return undefined;
    const own = this.own(name, key);
    const { capacity, tokens, everyMs } = own ?? this.numbers(name);
    return { capacity, tokens, everyMs, isOwn: own !== undefined };
  }

  /** What holds now, for each policy. */
  list(): NamedControl[] {
    return this.names.map((name) => this.of(name));
  }
}

/** In words: "capacity 20, 1 token every 1 s". */
export function describeNumbers({ capacity, tokens, everyMs }: Numbers): string {
  return `capacity ${capacity}, ${tokens} ${tokens === 1 ? "token" : "tokens"} every ${everyMs / 1_000} s`;
}

/** In words: "capacity 20, 1 token every 1 s, enforced". */
export function describeControl(control: Control): string {
  return `${describeNumbers(control)}, ${control.shadow === true ? "on trial" : "enforced"}`;
}
