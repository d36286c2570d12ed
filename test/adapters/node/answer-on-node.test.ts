// `answerOnNode`, as authors of adapters call it. The adapter suite has what it shares with the Node adapter.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createGate, type AdapterOptions, type Outcome, type Verdict } from "sluice/http";
import { answerOnNode, nodeReader } from "sluice/node";
import { expect, test } from "vitest";
import { soon } from "../../helpers/soon.js";
import { listen } from "../rows/listen.js";
import { oneToken } from "../setup.js";

/** The answers to two requests, of which the limit lets the first through. */
async function twoAnswers(options: object = {}): Promise<readonly unknown[]> {
  const gate = createGate<IncomingMessage>({ ...oneToken(), key: () => "ann", ...options } as AdapterOptions<IncomingMessage>, nodeReader);
  const { port, close } = await listen(createServer((request, response) => {
    const verdict = gate(request) as Verdict;
    expect(answerOnNode(verdict, request, response)).toBeUndefined();
    if (verdict.outcome !== "refuse") response.end("ok");
  }));
  try {
    const told: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      const response = await fetch(`http://127.0.0.1:${port}`);
      told.push([response.status, response.headers.get("ratelimit-remaining"), (await response.text()).slice(0, 8)]);
    }
    return told;
  } finally {
    await close();
  }
}

test("writes the fields of a pass, the whole refusal, and nothing for a request that is not limited", async () => {
  expect(await twoAnswers()).toEqual([[200, "0", "ok"], [429, "0", '{"type":']]);
  expect(await twoAnswers({ skip: () => true })).toEqual([[200, null, "ok"], [200, null, "ok"]]);
});

test("sends what `respond` answers, which gets the request of the gate and the response", async () => {
  const respond = (_refusal: unknown, request: IncomingMessage, response: ServerResponse): unknown => response.end(`slow ${request.url}`);
  expect(await twoAnswers({ respond })).toEqual([[200, "0", "ok"], [429, "0", "slow /"]]);
});

test("ends the work when the response has closed", async () => {
  const outcomes: Outcome[] = [];
  await twoAnswers({ actualCost: (outcome: Outcome) => void outcomes.push(outcome) });
  await soon(() => expect(outcomes).toEqual([{ status: 200, aborted: false }]));
});

test("throws for the promise of a verdict", () => {
  expect(() => answerOnNode(Promise.resolve() as never, {}, {} as never)).toThrow("Expected `verdict` to be of a gate, got an object. Await the gate");
});
