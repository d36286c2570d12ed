import type { Mutant } from "./mutants.js";

const ROWS = "sql/rows";
const LONE = "redis/lone";

/** The mistakes of stores that read and write rows. */
export const storeMutants: readonly Mutant[] = [
  { item: "L3", in: "SqlStore.#updateRows", find: "if (ttlMs === 0 && isEmpty(rows.get(name) as SqlRow)) continue;", replace: "", test: ROWS },
  { item: "L3", in: "SqlStore.#updateRows", find: "if (!outcomes.some(({ changed }) => changed[i])) continue;", replace: "", test: ROWS },
  { item: "L4", in: "SqlStore.#updateRows", find: "Math.min(now + ttlMs, Number.MAX_SAFE_INTEGER)", replace: "now + Math.floor(ttlMs / 1_000)", test: ROWS },
  { item: "L4", in: "blockRecords", find: "changed: records.delete(BLOCK)", replace: "changed: !records.delete(BLOCK)", test: ROWS },
  { item: "L5", in: "SqlStore.#updateRows", find: "outcomes.some(({ changed }) => changed[i])", replace: "outcomes.every(({ changed }) => changed[i])", test: ROWS },
  { item: "L10", in: "SqlStore.#updateRows", find: "[...names].sort()", replace: "names", test: ROWS },
  { item: "L10", in: "answerCall", find: "foreseen.some(", replace: "foreseen.length > 0 && foreseen.every(", test: ROWS },
  { item: "L11", in: "runLater", find: "(error: unknown) => steps.throw(error)", replace: "() => steps.next()", test: ROWS },
  { item: "L14", in: "answerCall", find: "changed: outcomes.map(({ changed }) => changed)", replace: "changed: outcomes.map(({ changed }) => changed && !isRefused)", test: ROWS },
  { item: "L1", in: "fullScript", find: "then return set end", replace: "then isRepeated = false end", test: "full-memory" },
  { item: "L1", in: "watchConnection", find: "socket === before[i]", replace: "socket !== null", test: "too-late" },
  { item: "L6", in: "ScriptCalls.#sendTogether", find: "late !== null && isConnected?.()", replace: "false", test: "too-late" },
  { item: "L6", in: "ANSWERED", find: '"ERR_STORE_TOO_LATE", ', replace: "", test: "failed-settlements" },
  { item: "L8", in: "loneScript", find: "local fits = free >= 0 and spent <= free * q", replace: "local fits = free >= 0 and spent < free * q", test: LONE },
  { item: "L5", in: "loneScript", find: "local fits = free >= 0 and spent <= free * q", replace: "local fits = free >= 0 and spent <= (free + 1) * q", test: LONE },
  { item: "L14", in: "loneScript", find: "if ownP ~= p or ownQ ~= q or own ~= name then return end", replace: "if own ~= name then return end", test: LONE },
  { item: "L14", in: "loneScript", find: "or at > now or at % 1 ~= 0 then return end", replace: "or at % 1 ~= 0 then return end", test: LONE },
];
