// The small gateway of the guide, as a reader copies it: port 3000 becomes any free one.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../helpers/docs-read.js";
import { soon } from "../helpers/soon.js";
import { started, stopClocks } from "../helpers/started.js";

test("takes the estimate, gives back what the answer did not use, and names the limit of one that never fits", async () => {
  stopClocks();
  const { origin } = await started(readFileSync(join(ROOT, "examples/llm/express.ts"), "utf8"));
  const url = `${origin}/chat`;
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

test("a stream settles what was sent, whole or up to the part at which the client left", async () => {
  stopClocks();
  const { origin } = await started(readFileSync(join(ROOT, "examples/llm/express.ts"), "utf8"));
  const stream = (most: number, signal: AbortSignal | null = null, prompt = "1234") =>
    fetch(`${origin}/chat/stream`, { method: "POST", signal, headers: { authorization: "Bearer ann-key", "content-type": "application/json" }, body: JSON.stringify({ prompt, max_tokens: most }) });
  // A request of 400 shows the budget, and costs a request alone.
  const left = async () => /"chat:tokens";r=(\d+)/.exec((await stream(30_000)).headers.get("ratelimit") ?? "")?.[1];

  expect(await (await stream(500)).text()).toBe("1234 ".repeat(50));
  await soon(async () => expect(await left()).toBe("29499")); // the prompt counts, too

  const failed = await stream(1, null, "fail");
  expect([failed.status, await failed.text()]).toEqual([502, '{"message":"The model does not answer"}']);
  await soon(async () => expect(await left()).toBe("29499"));

  const leaving = new AbortController();
  const answer = await stream(20_000, leaving.signal);
  await answer.body?.getReader().read();
  leaving.abort();
  // 9,499 if the estimate stayed charged, 9,500 if the model went on to the end.
  await soon(async () => expect(Number(await left())).toBeGreaterThan(20_000));
});
