// Registered under whichever runner "runner" stands for: a store that ignores the cost.
import { test } from "runner";
import { MemoryStore, type Policy } from "../../../../src/index.js";
import { storeSuite } from "../../../../src/testing/index.js";

class Wrong extends MemoryStore {
  override consume(policy: Policy, key: string) {
    return super.consume(policy, key, 1);
  }
}

storeSuite({ test, factory: ({ clock }) => new Wrong({ maxKeys: 1_000, ...(clock && { clock }) }) });
