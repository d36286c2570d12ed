// Raises the limit of one customer.
import { live, redis } from "./limits.js"; // your copy: "./limits.mjs"
import { ownName } from "./live-limits.js";

try {
  await live.set(ownName("interactive", ["user", 42]), { capacity: 100, tokens: 20, everyMs: 1_000 });
} finally {
  live.close();
  redis.disconnect(); // or the script never ends
}
