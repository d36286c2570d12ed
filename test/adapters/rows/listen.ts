import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { RunningServer } from "sluice/testing";

/** Starts a server on a free port of this machine. */
export async function listen(server: Pick<Server, "listen" | "close" | "address" | "closeAllConnections">): Promise<RunningServer> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
