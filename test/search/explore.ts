// Goes through every state of a small world, breadth first, so that the history of a fault is the shortest.

/** What can happen next in a state. */
export interface Step<State> {
  /** In the words of the design, such as `work 1 settles`. */
  readonly event: string;
  readonly state: State;
  /** The law that this step breaks, and how. */
  readonly broken?: string | undefined;
}

/** A small world: its first state, what can happen, and what must hold. */
export interface World<State> {
  readonly name: string;
  readonly start: State;
  next(state: State): Iterable<Step<State>>;
  /** A text that is equal for states that are alike. */
  nameOf(state: State): string;
  /** The law that a state breaks, and how. */
  broken(state: State): string | undefined;
}

/** What a search found. */
export interface Exploration<State = unknown> {
  readonly world: string;
  readonly states: number;
  readonly steps: number;
  /** The most events in a row. */
  readonly depth: number;
  /** Whether no new state is left. */
  readonly isExhausted: boolean;
  /** The law that is broken, the shortest history that breaks it, and the state after it. */
  readonly fault: { readonly law: string; readonly events: readonly string[]; readonly state: State } | null;
}

/** Visits the states of a world until none is left, a law is broken, or `most` states are known. Shows each to `look`. */
export function explore<State>(world: World<State>, most = 20_000_000, look: (state: State) => void = () => undefined): Exploration<State> {
  const known = new KnownStates();
  let [steps, depth] = [0, 0];
  known.add(world.nameOf(world.start), -1, "");
  let level: Array<readonly [id: number, state: State]> = [[0, world.start]];
  const ended = (fault: Exploration<State>["fault"]): Exploration<State> =>
    ({ world: world.name, states: known.size, steps, depth, isExhausted: fault === null && level.length === 0, fault });
  while (level.length > 0) {
    const following: typeof level = [];
    for (const [id, state] of level) {
      for (const step of world.next(state)) {
        steps += 1;
        // A step that breaks a law counts also when it leads to a known state.
        if (step.broken !== undefined) return ended({ law: step.broken, events: [...known.historyOf(id), step.event], state: step.state });
        const next = known.add(world.nameOf(step.state), id, step.event);
        if (next < 0) continue;
        const law = world.broken(step.state);
        if (law !== undefined) return ended({ law, events: known.historyOf(next), state: step.state });
        look(step.state);
        if (known.size >= most) return ended(null);
        following.push([next, step.state]);
      }
    }
    level = following;
    if (level.length > 0) depth += 1;
  }
  return ended(null);
}

const FREE = -1;

/** The fingerprints of all known states, and how each was reached first. At most 40 bytes for each state. */
class KnownStates {
  size = 0;
  #prints = new Float64Array(1 << 16).fill(FREE);
  /** Of each state: the one before, and the number of the event between. */
  #before = new Int32Array(1 << 15);
  #by = new Uint32Array(1 << 15);
  readonly #events: string[] = [];
  readonly #numbers = new Map<string, number>();

  /** Returns the number of a new state, or -1 for a known one. */
  add(name: string, before: number, event: string): number {
    if (2 * this.size >= this.#prints.length) this.#grow();
    const print = fingerprint(name);
    const place = this.#placeOf(print);
    if (this.#prints[place] === print) return -1;
    this.#prints[place] = print;
    this.#before[this.size] = before;
    this.#by[this.size] = this.#numberOf(event);
    return this.size++;
  }

  /** The events that led to a state first. */
  historyOf(state: number): string[] {
    const events: string[] = [];
    for (let id = state; id > 0; id = this.#before[id] as number) events.unshift(this.#events[this.#by[id] as number] as string);
    return events;
  }

  #numberOf(event: string): number {
    const known = this.#numbers.get(event);
    if (known !== undefined) return known;
    this.#numbers.set(event, this.#events.length);
    return this.#events.push(event) - 1;
  }

  #placeOf(print: number): number {
    const mask = this.#prints.length - 1;
    let place = Math.imul(print % 0x1_0000_0000, 0x9e37_79b1) >>> 0 & mask;
    while (this.#prints[place] !== FREE && this.#prints[place] !== print) place = (place + 1) & mask;
    return place;
  }

  #grow(): void {
    const prints = this.#prints;
    this.#prints = new Float64Array(2 * prints.length).fill(FREE);
    for (const print of prints) if (print !== FREE) this.#prints[this.#placeOf(print)] = print;
    this.#before = enlarged(this.#before, new Int32Array(prints.length));
    this.#by = enlarged(this.#by, new Uint32Array(prints.length));
  }
}

function enlarged<List extends Int32Array | Uint32Array>(old: List, larger: List): List {
  larger.set(old);
  return larger;
}

/** 53 bits of a text: two hashes of 32 and 21 bits. Among 20 million states two share one with a chance of 1 in 45. */
export function fingerprint(text: string): number {
  let [a, b] = [0x811c_9dc5, 0x0123_4567];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x0100_0193);
    b = Math.imul(b ^ code, 0x5bd1_e995) ^ (b >>> 13);
  }
  // The last bits of both depend on the last characters alone, so they are mixed.
  a = Math.imul(a ^ (a >>> 15), 0x2c1b_3c6d);
  b = Math.imul(b ^ (b >>> 15), 0x2c1b_3c6d);
  return ((a ^ (a >>> 13)) >>> 0) * 2 ** 21 + ((b ^ (b >>> 12)) >>> 11);
}
