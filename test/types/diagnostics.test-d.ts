import { expectTypeOf } from "expect-type";
import type { WarningCode } from "sluice";
import type { RUN_TIME_CODES } from "../../src/warnings/run-time-codes.js";
import type { SETUP_CODES } from "../../src/warnings/setup-codes.js";
import type * as all from "../../src/diagnostics/index.js";
import type * as none from "../../src/diagnostics/none.js";

// What "#diagnostics" names under the condition "production" can stand for what it names without it.
expectTypeOf<typeof none>().toExtend<typeof all>();

// The union of codes is written out, so that the published types name no list. It is the lists' own.
expectTypeOf<WarningCode>().toEqualTypeOf<(typeof SETUP_CODES | typeof RUN_TIME_CODES)[number]>();
