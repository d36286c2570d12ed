import type { Mutant } from "./mutants.js";

const AMOUNTS = "window-amounts";
const LIST = "window";
const TABLE = "window-table";
const SCRIPT = "window-script";

/** The mistakes against law L22, and those about windows against other laws. */
export const windowMutants: readonly Mutant[] = [
  { item: "L22", test: AMOUNTS, in: "dropOver", find: "list[i + 2] = Math.min(list[i + 2] as number, latest);", replace: "" },
  { item: "L22", test: AMOUNTS, in: "take", find: "(list[i + 3] as number) - (list[i + 2] as number)", replace: "(list[i + 3] as number) - (list[i] as number)" },
  { item: "L22", test: LIST, in: "join", find: "list[i] = list[i + 3] as number;", replace: "" },
  { item: "L22", test: LIST, in: "join", find: "(list[i + 1] as number) + (list[i + 4] as number)", replace: "list[i + 4] as number" },
  { item: "L22", test: LIST, in: "checkSameLength", find: "other === undefined || other === afterMs", replace: "true" },
  { item: "L22", test: "window-outage", in: "shareOfLimit", find: "capacity: share, returns: limit.returns", replace: "capacity, returns: limit.returns" },
  { item: "L14", test: LIST, in: "dropOver", find: "list[i] = latest;", replace: "" },
  { item: "L13", test: TABLE, in: "WindowTable.put", find: "entry.spent > 0 && entry.at < now", replace: "false" },
  { item: "L13", test: TABLE, in: "MemoryShard.#forget", find: "this.#onRemoved?.(", replace: "void (" },
  { item: "L13", test: TABLE, in: "Rows.write", find: "place === 0 || POOL_OF[place % MOST_IN_PLACE] !== POOL_OF[count]", replace: "place === 0" },
  { item: "L13", test: TABLE, in: "MemoryStore.#tableOf", find: "this.#kindTables.get(Table) ??", replace: "this.#kindTables.values().next().value ??" },
  { item: "L22", test: SCRIPT, in: "windowWay", find: "at - first < least", replace: "at - first <= least" },
  { item: "L22", test: SCRIPT, in: "windowWay", find: "if place - size == from then begins = last end", replace: "" },
  { item: "L22", test: SCRIPT, in: "windowWay", find: "sum + tokens > capacity", replace: "sum >= capacity" },
  { item: "L22", test: SCRIPT, in: "recordsOfKey", find: "span < least", replace: "span <= least" },
  { item: "L22", test: SCRIPT, in: "recordsOfKey", find: "list[i + 2] > date", replace: "false" },
  { item: "L22", test: SCRIPT, in: "recordsOfKey", find: "tokens, i = date and 0 or -left, i - 3", replace: "tokens, i = 0, i - 3" },
  { item: "L22", test: SCRIPT, in: "recordsOfKey", find: "min(at - q + 1, latest)", replace: "min(at, latest)" },
  { item: "L22", test: "window-sql", in: "writeWindow", find: "least(e.t - e.q + 1, own)", replace: "least(e.t, own)" },
  { item: "L22", test: "window-sql", in: "writeWindow", find: "IF back_to[k] IS NULL OR", replace: "IF" },
  { item: "L22", test: "window-sql", in: "writeWindow", find: "lasts[n + 1] - firsts[n], n LIMIT 1", replace: "lasts[n + 1] - lasts[n], n LIMIT 1" },
  { item: "L22", test: "window-sql", in: "grantWindows", find: "own - since < shortest", replace: "own - since <= shortest" },
];
