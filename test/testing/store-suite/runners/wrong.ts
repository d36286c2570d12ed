// A store that ignores the cost. "runner" is an alias for the test runner.
import { test } from "runner";
import { MemoryStore, type Policy } from "../../../../src/index.js";
import { storeSuite } from "../../../../src/testing/index.js";

class IgnoresCost extends MemoryStore {
  override consume(policy: Policy, key: string) {
    return super.consume(policy, key, 1);
  }
}

storeSuite({ test, factory: ({ clock }) => new IgnoresCost({ maxKeys: 1_000, ...(clock && { clock }) }) });
