import type { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Limiter } from "sluice";
import { createGate, fieldRecord, type Outcome, type PassVerdict, type RefuseVerdict, type RequestReader, type Verdict } from "sluice/http";
import { nodeReader, rateLimit, type NodeRequest } from "sluice/node";
import { applyToNode, refuseOnNode } from "../../../src/adapters/node/response.js";
import { adapterSuite, type AdapterTrait } from "sluice/testing";
import { afterAll, beforeAll, describe, expect, test, vi, type MockInstance } from "vitest";
import { serveNode, type NodeAdapter } from "../../adapters/rows/node.js";

describe("a wrong adapter fails the case that names its mistake", () => {
  const wrong: Array<[mistake: string, adapter: NodeAdapter, failing: string, timeoutMs?: number]> = [
    [
      "sets the fields after the handler",
      changed({ pass: (response, verdict) => queueMicrotask(() => applyToNode(response, verdict)) }),
      "18, 20 · the fields are in the head of a streamed response",
    ],
    ["skips HEAD requests", skipping((request) => request.method === "HEAD"), "12 · a 429 to a HEAD"],
    ["calls the handler for refused requests", refusing((_response, _verdict, next) => void next()), "1 · a refused request"],
    [
      "sends Retry-After on every response",
      changed({
        pass(response, verdict) {
          applyToNode(response, verdict);
          response.setHeader("Retry-After", "1");
        },
      }),
      "15, 16, 21, 23, 28",
    ],
    [
      "rounds the wait down",
      refusing((response, verdict) => refuseOnNode(response, edited(verdict, "Retry-After", "1"))),
      "2, 3, 9, 10, 11, 27",
    ],
    [
      "keeps the earlier Cache-Control",
      refusing((response, verdict) => refuseOnNode(response, edited(verdict, "Cache-Control", "public, max-age=60"))),
      "14 · a 429 is never cached",
    ],
    [
      "overwrites the fields that the handler sets",
      changed({
        pass(response, verdict) {
          const { end } = response;
          response.end = ((...args: Parameters<typeof end>) => {
            applyToNode(response, verdict);
            return end.apply(response, args);
          }) as typeof end;
          applyToNode(response, withoutWork(verdict));
        },
      }),
      "19 · a RateLimit-Remaining",
    ],
    ["overwrites the exposed names", changed({ before: (_request, response) => response.removeHeader("Access-Control-Expose-Headers") }), "37 · scripts of other origins can read the fields"],
    [
      "counts preflights",
      changed({
        before(request) {
          if (request.method === "OPTIONS") request.method = "GET";
        },
      }),
      "38 · a preflight takes",
    ],
    ["awaits every verdict", changed({ verdict: async (verdict) => verdict }), "without asynchronous functions"],
    ["reads the body before the decision", changed({ wait: (request) => new Promise((resolve) => request.resume().once("end", resolve)) }), "39 · a 429 is sent before a large body"],
    [
      "reads refused bodies to their end",
      refusing((response, { status, fields, body }) => response.writeHead(status, fields as string[]).end(body)),
      "39 · a refused upload is not read to its end",
    ],
    [
      "closes the connection of every refused body",
      refusing((response, verdict) => refuseOnNode(response.setHeader("Connection", "close"), verdict)),
      "39 · a small refused body",
    ],
    ["never ends the work", changed({ pass: (response, verdict) => applyToNode(response, withoutWork(verdict)) }), "an `actualCost` of 0"],
    ["keeps tokens in flight", changed({ pass: (response, verdict) => applyToNode(response, withoutWork(verdict)) }), "L21 · a handler that fails"],
    [
      "gives tokens in flight back when the handler begins",
      changed({ pass: (response, verdict) => (applyToNode(response, withoutWork(verdict)), void verdict.work.end({ status: 200, aborted: false })) }),
      "L21 · a token in flight comes back",
    ],
    [
      "keeps the tokens in flight of a client that leaves",
      changed({
        pass(response, verdict) {
          applyToNode(response, withoutWork(verdict));
          response.once("finish", () => void verdict.work.end({ status: response.statusCode, aborted: false }));
        },
      }),
      "L21 · a client that leaves gives",
    ],
    [
      "tells the gate of no disconnect during the decision",
      changed({}, { method: nodeReader.method, header: nodeReader.header }),
      "L21 · a client that leaves before its decision gets its token in flight back, and no handler begins: during the store",
    ],
    [
      "tells the gate of no disconnect before the decision",
      changed({}, { ...nodeReader, onDisconnect: ({ socket }, leave) => (socket?.on("close", leave), () => void socket?.removeListener("close", leave)) }),
      "L21 · a client that leaves before its decision gets its token in flight back, and no handler begins: during `key`",
    ],
    [
      "does not notice that a client disconnects",
      changed({
        pass(response, verdict) {
          applyToNode(response, withoutWork(verdict));
          response.once("finish", () => void verdict.work.end({ status: response.statusCode, aborted: false }));
        },
      }),
      "a client that disconnects is reported",
    ],
    [
      "reports a client that left with the status of the response",
      changed({ pass: (response, verdict) => applyToNode(response, withWork(verdict, ({ aborted }) => ({ status: response.statusCode, aborted }))) }),
      "a client that disconnects is reported",
    ],
    [
      "ends the work when the handler begins",
      changed({ pass: (response, verdict) => (applyToNode(response, withoutWork(verdict)), void verdict.work.end({ status: 200, aborted: false })) }),
      "the work of a streamed response ends with its body",
    ],
    ["hears only the close of a response that waits behind another", changed({ pass: endsOnItsClose }), "L21 · pipelined and gone"],
    ["hears only the close of a response without a connection", changed({ pass: endsOnItsClose }), "L21 · no socket"],
    ["waits for the handler's response", endsByHandler, "L21 · dropped by an outer middleware"],
    ["waits for the response of a handler behind middleware that fails", endsByHandler, "L21 · throws after next()"],
    [
      "looks for the end of a response right after its `end`",
      changed({
        pass(response, verdict) {
          applyToNode(response, withoutWork(verdict));
          const { end } = response;
          response.end = ((...args: Parameters<typeof end>) => {
            const sent = end.apply(response, args);
            if (response.writableEnded) void verdict.work.end({ status: response.statusCode, aborted: false });
            return sent;
          }) as typeof end;
        },
      }),
      "L21 · compressed",
    ],
    ["waits for the handler of a client that left", endsAfterHandler, "L21 · never ends after its client left", 1_000],
    [
      "ends no work that a handler reports",
      changed({
        pass(response, verdict) {
          applyToNode(response, withoutWork(verdict));
          if (verdict.work.settles) response.once("close", () => void verdict.work.end({ status: response.statusCode, aborted: false }));
        },
      }),
      "`reportCost` in the handler settles",
    ],
    ["settles the estimate when the response closes", changed({ pass: reportsAt((response) => response) }), "L21 · beside a limit in flight, `reportCost` after the response"],
    ["settles the estimate when the client leaves", changed({ pass: reportsAt(({ req }) => req.socket) }), "L21 · beside a limit in flight, `reportCost` after the client"],
    [
      "gives the gate a copy of the request",
      (options) => {
        const limit = rateLimit(options);
        return (listener) => (request, response) => limit((_copy, own) => listener(request, own))(Object.create(request) as IncomingMessage, response);
      },
      "`reportCost` after the response",
    ],
    [
      "drops what `respond` returns",
      (options) => rateLimit({ ...(options as object), ...(options.respond && { respond: (...args: never) => void options.respond?.(...(args as Parameters<NonNullable<typeof options.respond>>)) }) } as never),
      "`respond` returns an object literal",
    ],
    [
      "sends every object that `respond` returns as JSON, unwatched",
      refusing((response, verdict) => {
        response.statusCode = verdict.status;
        const answer = verdict.respond?.call(response.req, response);
        void Promise.resolve(answer).then((known) => response.end(JSON.stringify(known))).catch(() => response.end());
      }),
      "a `respond` function that returns an object that JSON cannot hold",
    ],
    [
      "answers 401 itself",
      refusing((response, verdict) => refuseOnNode(response, { ...verdict, respond: null }, response.req)),
      "an `unidentified` function answers requests without a key",
    ],
    [
      "makes a gate of each member",
      (options) => (listener) => {
        const { limiter, key, ...shared } = options as { readonly limiter?: Limiter; readonly key: (request: IncomingMessage) => object };
        return (limiter?.parts ?? []).reduce((inner, part) => rateLimit({ ...shared, limiter: part, key: (request: IncomingMessage) => Reflect.get(key(request), part.policy.name) as string })(inner), listener);
      },
      "a combination takes from a user and a tenant together",
    ],
    [
      "does not tell the gate of disconnects",
      changed({}, { method: nodeReader.method, header: nodeReader.header }),
      "a client that disconnects while its request waits",
    ],
    ["calls the handler when `key` throws", openOnErrors, "a `key` function that fails ends the request with the framework's 500, with a synchronous"],
    [
      "calls the handler without the fields when a hook throws",
      changed({
        pass(response, verdict) {
          try {
            applyToNode(response, verdict);
          } catch {
            return;
          }
        },
      }),
      "a hook on `setHeader` that throws does not run the handler or end the process, with a synchronous",
    ],
    ["uses the address as the key", (options) => rateLimit({ ...(options as object), policy: { name: "suite", capacity: 3, refill: { tokens: 1, everyMs: 1_000 } }, key: (request) => request.headers["x-forwarded-for"]?.toString() ?? "local" }), "33 · each key has its own bucket"],
    ["sends 429 while the store fails", refusing((response, verdict) => refuseOnNode(response, { ...verdict, status: 429 })), '40 · `onStoreError: "unavailable"`'],
    [
      "sends refusals in chunks",
      refusing((response, verdict) => {
        const { "content-length": _length, ...fields } = fieldRecord(verdict);
        response.writeHead(verdict.status, fields).end(verdict.body);
      }),
      "every kind of refusal has the Content-Length",
    ],
    [
      "writes a second head",
      refusing((response, verdict) => {
        response.writeHead(verdict.status).end();
      }),
      "18 · a head that was sent",
    ],
  ];

  // They run at the same time, so a warning belongs to none of them.
  let warnings: MockInstance<typeof process.emitWarning>;
  beforeAll(() => void (warnings = vi.spyOn(process, "emitWarning").mockReturnValue()));
  afterAll(() => warnings.mockRestore());

  test.concurrent.each(wrong)("an adapter that %s", async (_mistake, adapter, failing, timeoutMs = 200) => {
    await expect(runCase(failing, rateLimit, 5_000)).resolves.toBeUndefined();
    // What a wrong adapter leaves out never comes, so the test need not wait long for it.
    await expect(runCase(failing, adapter, timeoutMs)).rejects.toThrow(/^Expected (?!no exception).*\nLikely cause: The \S.*\.$/s);
  });
});

