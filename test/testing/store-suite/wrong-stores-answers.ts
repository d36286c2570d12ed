// Stores that count right and answer with something else than plain data of its own, each with one mistake.
import type { Decision } from "../../../src/index.js";
import { right, wrongStore, type RightStore } from "./wrong-stores-base.js";
import type { WrongStore } from "./wrong-stores.js";

/** A decision whose fields are read from a record, as an ORM's rows are. */
class LiveDecision {
  readonly #fields: Decision;

  constructor(fields: Decision) {
    this.#fields = fields;
    for (const name of Object.keys(fields) as Array<keyof Decision>) {
      Object.defineProperty(this, name, { get: () => this.#fields[name], enumerable: true, configurable: true });
    }
  }
}

class Row {}

const answering = (change: (decision: Decision) => object): typeof RightStore =>
  wrongStore({
    async consume(policy, key, cost) { return change(await right.consume.call(this, policy, key, cost)) as Decision; },
  });

const withReadings = (change: (readings: NonNullable<Decision["limits"]>) => unknown): typeof RightStore =>
  answering((decision) => ({ ...decision, limits: decision.limits === null ? null : change(decision.limits) }));

const last = new WeakMap<RightStore, object>();
const PLAIN = "L7 · a decision is plain data";

export const wrongAnswers: readonly WrongStore[] = [
  ["returns decisions that inherit their fields", answering((decision) => Object.create(decision) as object), PLAIN],
  ["returns decisions that inherit one field", answering(({ resetMs, ...fields }) => Object.assign(Object.create({ resetMs }) as object, fields)), PLAIN],
  ["returns instances of a class", answering((decision) => Object.assign(new Row(), decision)), PLAIN],
  ["returns decisions with getters", answering((decision) => new LiveDecision(decision)), PLAIN],
  ["returns decisions with a hidden field", answering((decision) => Object.defineProperty({ ...decision }, "resetMs", { value: decision.resetMs, enumerable: false })), PLAIN],
  ["returns decisions with a method", answering((decision) => ({ ...decision, toJSON: () => decision })), PLAIN],
  ["returns decisions with a symbol that holds the record", answering((decision) => ({ ...decision, [Symbol("row")]: decision })), PLAIN],
  ["returns one proxy of its last decision", wrongStore({
      async consume(policy, key, cost) {
        const decision = await right.consume.call(this, policy, key, cost);
        const live = last.get(this) ?? {};
        last.set(this, Object.assign(live, decision));
        return new Proxy(live, {}) as Decision;
      },
    }), PLAIN],
  ["returns readings that inherit their fields", withReadings((readings) => readings.map((reading) => Object.create(reading) as object)), PLAIN],
  ["returns readings in an iterable that is no array", withReadings((readings) => ({ ...Object.fromEntries(readings.entries()), length: readings.length, [Symbol.iterator]: () => readings.values() })), PLAIN],
  ["returns readings in an array of a class", withReadings((readings) => (class Rows extends Array {}).from(readings)), PLAIN],
  ["peeks with instances of a class", wrongStore({ async peek(policy, key, cost) { return Object.assign(new Row(), await right.peek.call(this, policy, key, cost)) as never; } }), PLAIN],
  ["charges together with decisions that inherit their fields", wrongStore({ async consumeTogether(charges) { return (await right.consumeTogether.call(this, charges)).map((decision) => Object.create(decision) as Decision); } }), PLAIN],
];
