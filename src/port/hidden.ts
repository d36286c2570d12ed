// Private fields on objects of others. They appear in no list of members and in no log, a copy of the object lacks
// them, and other code cannot read or set them. In V8 such a field costs a tenth of Object.defineProperty, and a
// WeakMap costs more than the decision. All of them are in this file, because scripts/build-commonjs.mjs translates it
// for parsers without private fields.

/**
 * A base class that returns the given object instead of a new one. A subclass then adds its private field to that
 * object. It extends null, because any other base class makes an object first, for each decision.
 */
class Itself extends null {
  constructor(itself: object) {
    return itself;
  }
}

/** A field that {@link createHiddenField} adds to objects of others. */
export interface HiddenField<T> {
  /** Returns null for an object without the field. */
  read(object: object): T | null;
  write(object: object, value: T): void;
}

/** Makes a private field for objects of others. */
export function createHiddenField<T>(): HiddenField<T> {
  return class Hidden extends Itself {
    #value: T;

    constructor(object: object, value: T) {
      super(object);
      this.#value = value;
    }

    static read(object: object): T | null {
      return #value in object ? object.#value : null;
    }

    static write(object: object, value: T): void {
      if (#value in object) object.#value = value;
      else new Hidden(object, value);
    }
  };
}

/** What {@link createMark} returns. `new` throws for a decision that has the mark. */
export interface Mark {
  new (decision: object, by: object, key: string): object;
  read(decision: object): object | null;
  keyOf(decision: object): string;
  add(decision: object, by: object | null, key: string | undefined): void;
}

/**
 * Makes the fields that say what charged a decision, and under which key. Two fields, because an object for both costs
 * more.
 */
export function createMark(): Mark {
  return class Charged extends Itself {
    #by: object | null;
    #key: string;

    constructor(decision: object, by: object, key: string) {
      super(decision);
      this.#by = by;
      this.#key = key;
    }

    static read(decision: object): object | null {
      return #by in decision ? decision.#by : null;
    }

    static keyOf(decision: object): string {
      return (decision as Charged).#key;
    }

    static add(decision: object, by: object | null, key: string | undefined): void {
      if (!(#by in decision)) return void (by !== null && new Charged(decision, by, key as string));
      decision.#by = by;
      if (key !== undefined) decision.#key = key;
    }
  };
}
