// Operating-system processes that take part in a test.
import { fork, type ChildProcess } from "node:child_process";
import { bundled } from "./bundled.js";

/** Runs a TypeScript file in a process of its own, by this Node or by `execPath`. It ends when the channel to this process does. */
export async function startProcess(file: string, args: readonly string[], execPath = process.execPath): Promise<ChildProcess> {
  return fork(await bundled(file), args, { execPath, execArgv: [], serialization: "advanced" });
}

/** The next message from a process; rejects when the process ends without one. */
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