describe("a trait in `lacks`", () => {
  const lacks = { rawHead: "no heads here", pipelining: "one at a time" };

  test("skips its cases and shows the reason", () => {
    const skipped: string[] = [];
    const ran: string[] = [];
    const register = Object.assign((name: string) => ran.push(name), { skip: (name: string) => skipped.push(name) });
    adapterSuite({ test: register, serve: (setup) => serveNode(setup), lacks });
    expect(new Set(skipped.map((name) => name.slice(-24)))).toEqual(new Set(["(skipped: no heads here)", "(skipped: one at a time)"]));
    expect(ran.filter((name) => name.includes("(skipped: "))).toEqual([]);
  });

  test("skips what a limiter behind the body parser cannot do, and nothing else", () => {
    const reasons = { beforeBodies: "after the parser", unreadBodies: "after the parser" };
    const [all, some] = [casesOf(rateLimit), casesOf(rateLimit, reasons)];
    const skipped = [...some.keys()].filter((name) => name.endsWith(" (skipped: after the parser)")).map((name) => name.replace(/ \(skipped.*/, ""));
    expect([...all.keys()].filter((name) => !some.has(name))).toEqual(skipped);
    expect(skipped.map((name) => /refused upload|small refused body|large body arrives|unread body/.exec(name)?.[0]).sort()).toEqual(["large body arrives", "refused upload", "small refused body", "unread body"]);
  });

  test("registers empty tests if the runner has no `skip`", async () => {
    const cases = casesOf(rateLimit, lacks);
    const skipped = [...cases].filter(([name]) => name.includes("(skipped: "));
    expect(skipped.length).toBeGreaterThan(2);
    for (const [, run] of skipped) await run();
  });
});

test("every case has its own name", () => {
  const names: string[] = [];
  adapterSuite({ test: (name) => names.push(name), serve: (setup) => serveNode(setup) });
  expect(new Set(names).size).toBe(names.length);
});

interface Change {
  before?(request: IncomingMessage, response: ServerResponse): void;
  wait?(request: IncomingMessage): Promise<unknown>;
  verdict?(verdict: Verdict): Verdict | Promise<Verdict>;
  pass?(response: ServerResponse, verdict: PassVerdict): void;
  refuse?(response: ServerResponse, verdict: RefuseVerdict, next: () => unknown): void;
}

/** The Node adapter with one change. */
function changed({ before, wait, verdict: change = (verdict) => verdict, pass = applyToNode, refuse = refuseOnNode }: Change, reader: RequestReader<NodeRequest> = nodeReader): NodeAdapter {
  return (options) => {
    const gate = createGate(options, reader);
    return (listener) => (request, response) => {
      before?.(request, response);
      const asked = gate(request as Parameters<typeof gate>[0]);
      const verdict = "outcome" in asked ? change(asked) : asked.then(change);
      const go = (known: Verdict): unknown => {
        const next = (): unknown => listener(request, response);
        if (known.outcome === "refuse") return refuse(response, known, next);
        if (known.outcome === "pass") pass(response, known);
        return next();
      };
      if (wait !== undefined) return wait(request).then(() => verdict).then(go);
      return "outcome" in verdict ? go(verdict) : verdict.then(go);
    };
  };
}

function endsOnItsClose(response: ServerResponse, verdict: PassVerdict): void {
  applyToNode(response, withoutWork(verdict));
  response.once("close", () => void verdict.work.end({ status: response.statusCode, aborted: false }));
}

/** Reports the estimate when the response or the connection closes, before the work ends. */
function reportsAt(closing: (response: ServerResponse) => EventEmitter): (response: ServerResponse, verdict: PassVerdict) => void {
  return (response, verdict) => {
    closing(response).once("close", () => verdict.work.report({}));
    applyToNode(response, verdict);
  };
}

/** Ends the work when the handler has ended its response. */
function endsByHandler(options: Parameters<NodeAdapter>[0]): ReturnType<NodeAdapter> {
  return withHandler(options, (request, response, { work }, listener) => listener(request, new Proxy(response, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]) => {
        if (name === "end") void work.end({ status: response.statusCode, aborted: false });
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  })));
}

