/** The answers of the gateway that no limit makes. */
import type { ServerResponse } from "node:http";
import type { Problem } from "sluice/http";

/** An error: its status, and a document for programs (`code`) and for people (`message`). */
export interface Failure {
  readonly status: number;
  readonly problem: Partial<Problem>;
}

/** Makes a {@link Failure}. */
export function failure(status: number, code: string, message: string): Failure {
  return { status, problem: { type: "about:blank", title: TITLES[status] ?? "Error", status, detail: message, code, message } };
}

const TITLES: Readonly<Record<number, string>> = { 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 502: "Bad Gateway" };

/** Sends an error. */
export function sendFailure(response: ServerResponse, { status, problem }: Failure): void {
  sendJson(response, status, problem, "application/problem+json");
}

/** Sends a document. */
export function sendJson(response: ServerResponse, status: number, body: object, type = "application/json"): void {
  response.writeHead(status, { "content-type": type }).end(JSON.stringify(body));
}
