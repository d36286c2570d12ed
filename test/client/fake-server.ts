/** A `fetch` that answers from a list and takes everything down. */
import { createFetch, RateLimitedError, type ClientFetch, type ClientOptions } from "sluice/client";
import { FakeTime } from "./fake-time.js";

/** One answer: a status, header fields, a body; or something of its own making. */
export type Answer = Response | Error | (() => Response | Promise<Response>);

/** A request as it went over the wire. */
interface Sent {
  readonly at: number;
  readonly url: string;
  readonly method: string;
  readonly init: RequestInit | undefined;
  readonly body: string;
}

/** A 429 with these fields and, unless it is text already, this body as JSON. */
export function limited(headers: Record<string, string> = { "Retry-After": "1" }, body: unknown = { code: "rate_limited", message: "Slow down." }): Response {
  return new Response(typeof body === "string" ? body : JSON.stringify(body), { status: 429, headers });
}

/** A client of one user, over virtual time, whose server gives `answers` in turn, and 200 with the number of the request after that. */
export function talk(answers: readonly Answer[] = [], options: ClientOptions = {}, time = new FakeTime()): Talk {
  const sent: Sent[] = [];
  const wire = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const { signal } = init ?? {};
    if (signal?.aborted) throw signal.reason;
    const request = new Request(input, { ...init, ...(init?.body instanceof ReadableStream && { duplex: "half" }) } as RequestInit);
    const number = sent.push({ at: time.now(), url: request.url, method: request.method, init, body: "" });
    (sent[number - 1] as { body: string }).body = await request.text();
    const answer = answers[number - 1] ?? new Response(`answer ${number}`);
    if (answer instanceof Error) throw answer;
    return typeof answer === "function" ? answer() : answer;
  };
  return { time, sent, fetch: createFetch({ fetch: wire, merge: true, time: time.options, ...options }) };
}

/** What {@link talk} makes. */
export interface Talk {
  readonly time: FakeTime;
  /** What went over the wire. */
  readonly sent: readonly Sent[];
  readonly fetch: ClientFetch;
}

/** The error that a call is given up with. Fails when it is not given up. */
export async function givenUp(call: Promise<Response>): Promise<RateLimitedError> {
  const error: unknown = await call.then(
    ({ status }) => new Error(`Expected a RateLimitedError, got a response with ${status}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof RateLimitedError)) throw error;
  return error;
}

export const URL_A = "https://api.example.com/inbox";
