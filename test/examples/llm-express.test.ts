// The small gateway of the guide, as a reader copies it: port 3000 becomes any free one.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Server, type AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { ROOT } from "../helpers/docs-read.js";
import { ran } from "../helpers/docs-run.js";
import { soon } from "../helpers/soon.js";

test("takes the estimate, gives back what the answer did not use, and names the limit of one that never fits", async () => {
  const clocks = [vi.spyOn(performance, "now").mockReturnValue(0), vi.spyOn(Date, "now").mockReturnValue(0)]; // it has the default ones
  onTestFinished(() => clocks.forEach((clock) => clock.mockRestore()));
  const listen = Server.prototype.listen as (...args: unknown[]) => Server;
  const listening: Server[] = [];
  const spy = vi.spyOn(Server.prototype, "listen").mockImplementation(function (this: Server) {
    listening.push(this);
    return listen.call(this, 0, "127.0.0.1");
  });
  await ran(readFileSync(join(ROOT, "examples/llm/express.ts"), "utf8"));
  spy.mockRestore();
  const [running] = listening as [Server & { closeAllConnections(): void }];
  onTestFinished(() => {
    running.closeAllConnections();
    running.close();
  });
  if (!running.listening) await once(running, "listening");
  const url = `http://127.0.0.1:${(running.address() as AddressInfo).port}/chat`;
  const ask = async (body: unknown, authorization = "Bearer ann-key") => {
    const answer = await fetch(url, { method: "POST", headers: { authorization, "content-type": "application/json" }, body: JSON.stringify(body) });
    return { status: answer.status, limits: answer.headers.get("ratelimit"), body: (await answer.json()) as { message?: string; total_tokens?: number } };
  };

  const first = await ask({ prompt: "12345678", max_tokens: 500 });
  expect(first).toMatchObject({ status: 200, limits: expect.stringMatching(/"chat:requests";r=59;.*"chat:tokens";r=29498;/) as string, body: { total_tokens: 40 } });
  // The settlement follows the end of the response.
  await soon(async () => expect((await ask({ prompt: "fail", max_tokens: 1 })).limits).toContain('"chat:tokens";r=29958'));
  const never = await ask({ prompt: "1234", max_tokens: 30_000 });
  expect([never.status, never.body.message]).toEqual([400, 'This request costs 30001 tokens, and the limit "chat:tokens" allows at most 30000 at once. Ask for less in one request.']);
  expect((await ask({ prompt: "fail", max_tokens: 1 })).status).toBe(502);
  for (const wrong of [{ prompt: 1, max_tokens: 1 }, { prompt: "a", max_tokens: 0 }, { prompt: "a" }, []]) expect((await ask(wrong)).status).toBe(400);
  expect((await ask({ prompt: "a", max_tokens: 1 }, "Bearer nobody")).status).toBe(401);
});
