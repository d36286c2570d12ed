import { workField } from "../http/response/work.js";
import type { AnswerWatch } from "../port/overload.js";

/** What is done with the answer to one request. */
export interface AnswerRules {
  /** When the request was admitted. */
  readonly at: number;
  now(): number;
  /** Takes the request while its body arrives. */
  readonly arriving: Set<ArrivingRequest>;
  /** Its body has arrived, and its time begins. */
  arrived(): void;
  /** Gives the place of the request back. */
  giveBack(): void;
  /** Takes the time of an answer. `failed`: its status is 500 or more. */
  sample(now: number, ms: number, failed: boolean): void;
  /**
   * Takes the time after which a client left without an answer, or null if it says nothing. Its handler may go on: `free`
   * ends the wait for it, and is null if nothing waits.
   */
  left(now: number, ms: number | null, free: (() => void) | null): void;
}

/** The part of Node's requests that shows whether the body has arrived. */
export interface ArrivingRequest {
  readonly complete?: boolean;
  /** The bytes that have arrived and are not read. */
  readonly readableLength?: number;
  /** Null until a handler reads the body. */
  readonly readableFlowing?: boolean | null;
  /** That of HTTP/2. */
  readonly stream?: { readonly endAfterHeaders?: boolean } | undefined;
  readonly headers?: Readonly<Record<string, string | string[] | undefined>>;
  once(event: "end" | "resume", listener: () => void): unknown;
}

type Method = (...args: unknown[]) => unknown;

/** The part of Node's responses that shows their first byte. */
interface AnsweringResponse {
  readonly statusCode: number;
  readonly destroyed?: boolean;
  readonly stream?: { readonly destroyed?: boolean; readonly headersSent?: boolean } | undefined;
  readonly req?: ArrivingRequest;
  getHeader?(name: string): unknown;
  writeHead?: Method;
  write?: Method;
  end?: Method;
  flushHeaders?: Method;
}

/** A web-standard response, or how the work of a request ended. */
interface KnownAnswer {
  readonly status: number;
  readonly headers?: { get(name: string): string | null };
}

const SENDING = ["write", "end", "flushHeaders"] as const;

/** Makes what hears of the answer to `request`. */
export function createAnswerWatch(request: unknown, rules: AnswerRules): AnswerWatch {
  let isTold = false;
  let since = rules.at;
  // Whether the body of the request came after its head, and has not come to its end.
  let isArriving = false;
  // Ends the wait for a handler of Node, which no promise tells of: it is done when it writes.
  let free: (() => void) | null = null;
  let raw: AnsweringResponse | undefined;

  return (answer) => {
    if (isKnown(answer)) answered(answer.status, Object.hasOwn(answer, "aborted") ? "" : answer.headers?.get("content-type"));
    else watchResponse(answer as AnsweringResponse);
  };

  function answered(status: number, mediaType: unknown): void {
    if (isTold) return;
    isTold = true;
    if (raw?.req !== undefined) rules.arriving.delete(raw.req);
    const now = rules.now();
    // The handler of a client that left may go on. Its place comes back with the end of its work.
    if (status === 499) {
      // An answer that was written to the stream of HTTP/2, behind its response.
      if (raw?.stream?.headersSent === true) return free?.();
      return rules.left(now, !isArriving && saysLeft(raw?.req ?? request) ? now - since : null, free);
    }
    if (!isArriving && saysTime(status, mediaType, request)) rules.sample(now, now - since, status >= 500);
    rules.giveBack();
  }

  function watchResponse(response: AnsweringResponse): void {
    const { req, writeHead } = response;
    if (req !== undefined && hasBody(req)) awaitBody(req);
    raw = response;
    workField().read(Object(request) as object)?.holdUntil(new Promise<void>((resolve) => (free = resolve)));
    let told: unknown;
    const first = (): void => {
      free?.();
      if (isTold) return;
      const hasLeft = response.destroyed === true || response.stream?.destroyed === true;
      // A body that has arrived, and that nobody has read, has no end.
      isArriving &&= !req?.complete;
      answered(hasLeft ? 499 : response.statusCode, told ?? response.getHeader?.("content-type"));
    };
    if (writeHead !== undefined) {
      // Node keeps the fields that `writeHead` gets in the text of the head alone.
      response.writeHead = (...args) => {
        told ??= typeIn(typeof args[1] === "string" ? args[2] : args[1]);
        return writeHead.apply(response, args);
      };
    }
    for (const name of SENDING) {
      const send = response[name];
      if (send === undefined) continue;
      response[name] = (...args) => {
        const sent = send.apply(response, args);
        first();
        return sent;
      };
    }
  }

  function awaitBody(req: ArrivingRequest): void {
    // The time until the handler reads the body belongs to the service.
    let readAt = rules.at;
    req.once("resume", () => (readAt = rules.now()));
    // A body that comes with its head is there in the same turn of the event loop.
    setImmediate(() => {
      isArriving = !req.complete;
      if (isArriving && !isTold) rules.arriving.add(req);
    });
    req.once("end", () => {
      if (!isArriving || isTold) return;
      isArriving = false;
      rules.arriving.delete(req);
      since = rules.now() - (readAt - rules.at);
      rules.arrived();
    });
  }
}

/** How many of the requests are waited for until the rest of their bodies comes, at most `most`. */
export function countArriving(requests: ReadonlySet<ArrivingRequest>, most: number): number {
  let count = 0;
  for (const { complete, readableLength, readableFlowing } of requests) {
    // A body that no handler reads does not wait for its client.
    if (!complete && readableLength === 0 && readableFlowing !== null && (count += 1) === most) break;
  }
  return count;
}

function isKnown(answer: object): answer is KnownAnswer {
  return typeof (answer as Partial<KnownAnswer>).status === "number";
}

/** Whether the time of an answer says how long the service takes. */
function saysTime(status: number, mediaType: unknown, request: unknown): boolean {
  // Upgrades and streams of events go on. Refusals are quick, and cost a caller nothing.
  if (status === 101 || (status >= 400 && status < 500)) return false;
  if (typeof mediaType === "string" && /^text\/event-stream/i.test(mediaType)) return false;
  return workField().read(Object(request) as object)?.decision.allowed !== false;
}

/** Whether the end of a request without an answer says that its client did not wait: not of upgrades. */
function saysLeft(request: unknown): boolean {
  const { headers, req } = Object(request) as { headers?: object; req?: { raw?: { headers?: object } } };
  const fields = (headers ?? req?.raw?.headers) as { get?: unknown; upgrade?: unknown } | undefined;
  if (fields === undefined) return false;
  return typeof fields.get === "function" ? (fields as Headers).get("upgrade") === null : fields.upgrade === undefined;
}

function hasBody({ headers, complete, stream }: ArrivingRequest): boolean {
  if (stream?.endAfterHeaders !== undefined) return !stream.endAfterHeaders;
  return complete === false && (Number(headers?.["content-length"]) > 0 || headers?.["transfer-encoding"] !== undefined);
}

/** The content type in the fields that `writeHead` gets: by name, or a list of names and values. */
function typeIn(fields: unknown): unknown {
  const isType = (name: unknown): boolean => typeof name === "string" && name.toLowerCase() === "content-type";
  if (!Array.isArray(fields)) return Object.entries(Object(fields) as object).find(([name]) => isType(name))?.[1];
  const list = (fields as unknown[]).flat();
  return list.find((_, i) => i % 2 === 1 && isType(list[i - 1]));
}
