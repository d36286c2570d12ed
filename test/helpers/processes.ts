// Operating-system processes that take part in a test.
import { fork, type ChildProcess } from "node:child_process";

/** Runs a TypeScript file in a process of its own. It ends when the channel to this process does. */
export function startProcess(file: string, args: readonly string[]): ChildProcess {
  return fork(file, args, { execArgv: ["--import", "tsx"], serialization: "advanced" });
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
