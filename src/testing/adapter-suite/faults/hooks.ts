import type { IncomingMessage } from "node:http";
import { assert, assertEqual } from "../../assert.js";
import { STORE_KINDS } from "./faults.js";
import { checkFields } from "../response-checks.js";
import { formatRequest, parseResponses } from "../wire.js";
import type { AdapterCase } from "../server.js";

const THROWN: readonly (readonly [name: string, value: unknown])[] = [["an Error", new Error("hook")], ["undefined", undefined]];

/**
 * Middleware hooks `setHeader` and `writeHead` of Node's responses. When a hook throws, no handler runs and the process
 * goes on (law L17).
 */
export const responseHookCases: readonly AdapterCase[] = STORE_KINDS.flatMap(([kind, storeOf]) =>
  (["setHeader", "writeHead"] as const).map((method) => ({
    name: `a hook on \`${method}\` that throws does not run the handler or end the process, with ${kind}`,
    cause:
      "The adapter does not catch an error that a response throws, or calls the handler. " +
      "Pass the error to the framework as an Error.",
    needs: "rawHead" as const,
    async run(start) {
      const server = await start(storeOf());
      // The case with writeHead is about refusals: for allowed requests the handler sends the head.
      const isRefusal = method === "writeHead";
      for (const [what, value] of THROWN) {
        if (isRefusal) for (let i = 0; i < 3; i++) await server.get("/ok", { "X-User": what });
        let before = server.entered.length;
        let hasThrown = false;
        const onThrow = (): void => {
          // On Bun, Fastify's writeHead calls setHeader for the fields of the handler's response. So the handler of an
          // allowed request may have run before the exception, but not after it.
          if (!hasThrown && !isRefusal) before = server.entered.length;
          hasThrown = true;
        };
        const connection = await server.connect();
        await withHook(method, value, onThrow, async () => {
          connection.write(formatRequest("/ok", { headers: { "X-User": what, "X-Hook": "on", Connection: "close" } }));
          const [response] = parseResponses(await connection.rest(), ["GET"]);
          const status = response?.status ?? "no response";
          // Some adapters set their fields elsewhere than on Node's response, so the hook sees none.
          if (!hasThrown) return assertEqual(status, 200, "the status");
          // Some frameworks keep the status of a refusal on their error page.
          const right = [500, "no response", ...(isRefusal ? [429] : [])];
          assert(right.includes(status), `Expected a 500 or a closed connection when ${method} throws ${what}, got ${status}`);
          assertEqual(server.entered.length, before, "the number of requests that reached the handler");
        });
      }
      checkFields(await server.get("/ok", { "X-User": "bob" }), 200, { remaining: 2 });
    },
  })),
);

/**
 * Makes `method` throw for requests with `X-Hook`, as middleware of the server could. setHeader throws for each
 * RateLimit field, writeHead once.
 */
async function withHook(
  method: "setHeader" | "writeHead", thrown: unknown, onThrow: () => void, run: () => Promise<void>,
): Promise<void> {
  // Hooked on the prototype, because Bun does not publish its requests on Node's diagnostics channel.
  const { prototype } = (await import("node:http")).ServerResponse as { readonly prototype: HookedResponse };
  const own = Object.getOwnPropertyDescriptor(prototype, method);
  const original = prototype[method];
  const begun = new WeakSet<object>();
  prototype[method] = function (...args) {
    const isFirst = !begun.has(this);
    begun.add(this);
    const isHooked = this.req.headers["x-hook"] !== undefined;
    if (isHooked && (method === "writeHead" ? isFirst : String(args[0]).toLowerCase().startsWith("ratelimit"))) {
      onThrow();
      throw thrown;
    }
    return Reflect.apply(original, this, args);
  };
  try {
    await run();
  } finally {
    if (own === undefined) Reflect.deleteProperty(prototype, method);
    else Object.defineProperty(prototype, method, own);
  }
}

/** The part of a response's prototype that is hooked. */
type HookedResponse = { readonly req: IncomingMessage } & Record<
  "setHeader" | "writeHead",
  (this: HookedResponse, ...args: unknown[]) => unknown
>;
