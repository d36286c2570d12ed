// What people see while they write: documentation on hover, completions, and the first lines of an error.
import { describe, expect, test } from "vitest";
import { Editor } from "./helpers/editor.js";

const editor = new Editor();
const slow = { timeout: 120_000 };

/** A file that calls `rateLimit` of an entry with these options. */
const calling = (entry: string, options: string): string => `import { createObserver, MemoryStore, perSecond } from "sluice";
import { rateLimit } from "sluice/${entry}";
const policy = { name: "api", capacity: 30, refill: perSecond(5) };
rateLimit({ ${options} });
`;

describe.each(["express", "node", "hono", "web"])("in sluice/%s", (entry) => {
  test("hovering over an option shows its documentation", slow, () => {
    const options: [written: string, documentation: string][] = [
      ['pol|icy, key: () => "ann"', "The limits of each key"],
      ['pol|icy: { capacity: 30, refill: perSecond(5) }, key: () => "ann"', "The limits of each key"],
      ['policy, k|ey: () => "ann"', "Returns the caller's key"],
      ['policy, key: () => "ann", unid|entified: "refuse"', "How callers without a key are treated"],
      ['policy, key: () => "ann", res|pond: () => new Response()', "Answers a request that the limit refused"],
      ['policy, key: () => "ann", actual|Cost: () => 0', "Returns what an allowed request really cost"],
      ['policy, key: () => "ann", st|ore: new MemoryStore()', "The store that keeps the buckets"],
      ['policy, key: () => "ann", obs|erve: createObserver(() => {})', "Receives every decision"],
      ['policy, key: () => "ann", sk|ip: () => false', "Returns true for requests without a limit"],
      ['policy, key: () => "ann", onSto|reError: "local"', "The response to callers when the store fails"],
    ];
    for (const [written, documentation] of options) expect(editor.hover(calling(entry, written))).toContain(documentation);
  });

  test("hovering over an option beside a limiter shows its documentation", slow, () => {
    const beside = (written: string): string => calling(entry, written).replace("createObserver", "createLimiter, createObserver");
    expect(editor.hover(beside('lim|iter: createLimiter({ policy }), key: () => "ann"'))).toContain("A limiter from `createLimiter`");
    expect(editor.hover(beside('limiter: createLimiter({ policy }), k|ey: () => "ann"'))).toContain("Returns the caller's key");
  });

  test("completions inside `policy` are what a user writes", slow, () => {
    const names = editor.completions(calling(entry, 'policy: { | }, key: () => "ann"')).map(({ name }) => name);
    expect(names).toEqual(["capacity", "limits", "name", "refill", "renews", "returns", "unit"]);
  });

  test("the error for a missing key names the options and the key, and no internal type", slow, () => {
    const [error] = editor.errors(calling(entry, "policy"));
    expect(error).toMatch(/ parameter of type 'PolicyRateLimitOptions\b/);
    expect(error).toMatch(/Property 'key' is missing in type /);
    expect(error).not.toMatch(/\blimiter\b/);
    expect(error).not.toMatch(/NoLimiter|NoOptions|ChargeOptions|OwnLimiter|GivenLimiter|SharedOptions|RespondOption/);
  });
});

test.each([
  ["sluice/hono", 'rateLimit<{ Variables: { user: string } }>({ policy });', "policy"],
  ["sluice/node", 'import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";\nrateLimit<Http2ServerRequest, Http2ServerResponse>({ policy });', "policy"],
  ["sluice/web", "rateLimit<Request, [string]>({ policy });", "policy"],
  ["sluice/fastify", 'import fastify from "fastify";\nvoid fastify().register(rateLimit, { policy });', "policy"],
  ["sluice/express", "rateLimit({ limiter: createLimiter({ policy }) });", "limiter"],
])("in %s, the error for a missing key of another call names the key", slow, (entry, call, given) => {
  const [error = ""] = editor.errors(`import { createLimiter, perSecond } from "sluice";
import { rateLimit } from "${entry}";
const policy = { name: "api", capacity: 30, refill: perSecond(5) };
${call}
void createLimiter;
`);
  expect(error).toMatch(/Property 'key' is missing in type /);
  if (given === "policy") expect(error).not.toMatch(/\blimiter\b/);
});

describe("in sluice/nest", () => {
  const callingNest = (call: string): string => `import type { Request } from "express";
import { createLimiter, MemoryStore, perSecond } from "sluice";
import { RateLimit, RateLimitModule } from "sluice/nest";
const policy = { name: "api", capacity: 30, refill: perSecond(5) };
${call};
`;

  test.each(["forRoot(|)", "forRootAsync({ useFactory: () => (|) })"])("hovering over an option of %s shows its documentation", slow, (call) => {
    const options: [written: string, documentation: string][] = [
      ['{ pol|icy, key: () => "ann" }', "The limits of each key"],
      ["{ policy, k|ey: (request) => request.ip }", "Returns the caller's key"],
      ["{ pol|icy, key: (request: Request) => request.hostname }", "The limits of each key"],
      ["{ policy, k|ey: (request: Request) => request.hostname }", "Returns the caller's key"],
      ['{ policy, key: () => "ann", unid|entified: "refuse" }', "How callers without a key are treated"],
      ['{ policy, key: () => "ann", st|ore: new MemoryStore() }', "The store that keeps the buckets"],
      ['{ policy, key: () => "ann", sk|ip: () => false }', "Returns true for requests without a limit"],
      ['{ policy, key: () => "ann", res|pond: () => ({}) }', "Answers a request that the limit refused"],
      ['{ policy, key: () => "ann", getReq|uest: () => ({ headers: {} }) }', "Returns the HTTP request of a GraphQL resolver's context"],
      ['{ lim|iter: createLimiter({ policy }), key: () => "ann" }', "A limiter from `createLimiter`"],
      ['{ limiter: createLimiter({ policy }), k|ey: () => "ann" }', "Returns the caller's key"],
    ];
    const hover = (written: string): string => editor.hover(callingNest(`RateLimitModule.${call.replace("|", written)}`));
    expect(options.filter(([written, documentation]) => !hover(written).includes(documentation))).toEqual([]);
  });

  test("hovering over an option of a decorator shows its documentation", slow, () => {
    expect(editor.hover(callingNest("RateLimit({ co|st: 2 })"))).toContain("The tokens");
  });

  test("the error for a missing key names the key", slow, () => {
    const [error = ""] = editor.errors(callingNest("RateLimitModule.forRoot({ policy })"));
    expect(error).toMatch(/Property 'key' is missing in type /);
    expect(error).not.toMatch(/\blimiter\b/);
  });
});

test("`rateLimit` is offered from the entries of frameworks alone", slow, () => {
  const offered = editor.completions("rateLim|").filter(({ name }) => name === "rateLimit");
  expect(offered.map(({ source }) => source).sort()).toEqual(["sluice/express", "sluice/fastify", "sluice/hono", "sluice/node", "sluice/web"]);
});