/** Ends the work when the response has closed and the handler is done. */
function endsAfterHandler(options: Parameters<NodeAdapter>[0]): ReturnType<NodeAdapter> {
  return withHandler(options, (request, response, { work }, listener) => {
    const closed = new Promise((resolve) => response.once("close", resolve));
    const handled = Promise.resolve(listener(request, response));
    void Promise.all([handled, closed]).then(() => work.end({ status: response.writableFinished ? response.statusCode : 499, aborted: !response.writableFinished }));
    return handled;
  });
}

type Listener = Parameters<ReturnType<NodeAdapter>>[0];

function withHandler(options: Parameters<NodeAdapter>[0], handle: (request: IncomingMessage, response: ServerResponse, verdict: PassVerdict, listener: Listener) => unknown): ReturnType<NodeAdapter> {
  const gate = createGate(options, nodeReader);
  return (listener) => async (request, response) => {
    const verdict = await gate(request as Parameters<typeof gate>[0]);
    if (verdict.outcome === "refuse") return refuseOnNode(response, verdict, request);
    if (verdict.outcome === "skip") return listener(request, response);
    applyToNode(response, withoutWork(verdict));
    return handle(request, response, verdict, listener);
  };
}

function refusing(refuse: NonNullable<Change["refuse"]>): NodeAdapter {
  return changed({ refuse });
}

