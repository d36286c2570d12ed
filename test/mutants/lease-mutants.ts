import type { Mutant } from "./mutants.js";

const LEASE = "lease";
const LAWS = "laws-lease";

/** Mistakes of a lease: it lasts too long, or a token goes back that was used or has refilled. */
export const leaseMutants: readonly Mutant[] = [
  { item: "L1", test: LEASE, find: "return steady - sent.steady < this.#leaseMs && wall", replace: "return wall" },
  { item: "L1", test: LEASE, find: "&& wall - sent.wall < this.#leaseMs", replace: "" },
  { item: "L1", test: LEASE, find: "this.#leaseMs && wall >= sent.wall;", replace: "this.#leaseMs;" },
  { item: "L1", test: LEASE, find: "this.#sent = sent;", replace: "this.#sent = now;" },
  { item: "L1", test: LEASE, find: "this.#taken -= tokens;", replace: "void tokens;" },
  { item: "L1", test: LEASE, find: "    lease.end(now);", replace: "    void now;" },
  { item: "L1", test: LEASE, find: "this.#unused = this.#isEnded ? 0 :", replace: "this.#unused =" },
  { item: "L1", test: LAWS, find: "if (cost > this.#unused || !this.#isWithin(this.#sent, now)) return null;", replace: "if (cost > this.#unused) return null;" },
  { item: "L1", test: LAWS, find: "- Math.max(0, ageMs) * unitsPerMs;", replace: ";" },
  { item: "L1", test: LAWS, find: "Math.min(this.#unused, Math.floor(left / unitsPerToken))", replace: "Math.floor(left / unitsPerToken)" },
  { item: "L1", test: LAWS, find: "    this.#unused -= cost;", replace: "    void cost;" },
];
