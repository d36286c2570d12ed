/** The responses of the service, the same on every framework, and the parts of a server. */
import type { IncomingMessage, Server } from "node:http";
import { setTimeout as after } from "node:timers/promises";
import type { Decision, Store } from "sluice";
import type { Failing, Policies, Telling } from "./config.js";

/** The inputs of a framework's file. */
interface Setup {
  readonly policies: Policies;
  /** The store of the buckets, one for all policies: a policy's name and a key identify a bucket. */
  readonly store: Store;
  /** How responses state limits. Default: the library's. */
  readonly telling?: Telling;
  /** The behavior when the store fails. */
  readonly failing?: Failing;
  /** Called with every decision, for the log. */
  readonly onDecision: (decision: Decision, request: IncomingMessage) => void;
}

/** Builds a server that does not listen yet. Each framework's file exports one under this name. */
export type BuildServer = (setup: Setup) => Server | Promise<Server>;

const REPORT_MS = 3_000;

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

/** `POST /reports`, under `reports`. It takes three seconds, as slow work does. Meanwhile the caller has one report in flight. */
export async function makeReport(): Promise<Answer> {
  await after(REPORT_MS);
  return { status: 200, body: { title: "Messages by sender", rows: [{ from: "Ada", count: 1 }, { from: "Grace", count: 1 }] } };
}

/** All other requests, including wrong methods. They are not limited, because there is nothing to protect. */
export function notFound(): Answer {
  return { status: 404, body: { code: "not_found", message: "Try GET /health, GET /inbox, POST /exports, POST /reports or POST /login/code." } };
}

/** A bug of this service. The caller learns only that the fault is the server's. */
export function failed(error: unknown): Answer {
  console.error(error);
  return { status: 500, body: { code: "internal_error", message: "Something went wrong on our side." } };
}
