/** What the service answers, whichever framework carries it, and what a server of it is built from. */
import type { IncomingMessage, Server } from "node:http";
import type { Decision, Store } from "sluice";
import type { Failing, Policies, Telling } from "./config.js";

/** What a framework's file needs in order to build a server. */
interface Setup {
  readonly policies: Policies;
  /** Where the buckets live. One store for all policies: a bucket is known by its policy's name and its key. */
  readonly store: Store;
  /** How limits are told. Default: the library's. */
  readonly telling?: Telling;
  /** What callers meet when the store fails. */
  readonly failing?: Failing;
  /** Hears every decision, for the log. */
  readonly onDecision: (decision: Decision, request: IncomingMessage) => void;
}

/** Builds a server that does not listen yet. Each framework's file exports one under this name. */
export type BuildServer = (setup: Setup) => Server | Promise<Server>;

/** An answer without a framework. */
export interface Answer {
  readonly status: 200 | 202 | 400 | 404 | 500;
  readonly body: object;
}

/** `GET /health`: for load balancers, never limited. */
export function health(): Answer {
  return { status: 200, body: { status: "ok" } };
}

/** `GET /inbox`, under `interactive`. */
export function inbox(): Answer {
  return { status: 200, body: { messages: [{ from: "Ada", subject: "Lunch?" }, { from: "Grace", subject: "A moth in the relay" }] } };
}

/** `POST /exports`, under `bulk`. */
export function startExport(): Answer {
  return { status: 202, body: { status: "started" } };
}

/** `POST /login/code`, under `login-code`. `number` is null when the request names none. */
export function sendLoginCode(number: string | null): Answer {
  if (number !== null) return { status: 202, body: { status: "sent" } };
  return { status: 400, body: { code: "invalid_phone", message: 'Send {"phone": "+<country code and number>"}.' } };
}

/** Everything else, wrong methods included. Not limited: there is nothing here to protect. */
export function notFound(): Answer {
  return { status: 404, body: { code: "not_found", message: "Try GET /health, GET /inbox, POST /exports or POST /login/code." } };
}

/** A bug of ours. The caller learns that it was not their fault, and nothing else. */
export function failed(error: unknown): Answer {
  console.error(error);
  return { status: 500, body: { code: "internal_error", message: "Something went wrong on our side." } };
}
