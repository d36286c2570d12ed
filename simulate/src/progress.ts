import type { CommandIo } from "./io.js";
import type { TellProgress } from "./log/lines.js";

const WIDTH = 30;

/** A progress bar on a terminal. Anywhere else, such as in a pipe, it writes nothing. */
export function progressBar(stderr: CommandIo["stderr"]): { readonly tell: TellProgress; end(): void } {
  if (stderr.isTTY !== true) return { tell: () => undefined, end: () => undefined };
  let shown = "";
  return {
    tell(part) {
      const text =
        part === undefined ? "reading" : `${"█".repeat(Math.floor(WIDTH * part)).padEnd(WIDTH, "░")} ${Math.floor(100 * part)} %`;
      if (text !== shown) stderr.write(`\r${text}`);
      shown = text;
    },
    end: () => void stderr.write(`\r${" ".repeat(WIDTH + 8)}\r`),
  };
}
