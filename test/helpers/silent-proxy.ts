// A proxy on the loopback between a test and a server. It can go silent, like a network that drops every packet.
import { connect, createServer, type Socket } from "node:net";

/** The connections of the silence afterwards. */
type Afterwards =
  /** The held data arrives, as after a server was only stopped. */
  | "late"
  /** They stay silent, and only new connections work, as after a failover or a restarted firewall. */
  | "lost";

/** A proxy in front of one server. */
export interface SilentProxy {
  readonly port: number;
  /** The number of accepted connections. */
  readonly accepted: number;
  /** The next answer is lost, and its connection is closed. */
  loseAnswer(): void;
  /** From now on no data passes. Connections are accepted, and get no answer. */
  silence(): void;
  /** Data passes again, except lost data. */
  speak(afterwards: Afterwards): void;
  stop(): void;
}

/** Starts a proxy to `hostname` and `port`. */
export async function startSilentProxy(hostname: string, port: number): Promise<SilentProxy> {
  let silent = false;
  let losesAnswer = false;
  const farSides = new WeakSet<Socket>();
  let accepted = 0;
  const sockets = new Set<Socket>();
  // The sockets that pass data on after the silence, in both directions.
  let passing: { from: Socket; to: Socket }[] = [];
  const pass = (from: Socket, to: Socket): void => {
    passing.push({ from, to });
    from.on("data", (chunk) => {
      if (!losesAnswer || !farSides.has(from)) return void to.write(chunk);
      losesAnswer = false;
      from.destroy();
      to.destroy();
    });
    if (silent) from.pause();
  };
  const server = createServer((near) => {
    accepted += 1;
    const far = connect(port, hostname);
    farSides.add(far);
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
    loseAnswer() {
      losesAnswer = true;
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
