// Leaves what the setup cannot take back.
import { createServer } from "node:net";
import { expect, test } from "vitest";

test("leaves a server, a listener, a variable and a member of all objects", async () => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  process.on("beforeExit", () => {});
  process.env["LEFT"] = "yes";
  Object.defineProperty(Object.prototype, "left", { value: true, configurable: true });
  expect(server.listening).toBe(true);
});
