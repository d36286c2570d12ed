// A history that breaks a law, as a test to paste: the calls of the store in their order.
import type { StoreCall, StoreState } from "./state.js";

/** The text of a test for a state of the world of one store with this name. */
export function asTest(world: string, law: string, { calls: last }: StoreState): string {
  const calls: StoreCall[] = [];
  for (let call = last; call !== null; call = call.before) calls.unshift(call);
  const lines = calls.map((call) => `  ${lineOf(call)}`);
  return [
    `test(${JSON.stringify(law)}, async () => {`,
    "  const real = await realFunctions();",
    `  const policies = STORE_WORLDS.find(({ name }) => name === ${JSON.stringify(world)})!.policies(real).map((options) => real.definePolicy(options));`,
    "  const records: Records = new Map();",
    ...lines, "});",
  ].join("\n");
}

function lineOf({ what, now, version, tokens, origin, move, forMs }: StoreCall): string {
  const policy = `policies[${version}]!`;
  switch (what) {
    case "consume":
      return `expect(real.consumeRecords(records, ${policy}, ${show(tokens)}, ${now}).decision.allowed).toBe(true);`;
    case "adjust":
      return `real.adjustRecords(records, ${policy}, ${show(tokens)}, ${now}, ${show(origin)});`;
    case "renew":
      return `real.renewRecords(records, ${policy}, ${show(tokens)}, ${now}, ${show(move)});`;
    case "block":
      return `real.blockRecords(records, ${forMs}, ${now});`;
    case "reset":
      return "records.clear();";
    default:
      return "// A failover loses the last write.";
  }
}

const show = (value: unknown): string => (value === undefined ? "undefined" : JSON.stringify(value));
