// A way to a server that a test may cut: a proxy on loopback that goes silent, as a network does that drops every packet.
import { connect, createServer, type Socket } from "node:net";

/** What becomes of the connections that were there when it fell silent. */
type Afterwards =
  /** What was held back arrives, as when a server was only stopped. */
  | "late"
  /** They stay silent for ever, and only new ones work, as after a failover or a firewall that forgot them. */
  | "lost";

/** A proxy before one server. */
export interface SilentProxy {
  readonly port: number;
  /** How many connections it has accepted. */
  readonly accepted: number;
  /** From now on nothing passes. Connections are accepted, and hear nothing. */
  silence(): void;
  /** Lets everything pass again, but for what is lost. */
  speak(afterwards: Afterwards): void;
  stop(): void;
}

/** Starts a proxy to `hostname` and `port`. */
export async function startSilentProxy(hostname: string, port: number): Promise<SilentProxy> {
  let silent = false;
  let accepted = 0;
  const sockets = new Set<Socket>();
  // In both directions, what is passed on when it speaks again.
  let passing: { from: Socket; to: Socket }[] = [];
  const pass = (from: Socket, to: Socket): void => {
    passing.push({ from, to });
    from.on("data", (chunk) => void to.write(chunk));
    if (silent) from.pause();
  };
  const server = createServer((near) => {
    accepted += 1;
    const far = connect(port, hostname);
    for (const [one, other] of [[near, far], [far, near]] as const) {
      sockets.add(one);
      one.on("error", () => undefined).on("close", () => (sockets.delete(one), other.destroy()));
      pass(one, other);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as { port: number }).port,
    get accepted() {
      return accepted;
    },
    silence() {
      silent = true;
      for (const { from } of passing) from.pause();
    },
    speak(afterwards) {
      silent = false;
      if (afterwards === "late") for (const { from } of passing) from.resume();
      else passing = [];
    },
    stop() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
