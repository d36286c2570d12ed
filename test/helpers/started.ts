// Runs a program that listens on port 3000, as a reader copies it: the port becomes any free one.
import { once } from "node:events";
import { Server, type AddressInfo } from "node:net";
import { onTestFinished, vi } from "vitest";
import { ran } from "./docs-run.js";

/** Returns what a program exports, and the address of its server, which ends with the test: "" for one without a server. */
export async function started(program: string): Promise<{ readonly origin: string; readonly exports: Readonly<Record<string, unknown>> }> {
  const listening: Server[] = [];
  const listen = Server.prototype.listen as (...args: unknown[]) => Server;
  const spy = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server, ...args: unknown[]) {
    listening.push(this);
    return listen.call(this, 0, "127.0.0.1", ...args.filter((arg) => typeof arg === "function"));
  });
  const { exports } = await ran(program).catch((error: unknown) => {
    spy.mockRestore();
    throw error;
  });
  // A program without `await` at the top listens later.
  while (listening.length === 0 && program.includes(".listen(")) await new Promise((resolve) => setImmediate(resolve));
  spy.mockRestore();
  const [server] = listening as [(Server & { closeAllConnections(): void }) | undefined];
  if (server === undefined) return { origin: "", exports };
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  if (!server.listening) await once(server, "listening");
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, exports };
}

/** Stops both clocks that a limiter looks at by default, until the test ends. */
export function stopClocks(): void {
  const clocks = [vi.spyOn(performance, "now").mockReturnValue(0), vi.spyOn(Date, "now").mockReturnValue(0)];
  onTestFinished(() => clocks.forEach((clock) => clock.mockRestore()));
}
