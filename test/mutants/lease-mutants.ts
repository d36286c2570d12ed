import type { Mutant } from "./mutants.js";

const LEASE = "lease";
const LAWS = "laws-lease";
const LOST = "lost-data";
const FLOOD = "flood";
const CHANGES = "changes";

/** Mistakes of a lease: it lasts too long, a token goes back that was used or has refilled, or it asks too often. */
export const leaseMutants: readonly Mutant[] = [
  { item: "L1", test: LEASE, in: "isWithin", find: "return steady - since.steady < ms && wall", replace: "return wall" },
  { item: "L1", test: LEASE, in: "isWithin", find: "&& wall - since.wall < ms", replace: "" },
  { item: "L1", test: LEASE, in: "isWithin", find: "< ms && wall >= since.wall;", replace: "< ms;" },
  { item: "L1", test: LEASE, in: "afterTake", find: "return { fresh: ask, kept, sent, keptSent,", replace: "return { fresh: ask, kept, sent: now, keptSent," },
  { item: "L1", test: LEASE, in: "step", find: "state.held.taken - event.tokens", replace: "state.held.taken" },
  { item: "L1", test: LEASE, in: "step", find: "held: NOTHING_HELD, isEnded: true }", replace: "isEnded: false }" },
  { item: "L1", test: LEASE, in: "answered", find: "state.isEnded ? { ...after, held: NOTHING_HELD } : after", replace: "after" },
  { item: "L1", test: LEASE, in: "grantable", find: "isWithin(leaseMs, held.sent, now)", replace: "held.fresh > 0" },
  { item: "L1", test: LEASE, in: "keepable", find: "held.spentLeast - Math.max(0, ageMs) * limit.unitsPerMs", replace: "held.spentLeast" },
  { item: "L1", test: LAWS, in: "keepable", find: "Math.min(held.fresh + keptAt(held, leaseMs, now), part)", replace: "part" },
  { item: "L1", test: LAWS, in: "afterGrant", find: "held.fresh - (cost - oldest)", replace: "held.fresh" },
  { item: "L1", test: LOST, in: "keepable", find: "* limit.unitsPerMs, spent);", replace: "* limit.unitsPerMs);" },
  { item: "L1", test: LOST, in: "keptAt", find: "kept > 0 && isWithin(2 * leaseMs, keptSent, now)", replace: "kept > 0" },
  { item: "L1", test: LOST, in: "keepable", find: "|| !isWithin(2 * leaseMs, held.sent, now)", replace: "" },
  { item: "L1", test: LOST, in: "afterTake", find: "keptAt(held, leaseMs, now) > 0 ? held.keptSent : held.sent", replace: "sent" },
  { item: "L1", test: FLOOD, in: "refusal", find: "isResting || decision.allowed", replace: "isResting" },
  { item: "L2", test: FLOOD, in: "refusal", find: "isUntilCall ? callFrom : -Infinity", replace: "-Infinity" },
  { item: "L2", test: FLOOD, in: "refusal", find: "bucket.at + Math.max(0, steady - leftAt)", replace: "bucket.at" },
  { item: "L16", test: FLOOD, in: "isDry", find: "return supply.isResting || mostAfter", replace: "return mostAfter" },
  { item: "L16", test: FLOOD, in: "plan", find: "const offer = isEarly ? there", replace: "const offer = sent.steady > 0 ? there" },
  { item: "L16", test: FLOOD, in: "plan", find: "supply.share * (1 - supply.margin)", replace: "supply.share" },
  { item: "L16", test: FLOOD, in: "learn", find: "supply.margin * MARGIN_KEPT", replace: "MARGIN" },
  { item: "L16", test: FLOOD, in: "learn", find: "leaseMs * (1 + later)", replace: "leaseMs" },
  { item: "L2", test: CHANGES, in: "LATER", find: "LATER = 0.1", replace: "LATER = 0.5" },
  { item: "L2", test: CHANGES, in: "learn", find: "isResting: !isPlenty && (remaining", replace: "isResting: (remaining" },
  { item: "L16", test: CHANGES, in: "GROWTH_FULL", find: "GROWTH_FULL = 0.2", replace: "GROWTH_FULL = 0.05" },
  { item: "L16", test: CHANGES, in: "learn", find: "(isEarly && !isPlenty) || isEmpty", replace: "isEarly && !isPlenty" },
  { item: "L16", test: FLOOD, in: "learn", find: "|| (missing > 0 && supply.isResting && !isEarly)", replace: "" },
  { item: "L16", test: FLOOD, in: "plan", find: "needed + Math.floor((offer - needed) * SPARE)", replace: "offer" },
  { item: "L16", test: FLOOD, in: "plan", find: "Math.max(2 * taken, Math.min(4 * taken, refill))", replace: "0" },
  { item: "L16", test: FLOOD, in: "Leases.ask", find: "|| terms.limit.capacity < refillOf(terms)", replace: "" },
  { item: "L5", test: FLOOD, in: "plan", find: "offer < needed || isLast ? offer", replace: "offer < needed ? offer" },
  { item: "L14", test: LEASE, in: "beginLease", find: "steady + AFTER_CHANGE * terms.leaseMs", replace: "steady" },
];
