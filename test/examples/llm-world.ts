// A language model and gateways in front of it, over real sockets, and a client.
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Caller } from "../../examples/llm/budgets.js";
import { createGateway, type Bill } from "../../examples/llm/gateway.js";
import { createUpstream } from "../../examples/llm/upstream.js";

/** What to ask a gateway. */
export interface Question {
  /** The caller, as "team/user". */
  readonly as: string;
  readonly prompt: string;
  readonly model?: string;
  readonly maxTokens?: number;
  readonly stream?: boolean;
  /** Other members of the request. */
  readonly more?: object;
  readonly signal?: AbortSignal;
}

/** The caller that a key such as "Bearer red/ann" stands for. */
export function callerOf(authorization = ""): Caller | null {
  const [, team, user] = /^Bearer (\w+)\/(\w+)$/.exec(authorization) ?? [];
  return team === undefined || user === undefined ? null : { team, user };
}

/** Asks the gateway at `url`. */
export function ask(url: string, { as, prompt, model = "small", maxTokens = 100, stream = true, more = {}, signal = new AbortController().signal }: Question): Promise<Response> {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: prompt }], max_tokens: maxTokens, stream, ...more });
  return fetch(`${url}/v1/chat/completions`, { method: "POST", headers: { authorization: `Bearer ${as}` }, body, signal });
}

/** Starts a server on a free port. */
export async function listen(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

type GatewayOptions = Parameters<typeof createGateway>[0];
type UpstreamOptions = Parameters<typeof createUpstream>[0];

/** A language model and one gateway in this process. */
export async function openWorld(options: Omit<GatewayOptions, "upstream" | "callerOf" | "onBill">, upstreamOptions?: UpstreamOptions) {
  const bills: Bill[] = [];
  const model = createUpstream({ pace: () => new Promise(setImmediate), ...upstreamOptions });
  const upstream = await listen(model.server);
  const gateway = createGateway({ ...options, upstream, callerOf, onBill: (bill) => void bills.push(bill) });
  let open = 0;
  gateway.on("request", (_, response) => {
    open += 1;
    response.once("close", () => setImmediate(() => (open -= 1))); // by then its cost is settled
  });
  const url = await listen(gateway);
  const close = (server: Server): void => server.close().closeAllConnections();
  return {
    served: model.served,
    bills,
    url,
    /** The connections that the gateway has open. */
    connections: () => new Promise<number>((resolve, reject) => gateway.getConnections((error, count) => (error ? reject(error) : resolve(count)))),
    /** The requests whose response has not closed. */
    open: () => open,
    ask: (question: Question) => ask(url, question),
    closeModel: () => close(model.server),
    close: () => [gateway, model.server].forEach(close),
  };
}
