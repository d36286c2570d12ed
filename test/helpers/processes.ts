// Operating-system processes that take part in a test.
import { fork, type ChildProcess } from "node:child_process";
import { bundled } from "./bundled.js";

/**
 * Runs a TypeScript file in a new process, with this Node or with `execPath`. It ends when its channel to this process
 * closes.
 */
export async function startProcess(file: string, args: readonly string[], execPath = process.execPath): Promise<ChildProcess> {
  return fork(await bundled(file), args, { execPath, execArgv: [], serialization: "advanced" });
}

/** The next message of a process. Rejects when the process ends first. */
export function messageFrom<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`The process ended with ${code} and said nothing`));
    child.once("exit", ended);
    child.once("message", (message) => {
      child.off("exit", ended);
      resolve(message as T);
    });
  });
}
