import { Misuse, StoreFailure, type CommandIo } from "./io.js";
import { operate, OPERATE_HELP } from "./operate/operate.js";
import { simulate, SIMULATE_HELP } from "./simulate/simulate.js";

const HELP = `npx sluice <command>

  simulate   replay a log by a policy: who would have been refused?
  peek       what a caller has left
  credit     give tokens to a caller
  debit      take tokens from a caller
  block      refuse a caller for a time, or end that
  reset      give a caller all tokens back

npx sluice <command> --help says more.
`;

/** A command, and the text of its `--help`. */
interface Command {
  readonly run: (args: readonly string[], io: CommandIo) => Promise<void>;
  readonly help: string;
}

const COMMANDS: ReadonlyMap<string, Command> = new Map([
  ["simulate", { run: simulate, help: SIMULATE_HELP }],
  ...(["peek", "credit", "debit", "block", "reset"] as const).map(
    (verb) => [verb, { run: operate(verb), help: OPERATE_HELP }] as const,
  ),
]);

/**
 * Runs `npx sluice` with these arguments. Resolves to the exit code: 0, 1 for a store that fails, or 2 for a mistake in
 * the arguments. A failure is printed in one line.
 */
export async function runCommand([name = "--help", ...args]: readonly string[], io: CommandIo): Promise<number> {
  try {
    const command = COMMANDS.get(name);
    if (command === undefined) {
      if (name !== "--help" && name !== "-h")
        throw new Misuse(`Expected a command (${[...COMMANDS.keys()].join(", ")}), got ${name}`);
      io.stdout.write(HELP);
    } else if (args.includes("--help") || args.includes("-h")) io.stdout.write(command.help);
    else await command.run(args, io);
    return 0;
  } catch (error) {
    if (!(error instanceof Misuse || error instanceof StoreFailure)) throw error;
    io.stderr.write(`sluice: ${error.message}\n`);
    return error instanceof Misuse ? 2 : 1;
  }
}
