import { Misuse, WriteFailure, type CommandIo } from "./io.js";
import { simulate, SIMULATE_HELP } from "./simulate.js";

/**
 * Runs `npx sluice-simulate` with these arguments. Resolves to the exit code: 0, 1 for a page that finds no room, or 2
 * for a mistake in the arguments. A failure is printed in one line.
 */
export async function runSimulate(args: readonly string[], io: CommandIo): Promise<number> {
  try {
    if (args.includes("--help") || args.includes("-h")) io.stdout.write(SIMULATE_HELP);
    else await simulate(args, io);
    return 0;
  } catch (error) {
    if (!(error instanceof Misuse || error instanceof WriteFailure)) throw error;
    io.stderr.write(`sluice-simulate: ${error.message}\n`);
    return error instanceof Misuse ? 2 : 1;
  }
}
