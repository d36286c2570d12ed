/**
 * A gateway in front of a language model. For each model, each user and each team has a limit of requests and of tokens
 * per minute. Tokens are reserved before the answer and settled after it.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { MemoryStore, type LimiterOptions, type Store } from "sluice";
import { fieldsOf, problem, refusalOf, type Refusal } from "./answers.js";
import { createBudget, LONGEST_ANSWER_MS, MODELS, settle, type Caller, type ChatReservation, type ModelLimits } from "./budgets.js";
import { promptTokens, readChat, type Chat } from "./chat.js";
import { Meter } from "./meter.js";

/** The result of one request, for bills and for the log. */
export interface Bill {
  /** The id of the request. The client finds it in the field `request-id`. */
  readonly id: string;
  readonly caller: Caller;
  readonly model: string;
  /** When the tokens were reserved, in milliseconds of the store's clock. */
  readonly at: number;
  readonly estimate: number;
  /** The charged tokens; null while the request runs. */
  readonly used: number | null;
  /** The upstream's name of the answer; null when it gave none. */
  readonly answer: string | null;
  readonly outcome: "reserved" | "complete" | "aborted" | "broken" | "cancelled";
}

type Ended = Pick<Bill, "used" | "answer" | "outcome">;

interface GatewayOptions extends Pick<LimiterOptions, "storeTimeoutMs" | "onStoreError"> {
  /** The address of the language model, such as "http://127.0.0.1:8081". */
  readonly upstream: string;
  /** The caller of an `Authorization` field, or null for one that may not use the gateway. */
  readonly callerOf: (authorization: string | undefined) => Caller | null;
  readonly store?: Store;
  readonly models?: Readonly<Record<string, ModelLimits>>;
  /** Called twice for each request: when its tokens are reserved, and when they are settled. */
  readonly onBill?: (bill: Bill) => void;
}

/** Makes the gateway: POST /v1/chat/completions. */
export function createGateway(options: GatewayOptions): Server {
  const { upstream, callerOf, store = new MemoryStore(), models = MODELS, onBill = () => {}, ...failure } = options;
  const budgets = new Map(Object.entries(models).map(([model, limits]) => [model, createBudget(model, limits, store, failure)]));

  return createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      console.error(error);
      response.destroy();
    });
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort()); // before the first await, because the client may disconnect meanwhile
    if (request.method !== "POST" || request.url !== "/v1/chat/completions") return send(response, problem(404, "not_found", "Write to POST /v1/chat/completions."));
    const caller = callerOf(request.headers.authorization);
    if (caller === null) return send(response.setHeader("www-authenticate", "Bearer"), problem(401, "unidentified", "This request does not identify a user."));
    let chat: Chat;
    try {
      chat = await readChat(request);
    } catch (error) {
      if (error instanceof TypeError) return send(response, problem(400, "bad_request", error.message));
      return void response.destroy(); // the client disconnected while it sent the request
    }
    const budget = budgets.get(chat.model);
    if (budget === undefined) return send(response, problem(404, "unknown_model", `There is no model of this name. There are: ${[...budgets.keys()].join(", ")}.`));

    const estimate = promptTokens(chat) + chat.max_tokens; // the largest possible cost, if the estimate of the prompt is right
    const reservation = await budget.reserve(caller, estimate);
    response.setHeaders(new Map(Object.entries(fieldsOf(budget.policies, reservation.decision))));
    if (!reservation.allowed) return send(response, refusalOf(reservation.decision));
    const bill: Bill = { id: randomUUID(), caller, model: chat.model, at: reservation.decision.at, estimate, used: null, answer: null, outcome: "reserved" };
    response.setHeader("request-id", bill.id);
    onBill(bill);
    onBill({ ...bill, ...(await complete(chat, caller, reservation, response, gone.signal)) });
  }

  /** Streams the answer to the client. Settles its tokens in all cases, also after an error. */
  async function complete(chat: Chat, caller: Caller, reservation: ChatReservation, response: ServerResponse, gone: AbortSignal): Promise<Ended> {
    const meter = new Meter(promptTokens(chat));
    let answer: string | null = null;
    let began = false;
    if (gone.aborted) return refused(); // nothing was sent to the model, so nothing is charged
    try {
      // Always a stream: so the gateway counts the tokens of an answer even if its client disconnects.
      const body = JSON.stringify({ ...chat, user: `${caller.team}/${caller.user}`, stream: true, stream_options: { include_usage: true } });
      const signal = AbortSignal.any([gone, AbortSignal.timeout(LONGEST_ANSWER_MS)]);
      const found = await fetch(`${upstream}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body, signal });
      answer = found.headers.get("request-id");
      if (!found.ok || found.body === null) {
        await found.body?.cancel();
        return await refused();
      }
      began = true;
      const chunks = meter.through(found.body as unknown as AsyncIterable<Uint8Array>);
      const paid = async function* () {
        yield* chunks;
        await pay(() => settle(reservation, meter.used)); // before the answer ends, so that the next request can use the unused tokens
      };
      if (chat.stream) {
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(); // the first token may take some time
        await pipeline(paid, response);
      } else {
        for await (const _ of paid());
        sendJson(response, 200, { id: answer, object: "chat.completion", model: chat.model, choices: [{ index: 0, message: { role: "assistant", content: meter.text } }], usage: { total_tokens: meter.used } });
      }
      return { answer, used: meter.used, outcome: "complete" };
    } catch {
      if (!began && !gone.aborted) return refused(); // there is no connection
      // The upstream broke off, or the client disconnected. The prompt was read, and some tokens were written.
      await pay(() => settle(reservation, meter.used));
      if (response.headersSent) response.destroy();
      else send(response, problem(502, "upstream_failed", "The language model broke off its answer."));
      return { answer, used: meter.used, outcome: gone.aborted ? "aborted" : "broken" };
    }

    async function refused(): Promise<Ended> {
      await pay(async () => reservation.cancel());
      send(response, problem(502, "upstream_failed", "The language model does not answer."));
      return { answer, used: 0, outcome: "cancelled" };
    }
  }
}

/** If the store fails, the estimate stays taken, and refills like any other tokens. */
async function pay(how: () => Promise<boolean>): Promise<void> {
  await how().catch((error: unknown) => console.error("A reservation was not settled:", error));
}

function send(response: ServerResponse, { status, problem: document }: Refusal): void {
  sendJson(response, status, document, "application/problem+json");
}

function sendJson(response: ServerResponse, status: number, body: object, type = "application/json"): void {
  response.writeHead(status, { "content-type": type }).end(JSON.stringify(body));
}
