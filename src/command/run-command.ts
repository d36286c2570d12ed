import { Misuse, StoreFailure, type CommandIo } from "./io.js";
import { operate, OPERATE_HELP } from "./operate.js";
import type { Verb } from "./read-order.js";

const HELP = `npx sluice <command>

  peek       what a caller has left
  credit     give tokens to a caller
  debit      take tokens from a caller
  block      refuse a caller for a time, or end that
  reset      give a caller all tokens back

npx sluice <command> --help says more. To replay a log by a policy: npx sluice-simulate, a package of its own.
`;

const VERBS: readonly Verb[] = ["peek", "credit", "debit", "block", "reset"];

/**
 * Runs `npx sluice` with these arguments. Resolves to the exit code: 0, 1 for a store that fails, or 2 for a mistake in
 * the arguments. A failure is printed in one line.
 */
export async function runCommand([name = "--help", ...args]: readonly string[], io: CommandIo): Promise<number> {
  try {
    const verb = VERBS.find((each) => each === name);
    if (name === "simulate") throw new Misuse("simulate is a package of its own now. Write npx sluice-simulate access.log ...");
    if (verb === undefined && name !== "--help" && name !== "-h")
      throw new Misuse(`Expected a command (${VERBS.join(", ")}), got ${name}`);
    if (verb === undefined) io.stdout.write(HELP);
    else if (args.includes("--help") || args.includes("-h")) io.stdout.write(OPERATE_HELP);
    else await operate(verb, args, io);
    return 0;
  } catch (error) {
    if (!(error instanceof Misuse || error instanceof StoreFailure)) throw error;
    io.stderr.write(`sluice: ${error.message}\n`);
    return error instanceof Misuse ? 2 : 1;
  }
}
