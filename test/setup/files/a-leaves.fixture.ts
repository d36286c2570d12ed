// Leaves what the setup takes back at the end of a file.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test, vi } from "vitest";

const { setTimeout: setRealTimeout } = globalThis;

test("leaves a call of fetch, timers, fake timers and globals", async () => {
  const server = createServer((_request, response) => void setRealTimeout(() => response.end("ok"), 30).unref());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  void fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).catch(() => {}).finally(() => server.close());
  setInterval(() => setTimeout(() => {}, 1_000), 1).unref();
  Object.assign(globalThis, { Headers: class {}, left: true });
  vi.useFakeTimers();
  expect(vi.isFakeTimers()).toBe(true);
});
