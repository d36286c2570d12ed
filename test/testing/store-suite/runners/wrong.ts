// A store that ignores the cost. "runner" is an alias for the test runner.
import { test } from "runner";
import { MemoryStore, type StoreCall } from "../../../../src/index.js";
import { storeSuite } from "../../../../src/testing/index.js";

class IgnoresCost extends MemoryStore {
  override ask(call: StoreCall) {
    const [{ policy, key }, ...others] = call.parts;
    return super.ask(call.verb === "consume" ? { ...call, parts: [{ policy, key, cost: 1 }, ...others] } : call);
  }
}

storeSuite({ test, factory: ({ clock }) => new IgnoresCost({ maxKeys: 1_000, ...(clock && { clock }) }) });