function skipping(free: (request: IncomingMessage) => boolean): NodeAdapter {
  return (options) => (listener) => {
    const limited = rateLimit(options)(listener);
    return (request, response) => (free(request) ? listener(request, response) : limited(request, response));
  };
}

function openOnErrors(options: Parameters<NodeAdapter>[0]): ReturnType<NodeAdapter> {
  return (listener) => rateLimit({ ...options, onError: (_error, request, response) => listener(request, response) })(listener);
}

function edited(verdict: RefuseVerdict, name: string, value: string): RefuseVerdict {
  const at = verdict.fields.indexOf(name.toLowerCase());
  return { ...verdict, fields: verdict.fields.map((text, i) => (i === at + 1 ? value : text)) };
}

/** The verdict with work that never ends. */
function withoutWork(verdict: PassVerdict): PassVerdict {
  return { ...verdict, work: { whenSettles() {} } as unknown as PassVerdict["work"] };
}

/** The verdict with work that ends with another outcome. */
function withWork(verdict: PassVerdict, change: (outcome: Outcome) => Outcome): PassVerdict {
  const { work } = verdict;
  const changed = { end: (outcome: Outcome) => work.end(change(outcome)) };
  return { ...verdict, work: { whenSettles: (watch: (work: unknown, of: unknown) => void, of: unknown) => work.whenSettles(() => watch(changed, of), null) } as unknown as PassVerdict["work"] };
}

function casesOf(adapter: NodeAdapter, lacks: Partial<Record<AdapterTrait, string>> = {}, timeoutMs = 1_000): Map<string, () => Promise<void>> {
  const cases = new Map<string, () => Promise<void>>();
  adapterSuite({ test: (name, run) => cases.set(name, run), serve: (setup) => serveNode(setup, adapter), lacks, timeoutMs });
  return cases;
}

function runCase(beginning: string, adapter: NodeAdapter, timeoutMs: number): Promise<void> {
  const found = [...casesOf(adapter, {}, timeoutMs)].filter(([name]) => name.startsWith(beginning));
  expect(found.map(([name]) => name)).toHaveLength(1);
  return (found[0] as [string, () => Promise<void>])[1]();
}
