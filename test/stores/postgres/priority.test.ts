import { describe } from "vitest";
import { ownTable } from "../../helpers/postgres.js";
import { describeWith } from "../../helpers/services.js";
import { testPriority } from "../../limiter/priority.js";

describeWith("postgres", "Postgres", () => {
  const own = ownTable(`priority_${process.pid}`);
  describe("with a clock of its own", () => testPriority(() => own.store, (ms) => own.clock.advance(ms)));
});
