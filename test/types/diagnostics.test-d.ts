import { expectTypeOf } from "expect-type";
import type * as all from "../../src/diagnostics/index.js";
import type * as none from "../../src/diagnostics/none.js";

// What "#diagnostics" names under the condition "production" can stand for what it names without it.
expectTypeOf<typeof none>().toExtend<typeof all>();
