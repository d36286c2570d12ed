/**
 * A gateway in front of a language model. For each model, a user has limits of requests and tokens per minute, of tokens
 * per month and of answers under way; a team has limits per minute. An answer takes its largest possible cost before it
 * begins, and is settled when it has ended.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { MemoryStore, type LimiterOptions, type Store } from "sluice";
import { decisionOf, rateLimit, reportCost } from "sluice/node";
import { failure, sendFailure, sendJson } from "./answers.js";
import { costOf, createBudget, keysOf, MODELS, type Caller, type ModelLimits } from "./budgets.js";
import { promptTokens, readChat, type Chat } from "./chat.js";
import { Meter } from "./meter.js";

/** The longest time of an answer. */
const LONGEST_ANSWER_MS = 120_000;

/** The result of one request, for bills and for the log. */
export interface Bill {
  /** The id of the request. The client finds it in the field `request-id`. */
  readonly id: string;
  readonly caller: Caller;
  readonly model: string;
  /** When the tokens were taken, in milliseconds of the store's clock. */
  readonly at: number;
  readonly estimate: number;
  /** The charged tokens; null while the request runs. */
  readonly used: number | null;
  /** The upstream's name of the answer; null when it gave none. */
  readonly answer: string | null;
  readonly outcome: "running" | "complete" | "aborted" | "broken" | "cancelled";
}

type Ended = Pick<Bill, "used" | "answer" | "outcome">;

interface GatewayOptions extends Pick<LimiterOptions, "onStoreError"> {
  /** The address of the language model, such as "http://127.0.0.1:8081". */
  readonly upstream: string;
  /** The caller of an `Authorization` field, or null for one that may not use the gateway. */
  readonly callerOf: (authorization: string | undefined) => Caller | null;
  readonly store?: Store;
  readonly models?: Readonly<Record<string, ModelLimits>>;
  /** Called twice for each allowed request: when its tokens were taken, and when its answer has ended. */
  readonly onBill?: (bill: Bill) => void;
}

/** A request whose body was read. */
interface Asked {
  readonly caller: Caller;
  readonly chat: Chat;
  /** The largest possible cost, if the estimate of the prompt is right. */
  readonly estimate: number;
  /** Aborted when the client has disconnected. */
  readonly gone: AbortSignal;
}

/** Makes the gateway: POST /v1/chat/completions. */
export function createGateway(options: GatewayOptions): Server {
  const { upstream, callerOf, store = new MemoryStore({ clock: Date.now }), models = MODELS, onBill = () => {}, ...failing } = options;
  const asked = new WeakMap<IncomingMessage, Asked>();
  const askedBy = (request: IncomingMessage): Asked => asked.get(request) as Asked;
  const routes = new Map(
    Object.entries(models).map(([model, limits]) => {
      const limited = rateLimit({
        limiter: createBudget(model, limits, store, failing),
        key: (request) => keysOf(askedBy(request).caller),
        cost: (request) => costOf(askedBy(request).estimate),
      });
      return [model, limited(answer)];
    }),
  );

  return createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort()); // before the first await, because the client may disconnect meanwhile
    if (request.method !== "POST" || request.url !== "/v1/chat/completions") return sendFailure(response, failure(404, "not_found", "Write to POST /v1/chat/completions."));
    const caller = callerOf(request.headers.authorization);
    if (caller === null) return sendFailure(response.setHeader("www-authenticate", "Bearer"), failure(401, "unidentified", "This request does not identify a user."));
    let chat: Chat;
    try {
      chat = await readChat(request);
    } catch (error) {
      if (error instanceof TypeError) return sendFailure(response, failure(400, "bad_request", error.message));
      return void response.destroy(); // the client disconnected while it sent the request
    }
    const route = routes.get(chat.model);
    if (route === undefined) return sendFailure(response, failure(404, "unknown_model", `There is no model of this name. There are: ${[...routes.keys()].join(", ")}.`));
    asked.set(request, { caller, chat, estimate: promptTokens(chat) + chat.max_tokens, gone: gone.signal });
    await route(request, response);
  }

  /** Answers a request whose tokens were taken. */
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { caller, chat, estimate } = askedBy(request);
    const bill: Bill = { id: randomUUID(), caller, model: chat.model, at: decisionOf(request)?.at ?? 0, estimate, used: null, answer: null, outcome: "running" };
    response.setHeader("request-id", bill.id).setHeader("cache-control", "no-store");
    onBill(bill);
    onBill({ ...bill, ...(await complete(request, response)) });
  }

  /** Streams the answer to the client. Reports its cost in all cases, also after an error. */
  async function complete(request: IncomingMessage, response: ServerResponse): Promise<Ended> {
    const { caller, chat, gone } = askedBy(request);
    const meter = new Meter(promptTokens(chat));
    let answer: string | null = null;
    let began = false;
    try {
      // Always a stream: so the gateway counts the tokens of an answer even if its client disconnects.
      const body = JSON.stringify({ ...chat, user: `${caller.team}/${caller.user}`, stream: true, stream_options: { include_usage: true } });
      const signal = AbortSignal.any([gone, AbortSignal.timeout(LONGEST_ANSWER_MS)]);
      const found = await fetch(`${upstream}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body, signal });
      answer = found.headers.get("request-id");
      if (!found.ok || found.body === null) {
        await found.body?.cancel();
        return refused();
      }
      began = true;
      const chunks = meter.through(found.body as unknown as AsyncIterable<Uint8Array>);
      const counted = async function* () {
        yield* chunks;
        reportCost(request, costOf(meter.used)); // applied when the response has closed
      };
      if (chat.stream) {
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(); // the first token may take some time
        await pipeline(counted, response);
      } else {
        for await (const _ of counted());
        sendJson(response, 200, { id: answer, object: "chat.completion", model: chat.model, choices: [{ index: 0, message: { role: "assistant", content: meter.text } }], usage: { total_tokens: meter.used } });
      }
      return { answer, used: meter.used, outcome: "complete" };
    } catch {
      if (!began && !gone.aborted) return refused(); // there is no connection
      // The upstream broke off, or the client disconnected. The prompt was read, and some tokens were written.
      reportCost(request, costOf(meter.used));
      if (response.headersSent) response.destroy();
      else sendFailure(response, failure(502, "upstream_failed", "The language model broke off its answer."));
      return { answer, used: meter.used, outcome: gone.aborted ? "aborted" : "broken" };
    }

    function refused(): Ended {
      reportCost(request, 0); // the request comes back too
      sendFailure(response, failure(502, "upstream_failed", "The language model does not answer."));
      return { answer, used: 0, outcome: "cancelled" };
    }
  }
}
